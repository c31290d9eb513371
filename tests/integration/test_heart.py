"""The heart of a process: what it believes about its leases, how soon a standby is there, and how it is seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import anyio
import pytest

from headgate import __version__
from headgate.duty import Duty
from headgate.errors import StoreUnavailable
from headgate.heart import Heart
from headgate.process import running_process
from headgate.settings import Settings
from headgate.store.leases import DUTIES, Bid, Heartbeat, Leases, Standing
from tests.support.worlds import World, wait_until


class SlowLeases(Leases):
    """Answers late: the store did its part at once, the answer takes its time. Counts the heartbeats."""

    delay = 0.0
    beats = 0

    async def heartbeat(self, *args: Any, **options: Any) -> Heartbeat:
        self.beats += 1
        found = await super().heartbeat(*args, **options)
        await anyio.sleep(self.delay)
        return found


class FailingLeases(Leases):
    """Out of reach when told so."""

    fails = False

    async def heartbeat(self, *args: Any, **options: Any) -> Heartbeat:
        if self.fails:
            raise StoreUnavailable("gone")
        return await super().heartbeat(*args, **options)

    async def release(self, *args: Any, **options: Any) -> list[str]:
        if self.fails:
            raise StoreUnavailable("gone")
        return await super().release(*args, **options)


def slow_heart(world: World, settings: Settings) -> tuple[Heart, Duty, SlowLeases]:
    leases = SlowLeases(world.store.leases._scripts, overdue_after_ms=10_000)
    heart = Heart(leases, settings, duties=["scheduler"])
    return heart, heart.duty("scheduler"), leases


async def beat(heart: Heart) -> Standing:
    return (await heart.beat()).duties["scheduler"]


async def holder(world: World, duty: str = "scheduler") -> str | None:
    found: str | None = await world.client.get(world.keys("duty", duty))
    return found


async def true(condition: Callable[[], object]) -> bool:
    return bool(condition())


async def vacant(world: World) -> bool:
    return await holder(world) is None


# believing in a lease


async def test_trust_counts_from_the_start_of_a_heartbeat_so_a_slow_answer_never_lengthens_it(world: World) -> None:
    settings = Settings(lease_ttl_ms=300, lease_margin_ms=100, call_timeout_ms=100)
    heart, duty, leases = slow_heart(world, settings)
    leases.delay = 0.09
    await heart.beat()
    assert duty.trusted
    began = time.monotonic()
    await wait_until(partial(true, lambda: not duty.trusted))
    assert time.monotonic() - began < 0.17, "200 ms of trust less the 90 ms that the answer took"


async def test_a_lease_that_ran_out_ends_the_term_and_its_token(world: World) -> None:
    """Also where nobody else took it: a late message of the old term must name a token nobody has."""
    settings = Settings(lease_ttl_ms=60, lease_margin_ms=20, call_timeout_ms=20)
    heart, duty, _ = slow_heart(world, settings)
    first = await beat(heart)
    token = duty.token
    await wait_until(partial(true, lambda: not duty.trusted))
    await wait_until(lambda: vacant(world))
    second = await beat(heart)
    assert second.granted
    assert second.epoch == first.epoch + 1
    assert duty.token != token


async def test_a_good_heartbeat_keeps_the_term_and_its_token(world: World) -> None:
    heart, duty, _ = slow_heart(world, Settings())
    first = await beat(heart)
    token = duty.token
    second = await beat(heart)
    assert (second.held, second.granted, second.epoch) == (True, False, first.epoch)
    assert duty.token == token


async def test_losing_the_lease_takes_a_new_token_and_the_next_heartbeat_competes_again(world: World) -> None:
    heart, duty, _ = slow_heart(world, Settings())
    await heart.beat()
    token = duty.token
    duty.lost(token)
    assert not duty.trusted
    assert duty.token != token
    again = await beat(heart)
    assert again.held, "the store still knows the old term's lease, and it was this process's"
    assert again.granted


async def test_a_lease_that_a_late_heartbeat_got_for_the_old_token_is_taken_over_at_once(world: World) -> None:
    """After a stall, the store works off what piled up: the process must not lock itself out for a whole lease."""
    heart, duty, leases = slow_heart(world, Settings())
    await heart.beat()
    old = duty.token
    duty.lost(old)
    await world.client.delete(world.keys("duty", "scheduler"))
    await leases.heartbeat(heart.process_id, [Bid("scheduler", old)], {"host": "late"}, ttl_ms=5000)
    assert await holder(world) == old
    assert (await beat(heart)).held
    assert await holder(world) == duty.token != old


async def test_a_term_that_ended_while_its_heartbeat_was_under_way_is_not_begun_again_by_the_answer(
    world: World,
) -> None:
    """The answer speaks of a token that is nobody's any more."""
    heart, duty, leases = slow_heart(world, Settings())
    await heart.beat()
    leases.delay = 0.02
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(heart.beat)
        await wait_until(partial(true, lambda: leases.beats == 2))
        duty.lost(duty.token)
    assert not duty.trusted


# several duties


async def test_a_lost_duty_leaves_the_other(world: World) -> None:
    """The term that ends is that of the lost one alone."""
    heart = world.heart(duties=DUTIES)
    await heart.beat()
    scheduler, reclaimer = (heart.duty(name) for name in DUTIES)
    token, lost = reclaimer.token, scheduler.token
    await world.client.set(world.keys("duty", "scheduler"), "thief/token", px=5000)
    heartbeat = await heart.beat()
    assert [heartbeat.duties[name].held for name in DUTIES] == [False, True]
    assert (scheduler.trusted, reclaimer.trusted) == (False, True)
    assert (scheduler.token != lost, reclaimer.token == token) == (True, True)
    reclaimer.lost("a token of an earlier term")
    assert reclaimer.trusted


