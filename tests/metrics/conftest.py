"""The metrics of this test process, each test from zero, and what reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from headgate import metrics
from headgate.exposition import exposition
from headgate.store import Store


@pytest.fixture(autouse=True)
def _from_zero(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What other tests of this process did is not to be seen, nor the names of their queues."""
    monkeypatch.setattr(metrics, "_queue_label", metrics._Capped(metrics._MAX_QUEUES))
    monkeypatch.setattr(metrics, "_route_label", metrics._Capped(metrics._MAX_ROUTES))
    for collector in {*metrics.REGISTRY._names_to_collectors.values()}:
        each: Any = collector
        if each._labelnames:
            each.clear()
        else:
            each._metric_init()
    yield
    for name in ("_queue_label", "_route_label"):
        assert len(getattr(metrics, name)._known) <= getattr(metrics, name)._most


def counted(name: str, **labels: str) -> float:
    """A value of this process, by the name of its sample; 0 while there is none."""
    return metrics.REGISTRY.get_sample_value(name, labels) or 0.0


def all_counted(name: str) -> dict[tuple[str, ...], float]:
    """The values of a sample by those of its labels."""
    samples = [sample for family in metrics.REGISTRY.collect() for sample in family.samples]
    return {tuple(sample.labels.values()): sample.value for sample in samples if sample.name == name and sample.value}


async def exposed(store: Store) -> list[Sample]:
    """All that Prometheus would read now."""
    text = (await exposition(store)).decode()
    return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


def value_of(samples: list[Sample], name: str, **labels: str) -> float | None:
    found = [sample.value for sample in samples if sample.name == name and sample.labels == labels]
    assert len(found) < 2
    return found[0] if found else None
