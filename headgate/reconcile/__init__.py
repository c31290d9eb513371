"""Declared schedules against the stored ones: a plan of what differs, and the writes that end the difference.

Every write insists on the revision that was read, and what is as declared is not written at all. So however many
processes reconcile at once, a schedule is created once and changed once for each real change, and one that is as
declared moves neither its revision nor its phase.
"""

from headgate.reconcile.plan import UNTOLD, Edit, FieldChange, Plan, make_plan
from headgate.reconcile.rules import check_definition, check_owner
from headgate.reconcile.writes import Applied, apply

__all__ = ["UNTOLD", "Applied", "Edit", "FieldChange", "Plan", "apply", "check_definition", "check_owner", "make_plan"]
