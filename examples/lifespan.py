"""Schedules and jobs inside a FastAPI or Starlette application.

Hand `lifespan` to the application; scheduler and worker run as long as it serves::

    web = FastAPI(lifespan=lifespan)          # or Starlette(lifespan=lifespan)
    web.post("/greetings/{name}")(greet_soon)
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import headgate

jobs = headgate.Headgate()


@jobs.actor("greet")
async def greet(name: str) -> None:
    print(f"hello {name}", flush=True)


jobs.periodic("greet-the-team", "CRON_TZ=Europe/Berlin 0 9 * * MON-FRI", kind="greet", payload={"name": "team"})


@asynccontextmanager
async def lifespan(_web: object) -> AsyncIterator[None]:
    async with jobs.run():
        yield


async def greet_soon(name: str) -> dict[str, str]:
    """A route: the answer goes out at once, the work is done by a job that outlives this process."""
    return {"job": (await jobs.enqueue("greet", {"name": name})).job_id}
