"""Schedules and jobs inside an aiohttp application: ``python aiohttp_server.py [PORT]``.

``curl -X POST http://127.0.0.1:8080/greetings/ada`` queues a job; this process, or another one on its store, runs it.
"""

import sys
from collections.abc import AsyncIterator

from aiohttp import web

import headgate

jobs = headgate.Headgate()


@jobs.actor("greet")
async def greet(name: str) -> None:
    print(f"hello {name}", flush=True)


jobs.periodic("greet-the-team", "CRON_TZ=Europe/Berlin 0 9 * * MON-FRI", kind="greet", payload={"name": "team"})


async def schedule_and_work(_web: web.Application) -> AsyncIterator[None]:
    async with jobs.run():
        yield


async def greet_soon(request: web.Request) -> web.Response:
    queued = await jobs.enqueue("greet", {"name": request.match_info["name"]})
    return web.json_response({"job": queued.job_id}, status=202)


def create_app() -> web.Application:
    app = web.Application()
    app.cleanup_ctx.append(schedule_and_work)
    app.router.add_post("/greetings/{name}", greet_soon)
    return app


if __name__ == "__main__":
    web.run_app(create_app(), host="127.0.0.1", port=int(sys.argv[1]) if len(sys.argv) > 1 else 8080)
