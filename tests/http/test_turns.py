"""Requests in turns: few at once, none lost, too many told so, and nobody waits for somebody who is slow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from aiohttp import ClientResponse, ClientSession, TCPConnector

from headgate.http import turns
from headgate.http.body import preload
from tests.http.client import JOB, SCHEDULE, Client, body_of, key, periodic, problem_of, serving
from tests.http.served import JOBS, LIST, Gate
from tests.support.worlds import World


@pytest.fixture
def lists(world: World, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """Before the reading of schedules."""
    gate = Gate(world.store.schedules.list)
    monkeypatch.setattr(world.store.schedules, "list", gate)
    return gate


@pytest.fixture
async def crowd(world: World) -> AsyncIterator[tuple[Client, ClientSession]]:
    """An API, and a client that has a connection for each request."""
    async with (
        serving(world.store) as client,
        ClientSession(client.make_url("/"), connector=TCPConnector(limit=0)) as session,
    ):
        yield client, session


Crowd = tuple[Client, ClientSession]


async def test_few_are_read_at_once_and_all_are_answered(lists: Gate, crowd: Crowd) -> None:
    lists.open()
    _, session = crowd
    answers = await asyncio.gather(*(session.get(LIST) for _ in range(300)))
    for answer in answers:
        assert (await body_of(answer))["schedules"] == []
    assert lists.calls == 300
    assert lists.most == turns.MAX_AT_ONCE


async def test_few_write_at_once_and_no_reader_keeps_them_waiting(world: World, lists: Gate, crowd: Crowd) -> None:
    writes = Gate(world.store.producer.enqueue)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.store.producer, "enqueue", writes)
        _, session = crowd
        async with asyncio.TaskGroup() as tasks:
            reads = [tasks.create_task(session.get(LIST)) for _ in range(20)]
            await lists.holds(turns.MAX_AT_ONCE)
            sent = [tasks.create_task(session.post(JOBS, json=JOB, headers=key(f"k-{at}"))) for at in range(50)]
            await writes.holds(turns.MAX_WRITES)
            writes.open()
            for each in sent:
                await body_of(await each, 201)
            assert writes.most == turns.MAX_WRITES
            assert not any(each.done() for each in reads)
            lists.open()


async def test_too_many_are_sent_away_and_the_others_are_answered(
    lists: Gate, crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "MAX_WAITING", 5)
    _, session = crowd
    asked = [asyncio.create_task(session.get(LIST)) for _ in range(turns.MAX_AT_ONCE + 5 + 10)]
    sent_away: list[ClientResponse] = []
    for answer in asyncio.as_completed(asked):
        sent_away.append(await answer)
        if len(sent_away) == 10:
            break
    for each in sent_away:
        await problem_of(each, 503, "overloaded")
        assert each.headers["Retry-After"] == "1"
    lists.open()
    answers = [answer for answer in await asyncio.gather(*asked) if answer not in sent_away]
    assert [answer.status for answer in answers] == [200] * (turns.MAX_AT_ONCE + 5)


async def test_who_waits_too_long_is_sent_away_and_takes_no_turn(
    lists: Gate, crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "MAX_WAIT_SECONDS", 0.05)
    _, session = crowd
    asked = [asyncio.create_task(session.get(LIST)) for _ in range(turns.MAX_AT_ONCE)]
    await lists.holds(turns.MAX_AT_ONCE)
    for answer in await asyncio.gather(*(session.get(LIST) for _ in range(10))):
        await problem_of(answer, 503, "overloaded")
    lists.open()
    assert [answer.status for answer in await asyncio.gather(*asked)] == [200] * turns.MAX_AT_ONCE
    assert lists.calls == turns.MAX_AT_ONCE
    await body_of(await session.get(LIST))


async def test_probes_answer_while_all_turns_are_taken(lists: Gate, crowd: Crowd) -> None:
    client, session = crowd
    asked = [asyncio.create_task(session.get(LIST)) for _ in range(20)]
    await lists.holds(turns.MAX_AT_ONCE)
    await body_of(await client.get("/healthz"))
    ready = await client.get("/readyz")
    assert (await ready.json())["checks"]["store"] == "ok"
    lists.open()
    await asyncio.gather(*asked)


async def test_few_scrapes_ask_the_store_at_once(world: World, crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Gate(world.store.leases.overview)
    looks.open()
    monkeypatch.setattr(world.store.leases, "overview", looks)
    _, session = crowd
    answers = await asyncio.gather(*(session.get("/metrics") for _ in range(100)))
    assert [answer.status for answer in answers] == [200] * 100
    assert looks.most == turns.MAX_PROBES


async def test_all_who_ask_at_once_whether_it_is_ready_share_one_look(
    world: World, crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is asked for a token there, and while the store is away each look takes as long as a call."""
    looks = Gate(world.store.leases.overview)
    monkeypatch.setattr(world.store.leases, "overview", looks)
    _, session = crowd
    asked = [asyncio.create_task(session.get("/readyz")) for _ in range(100)]
    await looks.holds(1)
    looks.open()
    answers = await asyncio.gather(*asked)
    assert [(await answer.json())["checks"]["store"] for answer in answers] == ["ok"] * 100
    assert looks.most == 1