# how soon


async def test_a_standby_is_there_when_the_lease_ends_not_a_heartbeat_later(world: World) -> None:
    settings = Settings(lease_ttl_ms=3000, lease_margin_ms=300, call_timeout_ms=500)
    await world.client.set(world.keys("duty", "scheduler"), "dead/token", px=250)
    heart, duty, _ = slow_heart(world, settings)
    began = time.monotonic()
    async with running_process(heart, [anyio.sleep_forever]):
        await wait_until(partial(true, lambda: duty.trusted))
    assert time.monotonic() - began < 0.8, "a heartbeat comes each second"


@pytest.mark.damages_store("a lease without an end")
@pytest.mark.parametrize("foreign", [False, True], ids=["endless", "unusable"])
async def test_a_lease_without_an_end_is_said_out_loud_and_costs_a_call_each_heartbeat(
    world: World, caplog: pytest.LogCaptureFixture, *, foreign: bool
) -> None:
    """Nobody but a human hand makes one; waiting for its end must not become a loop without pause."""
    key = world.keys("duty", "scheduler")
    await (world.client.sadd(key, "foreign") if foreign else world.client.set(key, "by/hand"))
    heart, _, leases = slow_heart(world, Settings())
    word = "duty.unusable" if foreign else "duty.endless_lease"
    async with running_process(heart, [anyio.sleep_forever]):
        await wait_until(partial(true, lambda: word in caplog.text))
        with anyio.move_on_after(0.05):
            await anyio.Event().wait()
    assert leases.beats == 1
    if not foreign:
        overview = await world.store.leases.overview()
        assert (overview.duties[0].holder, overview.duties[0].lease_left_ms) == ("by", None)


async def test_each_good_heartbeat_wakes_every_watcher_and_a_failed_one_none(world: World) -> None:
    """Each has a wake-up of its own: one that waits takes nothing from another."""
    leases = FailingLeases(world.store.leases._scripts, overdue_after_ms=10_000)
    heart = Heart(leases, Settings(), duties=["scheduler"])
    one, other = heart.watch(), heart.watch()
    await heart.beat()
    assert [await one.wait(0), await other.wait(0)] == [True, True]
    leases.fails = True
    with pytest.raises(StoreUnavailable):
        await heart.beat()
    assert [await one.wait(0), await other.wait(0)] == [False, False]


# giving up


async def test_resigning_frees_the_leases_and_the_process_is_seen_on(world: World) -> None:
    """It may have jobs to finish, whose worker must not look dead meanwhile; it contends no more."""
    heart = world.heart(duties=DUTIES)
    await heart.beat()
    await heart.resign()
    assert [await holder(world, name) for name in DUTIES] == [None, None]
    assert not any(heart.duty(name).trusted for name in DUTIES)
    await world.client.delete(world.keys("process", heart.process_id), world.keys("processes"))
    assert (await heart.beat()).duties == {}
    assert [await holder(world, name) for name in DUTIES] == [None, None]
    assert await world.client.exists(world.keys("process", heart.process_id))
    assert await world.client.zrange(world.keys("processes"), 0, -1) == [heart.process_id]


async def test_a_heart_that_ends_frees_the_leases_and_forgets_the_process(world: World) -> None:
    heart = world.heart(duties=DUTIES)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(heart.keep)
        await wait_until(partial(true, lambda: heart.last))
        assert await world.client.zrange(world.keys("processes"), 0, -1) == [heart.process_id]
        tasks.cancel_scope.cancel()
    assert [await holder(world, name) for name in DUTIES] == [None, None]
    assert await world.client.exists(world.keys("process", heart.process_id), world.keys("processes")) == 0


async def test_a_heartbeat_under_way_takes_nothing_back_that_is_given_up(world: World) -> None:
    """The release waits for it; and the answer that comes last does not make the process a holder."""
    heart, duty, leases = slow_heart(world, Settings())
    leases.delay = 0.05
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(heart.beat)
        await wait_until(partial(true, lambda: leases.beats))
        await heart.resign()
        assert await vacant(world)
    assert not duty.trusted
    assert await vacant(world)


async def test_giving_up_never_raises_though_the_store_fails(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The lease ends by itself; the process trusts it no more."""
    leases = FailingLeases(world.store.leases._scripts, overdue_after_ms=10_000)
    heart = Heart(leases, Settings(), duties=["scheduler"])
    await heart.beat()
    leases.fails = True
    await heart.resign()
    assert "duty.release_failed" in caplog.text
    assert not heart.duty("scheduler").trusted
    assert not await vacant(world)


# being seen


async def test_a_process_says_what_it_is_and_what_it_has_to_say(world: World) -> None:
    """Asked anew at each heartbeat, also by one that contends for nothing."""
    said = iter([{"running": "1"}, {"running": "2"}])
    heart = Heart(world.store.leases, Settings(), about=lambda: next(said))
    for running in ("1", "2"):
        heartbeat = await heart.beat()
        record: Mapping[str, str] = await world.client.hgetall(world.keys("process", heart.process_id))
        assert record["seen_at_ms"] == str(heartbeat.now_ms)
        assert record["running"] == running
        assert record["version"] == __version__
        assert f"{record['host']}-{record['pid']}-" in heart.process_id


async def test_a_process_on_no_duty_beats_at_a_third_of_the_lease(world: World) -> None:
    settings = Settings(lease_ttl_ms=300, lease_margin_ms=30, call_timeout_ms=100)
    leases = SlowLeases(world.store.leases._scripts, overdue_after_ms=10_000)
    began = time.monotonic()
    async with running_process(Heart(leases, settings)):
        await wait_until(partial(true, lambda: leases.beats == 4))
    assert 0.29 < time.monotonic() - began < 1
