"""`heartbeat`, `release` and `duties`: who may do the work, for how long, and how anybody can see it."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any, NamedTuple

import anyio
import pytest
from redis.exceptions import TimeoutError as LostAnswer

from headgate.errors import StoreUnavailable
from headgate.models import DutyState, ScheduleDefinition
from headgate.store import Store
from headgate.store.leases import DUTIES, Bid, Heartbeat, Standing
from headgate.store.wakeups import Wakeups
from tests.support.servers import PrivateServer
from tests.support.worlds import START_MS, World

TTL = 5_000
MINUTE = 60_000
ABOUT = {"host": "h", "pid": "1"}


class Answer(NamedTuple):
    """How a process stands with one duty, and what else its heartbeat learnt."""

    heartbeat: Heartbeat
    standing: Standing


async def beat(
    world: World, token: str, *, duty: str = "scheduler", ttl_ms: int = TTL, store: Store | None = None
) -> Answer:
    process_id = token.partition("/")[0]
    leases = (store or world.store).leases
    heartbeat = await leases.heartbeat(process_id, [Bid(duty, token)], ABOUT, ttl_ms=ttl_ms)
    return Answer(heartbeat, heartbeat.duties[duty])


async def beat_both(world: World, token: str) -> dict[str, Standing]:
    bids = [Bid("scheduler", token), Bid("reclaimer", token)]
    return (await world.store.leases.heartbeat(token.partition("/")[0], bids, ABOUT, ttl_ms=TTL)).duties


def left_of(answer: Answer) -> int:
    assert answer.standing.lease_left_ms is not None
    return answer.standing.lease_left_ms


async def release(world: World, token: str, *, forget: bool = True) -> bool:
    return bool(await world.store.leases.release(token.partition("/")[0], {"scheduler": token}, forget=forget))


async def lapse(world: World) -> None:
    """The lease's time is up."""
    await world.client.delete(world.keys("duty", "scheduler"))


# the lease


async def test_a_free_duty_is_granted_to_whoever_asks(moved: World) -> None:
    """With a lease that ends by itself, the first epoch, and store time."""
    answer = await beat(moved, "p1/x")
    assert (answer.standing.held, answer.standing.granted, answer.standing.epoch, answer.heartbeat.now_ms) == (
        True,
        True,
        1,
        START_MS,
    )
    assert TTL - 1000 < left_of(answer) <= TTL
    assert await moved.client.get(moved.keys("duty", "scheduler")) == "p1/x"
    assert 0 < await moved.client.pttl(moved.keys("duty", "scheduler")) <= TTL


async def test_the_holder_renews_without_a_new_epoch(moved: World) -> None:
    """The lease lasts its full life again from now on."""
    await beat(moved, "p1/x", ttl_ms=1000)
    answer = await beat(moved, "p1/x", ttl_ms=60_000)
    assert (answer.standing.held, answer.standing.granted, answer.standing.epoch) == (True, False, 1)
    assert left_of(answer) > 50_000


async def test_another_token_finds_the_duty_taken_and_changes_nothing(moved: World) -> None:
    """Not even another term of the same process; the answer says how long the lease still lasts."""
    await beat(moved, "p1/x", ttl_ms=60_000)
    for token in ("p2/y", "p1/y"):
        answer = await beat(moved, token, ttl_ms=1000)
        assert (answer.standing.held, answer.standing.granted, answer.standing.epoch) == (False, False, 1)
        assert left_of(answer) > 50_000
    assert await moved.client.get(moved.keys("duty", "scheduler")) == "p1/x"


async def test_each_grant_raises_the_epoch(moved: World) -> None:
    """Also to a token that had the duty before: its lease was away in between."""
    epochs = []
    for token in ("p1/x", "p2/y", "p1/x"):
        epochs.append((await beat(moved, token)).standing.epoch)
        await lapse(moved)
    assert epochs == [1, 2, 3]


async def test_of_many_contenders_one_is_granted(moved: World) -> None:
    answers: list[Answer] = []

    async def contend(number: int) -> None:
        answers.append(await beat(moved, f"p{number}/x"))

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(contend, number)
    assert sum(answer.standing.held for answer in answers) == 1
    assert {answer.standing.epoch for answer in answers} == {1}