async def test_large_bodies_are_bounded_in_number_and_small_ones_go_past_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "MAX_LARGE_BODIES", 3)
    arriving = Gate(preload)
    monkeypatch.setattr("headgate.http.app.preload", arriving)
    large = JOB | {"payload": {"text": "x" * turns.SMALL_BODY_BYTES}}
    async with serving(world.store) as client:
        sent = [asyncio.create_task(client.post(JOBS, json=large, headers=key(f"l-{at}"))) for at in range(10)]
        await arriving.holds(3)
        small = [asyncio.create_task(client.post(JOBS, json=JOB, headers=key(f"s-{at}"))) for at in range(10)]
        await arriving.holds(3 + 10)
        arriving.open()
        for answer in await asyncio.gather(*sent, *small):
            await body_of(answer, 201)
    assert arriving.most == 3 + 10


@asynccontextmanager
async def slow_senders(client: Client, count: int, length: int) -> AsyncIterator[None]:
    """So many have sent the head of a write and the beginning of its body."""
    head = f"POST {JOBS} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{{"
    async with AsyncExitStack() as stack:
        for _ in range(count):
            _reader, writer = await asyncio.open_connection(client.host, client.port)
            stack.callback(writer.close)
            writer.write(head.encode())
            await writer.drain()
        yield


@pytest.mark.parametrize(("count", "length"), [(30, 1_000), (turns.MAX_LARGE_BODIES - 1, 1_000_000)])
async def test_a_slow_body_keeps_nobody_waiting(
    world: World, monkeypatch: pytest.MonkeyPatch, count: int, length: int
) -> None:
    arriving = Gate(preload)
    arriving.open()
    monkeypatch.setattr("headgate.http.app.preload", arriving)
    large = JOB | {"payload": {"text": "x" * turns.SMALL_BODY_BYTES}}
    async with serving(world.store) as client, slow_senders(client, count, length):
        await arriving.holds(count)
        await body_of(await client.put(periodic("s"), json=SCHEDULE), 201)
        await body_of(await client.post(JOBS, json=large, headers=key()), 201)
        await body_of(await client.get(LIST))


async def test_five_hundred_runs_with_one_key_give_one_job_and_one_answer(world: World, crowd: Crowd) -> None:
    _, session = crowd
    await world.put("s", kind="report")
    answers = await asyncio.gather(*(session.post(periodic("s", "/run"), headers=key()) for _ in range(500)))
    told = [(answer.status, await answer.json(), answer.headers.get("Idempotency-Replayed")) for answer in answers]
    assert replayed([again for _, _, again in told]) == 499
    first = next(body for _, body, again in told if again is None)
    assert {body["job_id"] for _, body, _ in told} == {first["job_id"]}
    assert all(body | {"replayed": False} == first for _, body, _ in told)
    assert await world.queued() == [first["job_id"]]


def replayed(marks: Sequence[str | None]) -> int:
    assert set(marks) == {None, "true"}
    return marks.count("true")
