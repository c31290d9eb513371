"""Quarantine over HTTP: bar a fingerprint, see what is barred, release it."""

from __future__ import annotations

from tests.http.client import JOB, Client, body_of, enqueue, job_url, key, pages, problem_of
from tests.support.worlds import START_MS, World

QUARANTINE = "/api/v1/quarantine"
FINGERPRINT = "0123456789abcdef" * 2


async def test_a_fingerprint_is_barred_once_and_its_note_is_the_last_one(moved_api: Client) -> None:
    url = f"{QUARANTINE}/{FINGERPRINT}"
    assert await body_of(await moved_api.put(url), 201) == {"fingerprint": FINGERPRINT}
    assert await body_of(await moved_api.put(url, json={}), 200) == {"fingerprint": FINGERPRINT}
    await body_of(await moved_api.put(url, json={"note": "crashes the näive parser"}), 200)
    entry = {
        "fingerprint": FINGERPRINT,
        "since_ms": START_MS,
        "why": "operator",
        "note": "crashes the näive parser",
        "job_id": None,
        "set_aside": 0,
    }
    assert await body_of(await moved_api.get(QUARANTINE)) == {"quarantines": [entry], "next_cursor": None}


async def test_release_puts_back_what_was_set_aside(api: Client, world: World) -> None:
    await enqueue(api, "a")
    await enqueue(api, "b")
    url = f"{QUARANTINE}/{(await body_of(await api.get(job_url('a'))))['fingerprint']}"
    await body_of(await api.put(url, json={"note": "why"}), 201)
    await problem_of(await api.post("/api/v1/jobs", json=JOB, headers=key()), 423, "quarantined")
    assert (await world.store.attempts.admit("worker-1", ["default"], 10, 60_000)).claims == []
    assert (await body_of(await api.get(job_url("b"))))["state"] == "quarantined"
    assert (await body_of(await api.get(QUARANTINE)))["quarantines"][0]["set_aside"] == 2
    assert await body_of(await api.delete(url)) == {"released": 2}
    assert await world.queued() == ["a", "b"]
    await problem_of(await api.delete(url), 404, "quarantine_not_found")
    await body_of(await api.post("/api/v1/jobs", json=JOB, headers=key()), 201)


async def test_fingerprints_are_listed_in_their_order_while_others_come(api: Client) -> None:
    names = [f"{number:032x}" for number in range(1, 6)]
    for name in reversed(names):
        await body_of(await api.put(f"{QUARANTINE}/{name}"), 201)
    seen: list[str] = []
    async for page in pages(api, QUARANTINE, "quarantines", limit="2"):
        seen += [entry["fingerprint"] for entry in page]
        await (await api.put(f"{QUARANTINE}/{0:032x}")).read()
    assert seen == names
