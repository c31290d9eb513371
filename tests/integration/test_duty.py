"""Holding a duty: what a process believes about its lease, and how soon a standby is there."""

from __future__ import annotations

import time
from typing import Any

import anyio
import pytest

from headgate.duty import Duty
from headgate.settings import Settings
from headgate.store.leases import Heartbeat, Leases
from tests.support.worlds import World, wait_until


class SlowLeases(Leases):
    """Answers late: the store did its part at once, the answer takes its time."""

    delay = 0.0

    async def heartbeat(self, *args: Any, **options: Any) -> Heartbeat:
        found = await super().heartbeat(*args, **options)
        await anyio.sleep(self.delay)
        return found


def slow_duty(world: World, settings: Settings) -> tuple[Duty, SlowLeases]:
    leases = SlowLeases(world.store.leases._scripts)
    return Duty(leases, "scheduler", settings), leases


async def test_trust_counts_from_the_start_of_a_heartbeat_so_a_slow_answer_never_lengthens_it(world: World) -> None:
    settings = Settings(lease_ttl_ms=300, lease_margin_ms=100, call_timeout_ms=100)
    duty, leases = slow_duty(world, settings)
    leases.delay = 0.09
    await duty.beat()
    assert duty.trusted
    began = time.monotonic()
    await wait_until(lambda: untrusted(duty))
    assert time.monotonic() - began < 0.17, "200 ms of trust less the 90 ms that the answer took"


async def untrusted(duty: Duty) -> bool:
    return not duty.trusted


async def test_a_lease_that_ran_out_ends_the_term_and_its_token(world: World) -> None:
    """Also where nobody else took it: a late message of the old term must name a token nobody has."""
    settings = Settings(lease_ttl_ms=60, lease_margin_ms=20, call_timeout_ms=20)
    duty, _ = slow_duty(world, settings)
    first = await duty.beat()
    token = duty.token
    await wait_until(lambda: untrusted(duty))
    await wait_until(lambda: vacant(world))
    second = await duty.beat()
    assert second.granted
    assert second.epoch == first.epoch + 1
    assert duty.token != token


async def vacant(world: World) -> bool:
    return not await world.client.exists(world.keys("duty", "scheduler"))


async def test_a_good_heartbeat_keeps_the_term_and_its_token(world: World) -> None:
    duty, _ = slow_duty(world, Settings())
    first = await duty.beat()
    token = duty.token
    second = await duty.beat()
    assert (second.held, second.granted, second.epoch) == (True, False, first.epoch)
    assert duty.token == token


async def test_a_standby_is_there_when_the_lease_ends_not_a_heartbeat_later(world: World) -> None:
    settings = Settings(lease_ttl_ms=3000, lease_margin_ms=300, call_timeout_ms=500)
    await world.client.set(world.keys("duty", "scheduler"), "dead/token", px=250)
    duty, _ = slow_duty(world, settings)
    began = time.monotonic()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(duty.keep)

        async def holds() -> bool:
            return duty.trusted

        await wait_until(holds)
        tasks.cancel_scope.cancel()
    assert time.monotonic() - began < 0.8, "a heartbeat comes each second"
    await duty.resign()


async def test_resigning_frees_the_lease_and_forgets_the_process(world: World) -> None:
    duty, _ = slow_duty(world, Settings())
    await duty.beat()
    assert await world.client.exists(world.keys("process", duty.process_id))
    await duty.resign()
    assert await vacant(world)
    assert not await world.client.exists(world.keys("process", duty.process_id))
    assert not duty.trusted


async def test_losing_the_lease_takes_a_new_token_and_the_next_heartbeat_competes_again(world: World) -> None:
    duty, _ = slow_duty(world, Settings())
    await duty.beat()
    token = duty.token
    duty.lost(token)
    assert not duty.trusted
    assert duty.token != token
    again = await duty.beat()
    assert again.held, "the store still knows the old term's lease, and it was this process's"
    assert again.granted


async def test_a_lease_that_a_late_heartbeat_got_for_the_old_token_is_taken_over_at_once(world: World) -> None:
    """After a stall, the store works off what piled up: the process must not lock itself out for a whole lease."""
    duty, leases = slow_duty(world, Settings())
    await duty.beat()
    old = duty.token
    duty.lost(old)
    await world.client.delete(world.keys("duty", "scheduler"))
    await leases.heartbeat("scheduler", old, 5000, duty.process_id, {"host": "late"})
    assert await world.client.get(world.keys("duty", "scheduler")) == old
    assert (await duty.beat()).held
    assert await world.client.get(world.keys("duty", "scheduler")) == duty.token != old


async def test_a_lease_without_an_end_is_said_out_loud_and_costs_a_call_each_heartbeat(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody but a human hand makes one; waiting for its end must not become a loop without pause."""
    await world.client.set(world.keys("duty", "scheduler"), "by/hand")
    duty, leases = slow_duty(world, Settings())
    beats = 0
    asked = leases.heartbeat

    async def counted(*args: Any, **options: Any) -> Heartbeat:
        nonlocal beats
        beats += 1
        return await asked(*args, **options)

    leases.heartbeat = counted  # type: ignore[method-assign]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(duty.keep)
        await wait_until(lambda: said(caplog, "duty.endless_lease"))
        with anyio.move_on_after(0.05):
            await anyio.Event().wait()
        tasks.cancel_scope.cancel()
    assert beats == 1
    overview = await world.store.leases.overview()
    assert (overview.duties[0].holder, overview.duties[0].lease_left_ms) == ("by", None)


async def said(caplog: pytest.LogCaptureFixture, words: str) -> bool:
    return words in caplog.text
