"""What one process counts of its own work, in a registry of its own, for Prometheus.

No label has more values than a process can bear: words of Headgate's own, names of scripts, and of what others choose
the first so many; never the id of a schedule or a job. A batch is counted at once; a tick costs one observation.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

REGISTRY: Final = CollectorRegistry()
"""Of this process. Not the client library's global one, which is the application's."""

_MAX_QUEUES: Final = 100
_MAX_ROUTES: Final = 200
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_OTHER: Final = "other"


class _Capped:
    """A label whose values others choose: the first `most` are told apart, what comes later is ``other``."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()

    def __call__(self, value: str) -> str:
        if value in self._known:
            return value
        if len(self._known) >= self._most:
            return _OTHER
        self._known.add(value)
        return value


_queue_label = _Capped(_MAX_QUEUES)
_route_label = _Capped(_MAX_ROUTES)

_ticks = Counter(
    "headgate_ticks", "Ticks that sweeps of this process decided or tried.", ["outcome", "reason"], registry=REGISTRY
)
_lateness = Histogram(
    "headgate_tick_lateness_seconds",
    "How long after its instant a tick was decided, by store time.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600),
    registry=REGISTRY,
)
_sweep_size = Histogram(
    "headgate_sweep_schedules",
    "Due schedules that a sweep read.",
    buckets=(0, 1, 10, 50, 100, 200, 500, 1000, 2000, 5000),
    registry=REGISTRY,
)
_sweep_time = Histogram(
    "headgate_sweep_seconds",
    "How long a sweep took, from asking what is due until all of it was decided.",
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
    registry=REGISTRY,
)
_renewals = Counter(
    "headgate_lease_renewals_failed",
    "Times that a lease of this process was not renewed when it was to be.",
    ["lease"],
    registry=REGISTRY,
)
_script_time = Histogram(
    "headgate_script_seconds",
    "How long the store took to answer a script, as this process saw it.",
    ["script"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5),
    registry=REGISTRY,
)
_attempts = Counter("headgate_attempts", "Attempts at jobs that ended here.", ["queue", "outcome"], registry=REGISTRY)
_attempt_time = Histogram(
    "headgate_attempt_seconds",
    "How long handlers ran, decoding and middleware included.",
    ["queue"],
    buckets=(0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600),
    registry=REGISTRY,
)
_crashes = Counter(
    "headgate_jobs_crashed", "Jobs whose worker was not heard of within their lease.", ["state"], registry=REGISTRY
)
_refusals = Counter(
    "headgate_gate_refusals",
    "Admissions that left jobs waiting at a queue's gate, and jobs that were turned away there.",
    ["reason"],
    registry=REGISTRY,
)
_requests = Counter(
    "headgate_http_requests",
    "Requests to the HTTP API that were answered.",
    ["method", "route", "status"],
    registry=REGISTRY,
)
_request_time = Histogram(
    "headgate_http_request_seconds",
    "How long requests to the HTTP API took.",
    ["method", "route"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
    registry=REGISTRY,
)


def count_fired(results: Sequence[str], ticks: Iterable[Sequence[int]], recorded_ms: float) -> None:
    """Count what became of a batch, and observe the lateness of each tick that was decided.

    Args:
        results: of each schedule, as `headgate.store.ticks.Ticks.fire` has them.
        ticks: of each schedule, as planned; instants in ms.
        recorded_ms: store time when they were decided.
    """
    decided: dict[str, list[int]] = {}
    for result, times in Tally(results).items():
        places = decided[result] = []
        for place, word in enumerate(result.split(",")):
            outcome, _, reason = word.partition("/")
            if word == "unrecorded":
                count_failed("store_error", times)
            elif reason:
                _ticks.labels(outcome, reason).inc(times)
                if outcome != "failed":  # which stays due
                    places.append(place)
    for result, instants in zip(results, ticks, strict=True):
        for place in decided[result]:
            _lateness.observe(max(0.0, recorded_ms - instants[place]) / 1000)


def count_failed(reason: str, times: int = 1) -> None:
    """Count ticks that could not be decided and stay due."""
    _ticks.labels("failed", reason).inc(times)


def observe_sweep(schedules: int, seconds: float) -> None:
    """A sweep is over: how many due schedules it read, and how long it took."""
    _sweep_size.observe(schedules)
    _sweep_time.observe(seconds)


def count_renewals_failed(lease: str, times: int = 1) -> None:
    """Count leases that were not renewed: of a duty by its name, of jobs as ``job``."""
    _renewals.labels(lease).inc(times)


def observe_script(script: str, seconds: float) -> None:
    """The store answered a script, or did not in time."""
    _script_time.labels(script).observe(seconds)


def count_attempts(ended: Iterable[tuple[str, str]]) -> None:
    """Count attempts that ended, each by its queue and what came of it."""
    for (queue, outcome), times in Tally(ended).items():
        _attempts.labels(_queue_label(queue), outcome).inc(times)


def observe_attempt(queue: str, seconds: float) -> None:
    """A handler is over."""
    _attempt_time.labels(_queue_label(queue)).observe(seconds)


def count_crashed(states: Iterable[str]) -> None:
    """Count jobs that a pass of the reclaimer took from workers it heard no more of, by what became of them."""
    for state, times in Tally(states).items():
        _crashes.labels(state).inc(times)


def count_refusals(refused: Mapping[str, int]) -> None:
    """Count what an admission says its queues' gates refused, by reason."""
    for reason, times in refused.items():
        _refusals.labels(reason).inc(times)


def observe_request(method: str, route: str, status: int, seconds: float) -> None:
    """A request was answered.

    Args:
        method: as asked; one that HTTP does not know is ``other``.
        route: the template, as ``/api/v1/jobs/{job_id}``, never the path; '' where none matched.
        status: of the answer.
        seconds: until it was written.
    """
    method, route = method if method in _METHODS else _OTHER, _route_label(route)
    _requests.labels(method, route, status).inc()
    _request_time.labels(method, route).observe(seconds)
