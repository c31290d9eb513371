"""The list of schedules over HTTP: its filters, alone and together, and how many schedules were looked at."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.client import SCHEDULE, Client, body_of, pages, periodic
from tests.support.worlds import World

LIST = "/api/v1/periodic"


@pytest.fixture
async def filled(api: Client) -> Client:
    schedules: dict[str, dict[str, Any]] = {
        "a.1": {"labels": {"team": "mail", "size": "s"}},
        "a.2": {"labels": {"team": "data"}, "paused": True},
        "a{3": {"labels": {"note": 'team":"mail'}},
        "b.1": {"labels": {"team": "mail"}, "paused": True},
        "b.2": {},
    }
    for schedule_id, options in schedules.items():
        await body_of(await api.put(periodic(schedule_id), json=SCHEDULE | options), 201)
    return api


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({}, "a.1 a.2 a{3 b.1 b.2"),
        ({"prefix": "", "label": ""}, "a.1 a.2 a{3 b.1 b.2"),
        ({"prefix": "a."}, "a.1 a.2"),
        ({"prefix": "c"}, ""),
        ({"label": "team"}, "a.1 a.2 b.1"),
        ({"label": "team=mail"}, "a.1 b.1"),
        ({"label": "size=s"}, "a.1"),
        ({"label": 'note=team":"mail'}, "a{3"),
        ({"paused": "true"}, "a.2 b.1"),
        ({"paused": "false"}, "a.1 a{3 b.2"),
        ({"failing": "true"}, ""),
        ({"failing": "false", "paused": "true", "label": "team=mail", "prefix": "b"}, "b.1"),
    ],
    ids=str,
)
async def test_a_list_has_what_passes_its_filters(filled: Client, params: dict[str, str], found: str) -> None:
    listed = [each["id"] async for page in pages(filled, LIST, "schedules", limit="1", **params) for each in page]
    assert listed == found.split()


async def test_a_list_says_how_many_it_looked_at(filled: Client) -> None:
    page = await body_of(await filled.get(LIST, params={"label": "size"}))
    assert (len(page["schedules"]), page["examined"], page["next_cursor"]) == (1, 5, None)


async def test_a_failing_schedule_is_found(moved: World, moved_api: Client) -> None:
    for name in "ab":
        await body_of(await moved_api.put(periodic(name), json=SCHEDULE | {"queue": name}), 201)
    await body_of(await moved_api.put("/api/v1/queues/b/limits", json={"max_unfinished": 0}))
    scheduler = moved.scheduler()
    await moved.own_the_duty(scheduler)
    await moved.advance(60_000)
    await scheduler.sweep()
    for failing, names in (("true", ["b"]), ("false", ["a"])):
        page = await body_of(await moved_api.get(LIST, params={"failing": failing}))
        assert [schedule["id"] for schedule in page["schedules"]] == names
