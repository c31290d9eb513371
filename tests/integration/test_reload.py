"""A call and its script: sent again when the server forgot it, asked again when its answer was lost, never more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from redis import exceptions as failures

from headgate.errors import HeadgateError, StoreError, StoreFull, StoreUnavailable
from headgate.models import ScheduleDefinition
from headgate.store.keys import Keys
from headgate.store.loader import load_scripts
from headgate.store.scripts import Scripts
from tests.support.worlds import World, running, wait_until

SCRIPTS = load_scripts()
REPEATABLE = sorted(name for name, script in SCRIPTS.items() if script.repeatable)
NOT_REPEATABLE = sorted(set(SCRIPTS) - set(REPEATABLE))


class Recording:
    """Passes calls on to a real client and notes which command carried them."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.sent: list[str] = []

    async def evalsha(self, *args: Any) -> Any:
        self.sent.append("evalsha")
        return await self._client.evalsha(*args)

    async def eval(self, *args: Any) -> Any:
        self.sent.append("eval")
        return await self._client.eval(*args)


class Scripted:
    """No server at all: each call gets the next answer; an exception is raised."""

    def __init__(self, *answers: Any) -> None:
        self._answers: Iterator[Any] = iter(answers)
        self.sent: list[tuple[str, str]] = []

    async def evalsha(self, sha: str, *_args: Any) -> Any:
        return self._next("evalsha", sha)

    async def eval(self, text: str, *_args: Any) -> Any:
        return self._next("eval", text)

    def _next(self, command: str, script: str) -> Any:
        self.sent.append((command, script))
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def commands(self) -> list[str]:
        return [command for command, _ in self.sent]


def scripts_on(client: Any) -> Scripts:
    return Scripts(client, Keys("t"), timeout_ms=1_500)


LOST = [failures.TimeoutError(), failures.ConnectionError("reset"), OSError("reset")]
lost = pytest.mark.parametrize("lost", LOST, ids=lambda it: type(it).__name__)


async def test_a_script_that_the_server_forgot_is_sent_once_and_nobody_notices(world: World) -> None:
    """After a flush, as after a restart or a failover; from then on its hash is enough."""
    recording: Any = Recording(world.client)
    store = world.store_on(recording)
    await store.schedules.put("a", ScheduleDefinition(kind="k", spec="@every:1000"))
    for _ in range(2):
        await world.client.script_flush()
        recording.sent.clear()
        for _ in range(3):
            assert (await store.schedules.get("a")).id == "a"
        assert recording.sent == ["evalsha", "eval", "evalsha", "evalsha"]


async def test_every_kind_of_call_survives_a_flush_in_between(world: World) -> None:
    """Writes too: a call that was refused for want of its script has done nothing."""
    definition = ScheduleDefinition(kind="k", spec="@every:1000")
    for number in range(3):
        await world.client.script_flush()
        assert (await world.store.schedules.put("a", definition)).change == ("unchanged" if number else "created")
        await world.client.script_flush()
        assert (await world.store.producer.run_now("a", idempotency_key="k")).replayed == bool(number)
    assert len(await world.queued()) == 1


async def test_a_scheduler_goes_on_after_a_flush(world: World) -> None:
    """It does not even lose its lease."""
    await world.put("a", "@every:20")

    async def fired(count: int) -> bool:
        return int((await world.record("a"))["event_seq"]) >= count

    async with running(world.scheduler()):
        await wait_until(lambda: fired(2))
        await world.client.script_flush()
        seen = int((await world.record("a"))["event_seq"])
        await wait_until(lambda: fired(seen + 3))
    assert await world.client.get(world.keys("epoch", "scheduler")) == "1"


@lost
@pytest.mark.parametrize("name", REPEATABLE)
async def test_a_lost_answer_is_asked_for_again_where_that_is_harmless(name: str, lost: Exception) -> None:
    """Once, by the same script."""
    client = Scripted(lost, ["answer"])
    assert await scripts_on(client).call(name, "x") == ["answer"]
    assert client.sent == [("evalsha", SCRIPTS[name].sha)] * 2


@lost
@pytest.mark.parametrize("name", NOT_REPEATABLE)
async def test_a_lost_answer_is_not_asked_for_again_where_that_does_harm(name: str, lost: Exception) -> None:
    """The caller learns that it does not know."""
    client = Scripted(lost)
    with pytest.raises(StoreUnavailable):
        await scripts_on(client).call(name, "x")
    assert client.commands == ["evalsha"]


@lost
async def test_two_lost_answers_are_the_end_of_it(lost: Exception) -> None:
    """A call takes two time-outs at most."""
    client = Scripted(lost, lost)
    with pytest.raises(StoreUnavailable):
        await scripts_on(client).call("get", "x")
    assert client.commands == ["evalsha", "evalsha"]


@pytest.mark.parametrize("name", REPEATABLE[:1])
async def test_an_answer_lost_after_the_script_was_sent_in_full_is_asked_for_again(name: str) -> None:
    client = Scripted(failures.NoScriptError(), failures.TimeoutError(), "answer")
    assert await scripts_on(client).call(name, "x") == "answer"
    assert client.commands == ["evalsha", "eval", "evalsha"]


@pytest.mark.parametrize("name", NOT_REPEATABLE)
async def test_a_script_sent_in_full_is_not_sent_again_where_a_repeat_does_harm(name: str) -> None:
    """That the server did not know it says nothing about what happened to the second call."""
    client = Scripted(failures.NoScriptError(), failures.TimeoutError())
    with pytest.raises(StoreUnavailable):
        await scripts_on(client).call(name, "x")
    assert client.commands == ["evalsha", "eval"]


@pytest.mark.parametrize("name", NOT_REPEATABLE)
async def test_a_forgotten_script_is_sent_in_full_even_where_a_repeat_does_harm(name: str) -> None:
    """It is no repeat: the server refused the first call."""
    client = Scripted(failures.NoScriptError(), "answer")
    assert await scripts_on(client).call(name, "x") == "answer"
    assert client.sent == [("evalsha", SCRIPTS[name].sha), ("eval", SCRIPTS[name].text)]


@pytest.mark.parametrize(
    ("refusal", "meaning"),
    [
        (failures.ResponseError("WRONGTYPE secret"), StoreError),
        (failures.OutOfMemoryError("secret"), StoreFull),
        (failures.DataError("secret"), StoreError),
    ],
    ids=lambda it: getattr(it, "__name__", type(it).__name__),
)
async def test_a_refusal_is_an_answer_and_not_repeated(refusal: Exception, meaning: type[HeadgateError]) -> None:
    """It comes back as an error of ours, without the server's own words."""
    client = Scripted(refusal)
    with pytest.raises(meaning) as caught:
        await scripts_on(client).call("get", "x")
    assert client.commands == ["evalsha"]
    assert "secret" not in str(caught.value)
    assert not isinstance(caught.value, StoreUnavailable)
