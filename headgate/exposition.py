"""What Prometheus is told: the counts of this process, and how the namespace stands, read when it asks.

Bounded reads alone. A store that is away costs the time of one call, and what the process counted is told all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import anyio
import anyio.to_thread
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from headgate.errors import StoreError
from headgate.health import holds
from headgate.metrics import REGISTRY
from headgate.models import Overview, Queue
from headgate.settings import MAX_PAGE
from headgate.store import Store

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
"""The media type of what `exposition` returns."""

_NUMBERS: Final = {
    "schedules": "Schedules that exist.",
    "schedules_paused": "Schedules that are paused.",
    "schedules_overdue": "Schedules that are due for longer than overdue_after_ms.",
    "schedules_failing": "Schedules whose due tick does not get through and is retried.",
    "processes": "Processes that live and beat.",
    "next_due_seconds": "How long until something is due, by store time; negative while it is late.",
}


async def exposition(store: Store) -> bytes:
    """All metrics in Prometheus's text format, within the time of one call.

    Raises nothing for a store that is away or foreign: ``headgate_store_up`` is 0 then, and what could not be read is
    left out.
    """
    overview: Overview | None = None
    queues: Sequence[Queue] | None = None
    try:
        with anyio.fail_after(store.settings.call_timeout_ms / 1000):
            overview = await store.leases.overview()
            queues = (await store.queues.list(limit=MAX_PAGE)).queues
    except (TimeoutError, StoreError):
        pass
    # Thousands of series take tens of ms to write out, in which the event loop has ticks to fire.
    return await anyio.to_thread.run_sync(_written, overview, queues)


def _written(overview: Overview | None, queues: Sequence[Queue] | None) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Told([*_own(), *_standing(overview), *_jobs(queues)]))
    return generate_latest(registry)


class _Told(Collector):
    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _own() -> Iterator[Metric]:
    """This process's, without the instants at which each series began: they would double what is told."""
    for family in REGISTRY.collect():
        family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
        yield family


def _standing(seen: Overview | None) -> Iterator[Metric]:
    held = GaugeMetricFamily("headgate_duty_held", "Whether a process holds the duty.", labels=["duty"])
    numbers: dict[str, float | None] = {}
    if seen is not None:
        for duty in seen.duties:
            held.add_metric([duty.name], float(holds(seen, duty.name)))
        numbers = {
            "schedules": seen.schedules,
            "schedules_paused": seen.paused,
            "schedules_overdue": seen.overdue,
            "schedules_failing": seen.failing,
            "processes": seen.processes,
            "next_due_seconds": None if seen.due_next_ms is None else (seen.due_next_ms - seen.store_time_ms) / 1000,
        }
    yield held
    for name, about in _NUMBERS.items():
        yield _gauge(name, about, numbers.get(name))


def _jobs(queues: Sequence[Queue] | None) -> Iterator[Metric]:
    """The last read of all: the store is up if it was answered, too."""
    jobs = GaugeMetricFamily(
        "headgate_jobs", "Jobs by state, of the first 200 queues by name.", labels=["queue", "state"]
    )
    for queue in queues or ():
        for state, count in queue.counts.items():
            jobs.add_metric([queue.name, state], count)
    yield jobs
    yield _gauge("store_up", "Whether the store answered what this asked of it.", float(queues is not None))


def _gauge(name: str, about: str, value: float | None) -> Metric:
    """One number; without any where it is not known."""
    family = GaugeMetricFamily(f"headgate_{name}", about)
    if value is not None:
        family.add_metric([], value)
    return family
