"""What the demo shows, declared as any application is; ``serve --app headgate.cli.demo_app:app`` runs it too."""

from __future__ import annotations

from typing import Final

import anyio

from headgate.app import Headgate
from headgate.models import ScheduleDefinition
from headgate.runner import Job

_SLOW_SECONDS: Final = 2

POISON: Final = {"what": "barred content"}
app: Final = Headgate(data_dir=".headgate-demo")


@app.actor("demo.beat")
def beat(job: Job, what: str) -> None:  # noqa: ARG001 - the parameters are what a payload must have
    """Fail now and then: at the first attempt for every other tick."""
    if job.origin is not None and job.attempt == 1 and job.origin.tick_ms // 3_000 % 2 == 0:
        raise ConnectionError


@app.actor("demo.import")
async def slow_import(what: str) -> None:  # noqa: ARG001
    """Take longer than it is until the next tick, so that two run side by side."""
    await anyio.sleep(_SLOW_SECONDS)


@app.actor("demo.report")
async def report(what: str) -> None:
    """Be done at once."""


app.periodic("every-3s", "@every:3000", kind="demo.beat", payload={"what": "an interval"})
app.periodic("berlin", "CRON_TZ=Europe/Berlin */10 * * * * *", kind="demo.report", payload={"what": "a cron in a zone"})
app.periodic(
    "catch-up",
    "@every:1500",
    kind="demo.import",
    payload={"what": "ticks that were missed"},
    on_missed="backfill",
    backfill_limit=2,
)
app.periodic("poison", "@every:4000", kind="demo.report", payload=POISON)

ON_HOLD: Final = ScheduleDefinition(kind="demo.report", spec="@every:1000", payload={"what": "paused"})
MEANING: Final = {
    "every-3s": "every 3 seconds; every other job fails at first, and is tried again",
    "berlin": "every 10 seconds of Berlin's wall clock",
    "catch-up": "every 1.5 seconds; of missed ticks, the latest two are made up for; its jobs take 2 seconds",
    "poison": "its content is in quarantine, so its ticks are skipped, visibly",
    "on-hold": "paused: no next run, and nothing on its trail; it can be run by hand",
}