async def test_a_lease_ends_by_itself(moved: World) -> None:
    """It has a PX from the moment it is granted and after every renewal, so a killed holder blocks nobody."""
    for _ in range(2):
        await beat(moved, "p1/x", ttl_ms=1234)
        assert 0 < await moved.client.pttl(moved.keys("duty", "scheduler")) <= 1234


class Lossy:
    """A client whose first answers are lost after the call was carried out."""

    def __init__(self, client: Any, losses: int) -> None:
        self._client = client
        self.losses = losses

    async def evalsha(self, *args: Any) -> Any:
        return self._maybe_lost(await self._client.evalsha(*args))

    async def eval(self, *args: Any) -> Any:
        return self._maybe_lost(await self._client.eval(*args))

    def _maybe_lost(self, answer: Any) -> Any:
        if self.losses:
            self.losses -= 1
            raise LostAnswer
        return answer


async def test_a_grant_whose_answer_was_lost_is_found_out_by_the_repeat(moved: World) -> None:
    """Its own token is a success; the epoch says that it was granted once."""
    lossy: Any = Lossy(moved.client, losses=1)
    answer = await beat(moved, "p1/x", store=moved.store_on(lossy))
    assert (answer.standing.held, answer.standing.epoch) == (True, 1)


async def test_a_grant_whose_answers_were_all_lost_is_found_out_by_the_next_heartbeat(moved: World) -> None:
    lossy: Any = Lossy(moved.client, losses=2)
    store = moved.store_on(lossy)
    with pytest.raises(StoreUnavailable):
        await beat(moved, "p1/x", store=store)
    answer = await beat(moved, "p1/x", store=store)
    assert (answer.standing.held, answer.standing.epoch) == (True, 1)


async def test_a_full_store_renews_grants_and_releases(own_server: PrivateServer) -> None:
    """Scheduling must not change hands, or stop doing so, because memory ran out."""
    world = World(own_server.url, "full", moved=True)
    try:
        await world.set_clock(START_MS)
        await beat(world, "p1/x")
        await world.client.config_set("maxmemory", "1")
        assert (await beat(world, "p1/x")).standing.held
        assert not (await beat(world, "p2/y")).standing.held
        assert await release(world, "p1/x")
        assert (await beat(world, "p2/y")).standing.granted
        duty, _ = (await world.store.leases.overview()).duties
        assert (duty.holder, duty.epoch) == ("p2", 2)
    finally:
        await world.close()


@pytest.mark.damages_store("a foreign type")
async def test_a_foreign_type_in_place_of_a_lease_grants_nothing_and_says_so(moved: World) -> None:
    """Its holder's term is over too: whoever fences with that lease would be refused."""
    await beat(moved, "p1/x")
    await moved.client.delete(moved.keys("duty", "scheduler"))
    await moved.client.sadd(moved.keys("duty", "scheduler"), "foreign")
    answer = await beat(moved, "p1/x")
    assert (answer.standing.held, answer.standing.usable) == (False, False)
    assert await moved.client.get(moved.keys("epoch", "scheduler")) == "1"
    assert await moved.client.smembers(moved.keys("duty", "scheduler")) == {"foreign"}


@pytest.mark.parametrize("value", ["words", str(2**63 - 1)], ids=["no number", "the last number"])
async def test_an_epoch_that_cannot_be_counted_on_grants_nothing_and_costs_no_lease(moved: World, value: str) -> None:
    """A lease without an epoch would be a term that nobody can tell from the one before."""
    await moved.client.set(moved.keys("epoch", "scheduler"), value)
    answer = await beat(moved, "p1/x")
    assert (answer.standing.held, answer.standing.usable) == (False, False)
    await moved.client.set(moved.keys("duty", "scheduler"), "p1/x", px=TTL)
    assert (await beat(moved, "p1/x")).standing.held


# several duties


async def test_one_heartbeat_renews_all_its_leases(moved: World) -> None:
    """Each has its own lease and its own epoch."""
    granted = await beat_both(moved, "p1/x")
    assert {name: (each.granted, each.epoch) for name, each in granted.items()} == dict.fromkeys(DUTIES, (True, 1))
    for name in DUTIES:
        await moved.client.pexpire(moved.keys("duty", name), 1000)
    renewed = await beat_both(moved, "p1/x")
    assert all(each.held and not each.granted for each in renewed.values())
    for name in DUTIES:
        assert TTL - 1000 < await moved.client.pttl(moved.keys("duty", name)) <= TTL


