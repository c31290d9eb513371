"""Records as people see them, one module for each kind of thing."""

from headgate.models.admission import Admission, Blocker
from headgate.models.jobs import (
    FINAL_STATES,
    Decision,
    Enqueued,
    Job,
    JobPage,
    JobRequest,
    JobState,
    PeriodicOrigin,
    check_headers,
)
from headgate.models.processes import (
    DutyState,
    WorkerPage,
    WorkerProcess,
)
from headgate.models.queues import (
    Quarantine,
    QuarantinePage,
    Queue,
    QueueLimits,
    QueuePage,
    RateLimit,
)
from headgate.models.schedules import (
    Event,
    Failure,
    MissedPolicy,
    Outcome,
    Reason,
    Schedule,
    ScheduleDefinition,
    TickRange,
)

__all__ = [
    "FINAL_STATES",
    "Admission",
    "Blocker",
    "Decision",
    "DutyState",
    "Enqueued",
    "Event",
    "Failure",
    "Job",
    "JobPage",
    "JobRequest",
    "JobState",
    "MissedPolicy",
    "Outcome",
    "PeriodicOrigin",
    "Quarantine",
    "QuarantinePage",
    "Queue",
    "QueueLimits",
    "QueuePage",
    "RateLimit",
    "Reason",
    "Schedule",
    "ScheduleDefinition",
    "TickRange",
    "WorkerPage",
    "WorkerProcess",
    "check_headers",
]
