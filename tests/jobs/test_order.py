"""Jobs of one instant run in the order in which they were asked for."""

from __future__ import annotations

from headgate.models import JobRequest
from tests.support.worlds import World


async def test_a_batch_runs_in_its_own_order(moved: World) -> None:
    requests = [JobRequest(kind="test", payload=number) for number in range(50)]
    ids = [each.job_id for each in await moved.store.producer.enqueue_many(requests)]
    later = [(await moved.store.producer.enqueue(JobRequest(kind="test"))).job_id for _ in range(10)]
    claims = (await moved.store.attempts.admit("w", ["default"], 60, 60_000)).claims
    assert [claim.id for claim in claims] == [*ids, *later]
