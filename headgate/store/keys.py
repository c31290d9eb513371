"""How every key is spelt; nothing else knows.

All keys of a namespace share one hash tag, so every script touches one slot of a cluster. Scripts get the
namespace's root as their only key and spell the rest with functions that are made from the table below
(``key_schedule(id)`` and so on), so that Python and Lua cannot disagree.

Lifetimes: *record* keys live until their owner deletes them, *history* keys are capped and outlive their
schedule by the history retention, *lease* keys carry a PX that decides, *marker* and *answer* keys one that
cleans up.
"""

from __future__ import annotations

import re
from typing import Final

from headgate.names import check_namespace

PATTERNS: Final = {
    "meta": "meta",  # hash, record: schema version, created, counters, what heartbeats note
    "schedule": "schedule:%s",  # hash, record: one schedule
    "schedules": "schedules",  # zset, record: every id, score 0
    "due": "due",  # zset, record: id -> when it is to be looked at
    "paused": "paused",  # zset, record: id -> since
    "resumes": "resumes",  # zset, record: paused id -> when it resumes by itself
    "failing": "failing",  # zset, record: id -> the overdue tick
    "duty": "duty:%s",  # string, lease: the token of the holder
    "epoch": "duty:%s:epoch",  # string, record: leases granted so far
    "tick": "tick:%s:%s",  # string, marker: job id, fingerprint, queue
    "events": "events:%s",  # list, history: newest 100 events, newest first
    "gaps": "gaps:%s",  # zset, record: ranges that did not run, newest 100
    "manual": "manual:%s",  # list, history: newest 100 manual runs
    "changes": "changes:%s",  # list, history: newest 50 changes of the schedule
    "job": "job:%s",  # hash, record: one job
    "queues": "queues",  # zset, record: every queue that was used, score 0
    "queue": "queue:%s",  # hash, record: limits, pause and tokens of a queue
    "state": "queue:%s:%s",  # zset, record: the jobs of a queue in a state, by when they are to be looked at
    "deadlines": "deadlines:%s",  # zset, record: unfinished jobs of a queue that have a deadline, by it
    "unique": "unique:%s",  # string, record of its job: the job that holds a unique key, and until when
    "quarantine": "quarantine",  # hash, record: fingerprint -> why, since when
    "barred": "barred",  # zset, record: every quarantined fingerprint, score 0
    "quarantined": "quarantined:%s",  # zset, record: jobs of a fingerprint that were set aside -> since
    "releasing": "releasing",  # zset, record: released fingerprints whose jobs are not all back yet
    "idem_run": "idem:run:%s/%s",  # string, answer: schedule id (which has no slash), idempotency key
    "idem_backfill": "idem:backfill:%s/%s",  # string, answer: the same; how far it has come, while it is not whole
    "idem_jobs": "idem:jobs:%s",  # string, answer: idempotency key
    "process": "process:%s",  # hash, lease: a live process
    "processes": "processes",  # zset, record: process id -> until when it counts as alive
    "workers": "workers",  # zset, record: the same of those that work
    "wake": "wake",  # channel: a schedule was written, or a duty given up
    "ready": "ready",  # channel: the name of a queue that has got a job
    "hints": "hints",  # channel: which schedules and jobs a call has changed
}

_USED = re.compile(r"\bkey_([a-z_]+)\b")


class Keys:
    """The keys of one namespace."""

    def __init__(self, namespace: str) -> None:
        self.namespace = check_namespace(namespace)
        self.root = f"hg:{{{namespace}}}:"

    def __call__(self, family: str, *parts: object) -> str:
        """The full key of a family, for instance ``keys("schedule", "digest")``."""
        return self.root + PATTERNS[family] % parts


def lua_key_functions(script: str) -> str:
    """Lua source of the key functions that a script calls, built on its ``KEYS[1]``.

    Raises:
        KeyError: the script names a family that does not exist.
    """
    families = sorted(set(_USED.findall(script)))
    return "".join(_lua_function(family, PATTERNS[family]) for family in families)


def _lua_function(family: str, pattern: str) -> str:
    pieces = pattern.split("%s")
    names = ["a", "b"][: len(pieces) - 1]
    body = f"KEYS[1] .. '{pieces[0]}'"
    for name, piece in zip(names, pieces[1:], strict=True):
        body += f" .. {name}" + (f" .. '{piece}'" if piece else "")
    return f"local function key_{family}({', '.join(names)}) return {body} end\n"
