"""The store on fakeredis: good enough for users' tests in which no script result is asserted."""

from __future__ import annotations

from typing import Any

from fakeredis import FakeAsyncRedis

from headgate.models import ScheduleDefinition
from headgate.store import Store


class WithoutShebangs(FakeAsyncRedis):
    """fakeredis reads a script's first line as Lua."""

    async def eval(self, script: str, numkeys: int, *args: Any) -> Any:
        return await super().eval(script.partition("\n")[2], numkeys, *args)


async def test_a_schedule_goes_in_and_comes_out() -> None:
    """Definition, payload and place in the list survive the way through."""
    client = WithoutShebangs(decode_responses=True)
    store = Store(client)
    definition = ScheduleDefinition(kind="k", spec="@every:1000", payload={"n": 2**70, "empty": []})
    await store.schedules.put("a", definition)
    schedule = await store.schedules.get("a")
    assert (schedule.kind, schedule.spec, schedule.payload) == ("k", "@every:1000", {"n": 2**70, "empty": []})
    assert [each.id for each in (await store.schedules.list()).schedules] == ["a"]
    await store.schedules.delete("a")
    assert (await store.schedules.list()).schedules == []
    await client.aclose()