async def test_a_duty_that_another_holds_leaves_the_other_alone(moved: World) -> None:
    await beat(moved, "p2/y", duty="reclaimer")
    standings = await beat_both(moved, "p1/x")
    assert [standings[name].held for name in DUTIES] == [True, False]
    assert await moved.client.get(moved.keys("duty", "reclaimer")) == "p2/y"


@pytest.mark.damages_store("a foreign type")
@pytest.mark.parametrize("family", ["duty", "epoch"])
@pytest.mark.parametrize("foreign", DUTIES)
async def test_a_foreign_type_in_place_of_one_duty_costs_the_other_no_lease(
    moved: World, foreign: str, family: str
) -> None:
    """Whichever of the two is asked for first."""
    await moved.client.sadd(moved.keys(family, foreign), "foreign")
    for _ in range(2):
        standings = await beat_both(moved, "p1/x")
        assert {name: each.usable and each.held for name, each in standings.items()} == {
            name: name != foreign for name in DUTIES
        }


async def test_a_heartbeat_for_no_duty_grants_nothing_and_learns_as_much(moved: World) -> None:
    await moved.put("a")
    heartbeat = await moved.store.leases.heartbeat("p1", [], ABOUT, ttl_ms=TTL)
    assert (heartbeat.duties, heartbeat.due_next_ms, heartbeat.index_whole) == ({}, START_MS + MINUTE, True)
    assert await moved.client.exists(*[moved.keys("duty", name) for name in DUTIES]) == 0
    assert await moved.client.exists(moved.keys("process", "p1"))


# giving it up


async def test_a_released_duty_is_free_at_once(moved: World) -> None:
    """And its process forgotten; a second release finds nothing."""
    await beat(moved, "p1/x")
    assert await release(moved, "p1/x")
    assert await moved.client.exists(moved.keys("duty", "scheduler"), moved.keys("process", "p1")) == 0
    assert not await release(moved, "p1/x")
    assert (await beat(moved, "p2/y")).standing.granted


@pytest.mark.parametrize("token", ["p2/y", "p1/y", ""])
async def test_a_lease_is_released_by_its_own_token_only(moved: World, token: str) -> None:
    """A late release of an old term takes nothing from the new one."""
    await beat(moved, "p1/x")
    assert not await release(moved, token)
    assert (await beat(moved, "p1/x")).standing.epoch == 1


async def test_a_release_wakes_whoever_waits_and_a_refused_one_does_not(moved: World) -> None:
    listening: Any = Wakeups(moved._pubsub, moved.namespace).listen()
    async with aclosing(listening) as heard:
        with anyio.fail_after(10):
            assert await anext(heard) == "subscribed"
            await beat(moved, "p1/x")
            await release(moved, "p2/y")
            await moved.client.publish(moved.keys("wake"), "a mark")
            await release(moved, "p1/x")
            assert [await anext(heard), await anext(heard)] == ["a mark", "duty"]


async def test_several_duties_are_given_up_in_one_call_which_says_which(moved: World) -> None:
    """One that is another's by now stays that one's; whoever waits is woken once."""
    await beat_both(moved, "p1/x")
    await moved.client.set(moved.keys("duty", "scheduler"), "p2/y", px=TTL)
    listening: Any = Wakeups(moved._pubsub, moved.namespace).listen()
    async with aclosing(listening) as heard:
        with anyio.fail_after(10):
            assert await anext(heard) == "subscribed"
            tokens = dict.fromkeys(DUTIES, "p1/x")
            assert await moved.store.leases.release("p1", tokens, forget=False) == ["reclaimer"]
            assert await moved.store.leases.release("p2", dict.fromkeys(DUTIES, "p2/y"), forget=False) == ["scheduler"]
            await moved.client.publish(moved.keys("wake"), "a mark")
            assert [await anext(heard) for _ in range(3)] == ["duty", "duty", "a mark"]
    assert await moved.client.exists(*[moved.keys("duty", name) for name in DUTIES]) == 0


@pytest.mark.parametrize("forget", [False, True], ids=["lives on", "ends"])
async def test_a_release_forgets_the_process_only_if_it_ends(moved: World, *, forget: bool) -> None:
    await beat(moved, "p1/x")
    assert await release(moved, "p1/x", forget=forget)
    assert await moved.client.exists(moved.keys("process", "p1")) == (not forget)
    assert await moved.client.zcard(moved.keys("processes")) == (not forget)


