"""A request that must be refused, and the check that it is: field and rule named, nothing stored changed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from yarl import URL

from tests.http.client import SECRET, Client, enqueue, key, problem_of, stored
from tests.support.worlds import World


class Refusal(NamedTuple):
    """A request, and the problem it must get."""

    name: str
    status: int
    code: str
    field: str | None
    rule: str
    """Words of the detail that state the rule."""
    method: str
    url: str
    body: Any = None
    headers: Mapping[str, str] = MappingProxyType({})


def bad_path(method: str, url: str, field: str, rule: str) -> Refusal:
    """An id or a parameter that breaks its rule."""
    body: dict[str, Any] | None = {} if method in ("PUT", "POST") else None
    return Refusal(f"{method} {url}", 400, "invalid_request", field, rule, method, url, body)


async def check_refused(api: Client, world: World, refusal: Refusal) -> None:
    """Send it to a namespace that has a job that ``runs`` and one that ``waits``."""
    await enqueue(api, "runs")
    await world.store.attempts.admit("worker-1", ["default"], 10, 60_000)
    await enqueue(api, "waits")
    await check_sent(api, world, refusal)


async def check_sent(api: Client, world: World, refusal: Refusal) -> None:
    """Send it, and compare all that is stored before and after."""
    before = await stored(world)
    body = {} if refusal.body is None else {"json": refusal.body}
    headers = {**key(), **refusal.headers}
    response = await api.request(refusal.method, URL(refusal.url, encoded=True), headers=headers, **body)
    problem = await problem_of(response, refusal.status, refusal.code, refusal.field)
    assert refusal.rule in problem["detail"]
    assert len(problem["detail"]) < 300
    assert SECRET not in str(problem)
    assert await stored(world) == before
