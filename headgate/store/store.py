"""One namespace on one server, as its aggregates."""

from __future__ import annotations

from collections.abc import Mapping

from redis.asyncio import Redis

from headgate.connect import ServerInfo, check_server
from headgate.settings import Settings
from headgate.store.attempts import Attempts
from headgate.store.backfills import Backfills
from headgate.store.changes import Changes
from headgate.store.control import Control
from headgate.store.events import Events
from headgate.store.explains import Explains
from headgate.store.jobs import Jobs
from headgate.store.keys import Keys
from headgate.store.leases import Leases
from headgate.store.producer import Producer
from headgate.store.quarantine import Quarantine
from headgate.store.queues import Queues
from headgate.store.reclaims import Reclaims
from headgate.store.runs import Runs
from headgate.store.schedules import Schedules
from headgate.store.scripts import Scripts
from headgate.store.ticks import Ticks
from headgate.store.upcoming import Upcoming
from headgate.store.workers import Workers


class Store:
    """Everything Headgate keeps, by aggregate. It owns no connection: the caller opens and closes the client.

    Args:
        client: as made by `headgate.connect.connect`.
        namespace: 1 to 64 of ``[A-Za-z0-9._-]``; namespaces share a server and see nothing of each other.
        settings: limits and intervals.
        pieces: replacements for shared pieces of the scripts, by name: a clock that tests move, for instance.

    Raises:
        InvalidRequest: the namespace breaks its rule.
    """

    def __init__(
        self,
        client: Redis,
        namespace: str = "default",
        *,
        settings: Settings | None = None,
        pieces: Mapping[str, str] | None = None,
    ) -> None:
        self.keys = Keys(namespace)
        self.settings = settings or Settings()
        scripts = Scripts(client, self.keys, timeout_ms=self.settings.call_timeout_ms, pieces=pieces)
        self.schedules = Schedules(scripts, history_ms=self.settings.history_retention_ms)
        self.ticks = Ticks(scripts)
        self.control = Control(scripts)
        self.backfills = Backfills(scripts)
        self.changes = Changes(scripts)
        self.runs = Runs(scripts)
        self.upcoming = Upcoming(scripts)
        self.events = Events(scripts)
        self.explains = Explains(scripts)
        self.producer = Producer(scripts)
        self.jobs = Jobs(scripts, self.events)
        self.queues = Queues(scripts)
        self.attempts = Attempts(scripts)
        self.leases = Leases(scripts, overdue_after_ms=self.settings.overdue_after_ms)
        self.quarantine = Quarantine(scripts)
        self.workers = Workers(scripts)
        limits = self.settings
        self.reclaims = Reclaims(scripts, crash_limit=limits.crash_limit, max_finished=limits.max_finished)
        self._client = client
        self._scripts = scripts

    async def server(self) -> ServerInfo:
        """What the server is; errors as for `headgate.connect.check_server`."""
        return await check_server(self._client)

    async def time_ms(self) -> int:
        """Store time."""
        return int(await self._scripts.call("time"))