@pytest.mark.damages_store("a foreign type")
async def test_a_foreign_type_in_place_of_the_processes_does_not_keep_a_duty(moved: World) -> None:
    """Nor is it touched."""
    await beat(moved, "p1/x")
    await moved.client.delete(moved.keys("processes"))
    await moved.client.sadd(moved.keys("processes"), "foreign")
    assert await release(moved, "p1/x")
    assert await moved.client.smembers(moved.keys("processes")) == {"foreign"}


# being seen


@pytest.mark.parametrize("taken", [False, True], ids=["holder", "standby"])
async def test_every_heartbeat_registers_its_process_for_two_leases(moved: World, taken: bool) -> None:
    """Holder or not; a process that stops beating is forgotten by itself."""
    if taken:
        await beat(moved, "p2/y")
    now = await moved.advance(5)
    await beat(moved, "p1/x")
    key = moved.keys("process", "p1")
    expected = {"seen_at_ms": str(now), "host": "h", "pid": "1"}
    assert await moved.client.hgetall(key) == expected
    assert TTL < await moved.client.pttl(key) <= 2 * TTL


async def test_every_heartbeat_says_until_when_its_process_counts_as_alive(moved: World) -> None:
    """By store time, in an index of all processes: to find the dead ones nobody has to scan."""
    await beat(moved, "p1/x")
    await moved.advance(5)
    await beat(moved, "p2/y")
    alive = [("p1", START_MS + 2 * TTL), ("p2", START_MS + 5 + 2 * TTL)]
    assert await moved.client.zrange(moved.keys("processes"), 0, -1, withscores=True) == alive
    now = await moved.advance(5)
    await beat(moved, "p1/x")
    assert await moved.client.zscore(moved.keys("processes"), "p1") == now + 2 * TTL


@pytest.mark.damages_store("a foreign type")
@pytest.mark.parametrize("parts", [("processes",), ("process", "p1")], ids=["processes", "process"])
async def test_being_seen_never_costs_a_lease(moved: World, parts: tuple[str, ...]) -> None:
    """Whatever stands in place of the index or of the record."""
    await moved.client.sadd(moved.keys(*parts), "foreign")
    assert (await beat(moved, "p1/x")).standing.granted
    assert (await beat(moved, "p1/x")).standing.held
    assert await moved.client.smembers(moved.keys(*parts)) == {"foreign"}


# what is due


async def test_a_heartbeat_says_what_is_due_next(moved: World) -> None:
    """The earliest entry, overdue or not; a schedule without a further tick is nothing to wait for."""
    assert (await beat(moved, "p1/x")).heartbeat.due_next_ms is None
    await moved.put("late", "@every:253402300799999")
    await moved.client.zadd(moved.keys("due"), {"late": "+inf"})
    assert (await beat(moved, "p1/x")).heartbeat.due_next_ms is None
    await moved.put("a", "@every:86400000")
    await moved.put("b")
    assert (await beat(moved, "p1/x")).heartbeat.due_next_ms == START_MS + MINUTE
    await moved.advance(10 * MINUTE)
    assert (await beat(moved, "p1/x")).heartbeat.due_next_ms == START_MS + MINUTE


async def test_the_index_is_whole_while_every_schedule_stands_in_one(moved: World) -> None:
    """Due or paused; none at all is whole too."""
    assert (await beat(moved, "p1/x")).heartbeat.index_whole
    await moved.put("a")
    await moved.store.schedules.put("b", ScheduleDefinition(kind="test", spec="@every:60000"), paused=True)
    assert (await beat(moved, "p1/x")).heartbeat.index_whole


@pytest.mark.parametrize(("family", "schedule_id"), [("due", "a"), ("paused", "b")])
async def test_a_lost_entry_makes_the_index_short_until_it_is_put_back(
    moved: World, family: str, schedule_id: str
) -> None:
    """With the score it had."""
    await moved.put("a")
    await moved.store.schedules.put("b", ScheduleDefinition(kind="test", spec="@every:60000"), paused=True)
    score = await moved.client.zscore(moved.keys(family), schedule_id)
    await moved.client.zrem(moved.keys(family), schedule_id)
    assert not (await beat(moved, "p1/x")).heartbeat.index_whole
    assert await moved.store.schedules.reindex("p1/x", "", 200) == ("", 1)
    assert (await beat(moved, "p1/x")).heartbeat.index_whole
    assert await moved.client.zscore(moved.keys(family), schedule_id) == score
    assert await moved.store.schedules.reindex("p1/x", "", 200) == ("", 0)


@pytest.mark.damages_store("a foreign type")
async def test_a_failing_schedule_is_put_back_at_the_time_of_its_retry(moved: World) -> None:
    """Mending the index does not end a back-off."""
    await moved.put("a")
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    await moved.client.set(moved.keys("state", "default", "available"), "foreign")
    await moved.advance(MINUTE)
    await scheduler.sweep()
    await moved.client.delete(moved.keys("due"))
    await moved.store.schedules.reindex(scheduler.duty.token, "", 200)
    assert await moved.client.zscore(moved.keys("due"), "a") == START_MS + MINUTE + 1000


async def test_the_index_is_mended_page_by_page(moved: World) -> None:
    """Each call is bounded; ids go on in order, and an id without a record is dropped."""
    for number in range(7):
        await moved.put(f"s{number}")
    await moved.client.delete(moved.keys("due"), moved.keys("schedule", "s1"), moved.keys("changes", "s1"))
    await beat(moved, "p1/x")
    assert await moved.store.schedules.reindex("p1/x", "", 4) == ("s3", 3)
    assert await moved.store.schedules.reindex("p1/x", "s3", 4) == ("", 3)
    assert await moved.client.zrange(moved.keys("schedules"), 0, -1) == ["s0", "s2", "s3", "s4", "s5", "s6"]
    assert await moved.client.zcard(moved.keys("due")) == 6


@pytest.mark.damages_store("a foreign type")
@pytest.mark.parametrize("family", ["due", "paused", "schedules"])
async def test_a_foreign_type_in_place_of_an_index_does_not_cost_the_lease(moved: World, family: str) -> None:
    """The heartbeat must go on; what cannot be counted counts as nothing."""
    await moved.put("a")
    await beat(moved, "p1/x")
    await moved.client.delete(moved.keys(family))
    await moved.client.sadd(moved.keys(family), "foreign")
    answer = await beat(moved, "p1/x")
    assert answer.standing.held
    assert answer.heartbeat.index_whole == (family != "due")


# the overview


async def test_the_overview_of_an_empty_namespace_says_that_nobody_is_on_duty(moved: World) -> None:
    """Visible by reads alone, which write nothing."""
    overview = await moved.store.leases.overview()
    assert overview.duties == [DutyState(name=name, holder=None, epoch=0, lease_left_ms=None) for name in DUTIES]
    assert (overview.store_time_ms, overview.due_next_ms, overview.overdue_by_ms) == (START_MS, None, 0)
    assert (overview.schedules, overview.paused, overview.failing) == (0, 0, 0)
    assert [key async for key in moved.client.scan_iter(match=moved.keys.root + "*")] == [
        moved.keys.root + "test-clock"
    ]


async def test_the_overview_says_who_is_on_duty_and_how_late_it_is(moved: World) -> None:
    """The process's name without its nonce; overdue by the oldest entry of the due index."""
    await moved.put("a")
    await moved.put("b", "@every:1000")
    await moved.store.schedules.put("c", ScheduleDefinition(kind="test", spec="@every:60000"), paused=True)
    await moved.client.zadd(moved.keys("failing"), {"a": START_MS})
    await beat(moved, "host-1-abc/nonce")
    await moved.advance(4000)
    overview = await moved.store.leases.overview()
    duty, reclaimer = overview.duties
    assert (duty.holder, duty.epoch) == ("host-1-abc", 1)
    assert reclaimer == DutyState(name="reclaimer", holder=None, epoch=0, lease_left_ms=None)
    assert duty.lease_left_ms is not None
    assert 0 < duty.lease_left_ms <= TTL
    assert (overview.due_next_ms, overview.overdue_by_ms) == (START_MS + 1000, 3000)
    assert (overview.schedules, overview.paused, overview.failing) == (3, 1, 1)


async def test_a_lapsed_duty_shows_no_holder_and_keeps_its_epoch(moved: World) -> None:
    await beat(moved, "p1/x")
    await lapse(moved)
    duty, _ = (await moved.store.leases.overview()).duties
    assert duty == DutyState(name="scheduler", holder=None, epoch=1, lease_left_ms=None)
