"""The facade: actors and schedules declared side by side, a scheduler and a worker inside the caller's program.

Declaring does no I/O. `Headgate.run` opens the store, writes the declared schedules that are missing or changed,
touches nothing else, and then schedules and works until its body ends.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final, Self, Unpack

import anyio
from redis.asyncio import Redis

from headgate.connect import check_server, connect, connect_pubsub
from headgate.declaring import Declaring
from headgate.embedded import EmbeddedStore
from headgate.errors import InvalidRequest
from headgate.handles import Schedules
from headgate.health import check_health
from headgate.heart import Heart
from headgate.hooks import Hooks
from headgate.models import Enqueued, Health, JobRequest
from headgate.names import check_queue
from headgate.options import JobOptions
from headgate.process import Service, contending, running_process
from headgate.reconcile import apply, check_owner, make_plan
from headgate.settings import Settings
from headgate.store import Store
from headgate.store.hints import Heed, follow_hints
from headgate.store.jobs import Jobs
from headgate.store.quarantine import Quarantine
from headgate.store.queues import Queues
from headgate.store.upcoming import UpcomingTicks
from headgate.store.wakeups import Wakeups
from headgate.store.workers import Workers
from headgate.upcoming import MAX_UPCOMING
from headgate.worker import Worker

_OWNER: Final = "app"
_CONCURRENCY: Final = 10
_GRACE_SECONDS: Final = 10.0


class Headgate(Declaring):
    """One application on one namespace.

    Args:
        url: ``redis://``, ``rediss://`` or ``unix://`` of the store; None takes what ``HEADGATE_REDIS_URL`` says, or
            else starts one of its own in `data_dir`.
        namespace: applications of one namespace share schedules, queues and the scheduler duty.
        data_dir: where a store of its own is kept.
        settings: limits and intervals.
        owner: whose the declared schedules are, see docs/declared.md; ``app`` unless given.

    Raises:
        InvalidRequest: the URL, the namespace or the owner breaks its rule.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        namespace: str = "default",
        data_dir: Path | str = ".headgate",
        settings: Settings | None = None,
        owner: str | None = None,
    ) -> None:
        super().__init__()
        self.namespace = namespace
        self.settings = settings or Settings()
        self.owner = _OWNER if owner is None else check_owner(owner)
        self._named = owner is not None
        self._url = url
        self.data_dir = Path(data_dir)
        self._stack: AsyncExitStack | None = None
        self._pieces: Mapping[str, str] | None = None  # of the scripts; headgate.testing puts another clock in place
        self._store: Store | None = None

    # using the store

    @property
    def url(self) -> str | None:
        """The store's URL: its own, or else that of ``HEADGATE_REDIS_URL``; None for a store of its own."""
        return os.environ.get("HEADGATE_REDIS_URL") or None if self._url is None else self._url

    def relocate(self, url: str, namespace: str) -> None:
        """Use another store and namespace than it was declared with, from when it is opened next."""
        self._url, self.namespace = url, namespace

    async def __aenter__(self) -> Self:
        """Open the store: for programs that enqueue or look, and neither schedule nor work."""
        if self._stack is not None:
            raise InvalidRequest("this application is open already")
        async with AsyncExitStack() as stack:
            url = self.url
            if url is None:
                url = (await stack.enter_async_context(EmbeddedStore(self.data_dir))).url
            client = connect(url, self.settings)
            stack.push_async_callback(client.aclose)
            await check_server(client)
            self._open_url = url
            self._store = Store(client, self.namespace, settings=self.settings, pieces=self._pieces)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._stack is not None
        stack, self._stack, self._store = self._stack, None, None
        with anyio.CancelScope(shield=True):
            await stack.aclose()

    @property
    def store(self) -> Store:
        """The store's aggregates; raises `InvalidRequest` while the application is not open."""
        if self._store is None:
            raise InvalidRequest("open the application first: async with app.run(), or async with app")
        return self._store

    @property
    def hooks(self) -> Hooks:
        """What the application has to say of ticks and of runs that are asked for."""
        return self._hooks

    @property
    def schedules(self) -> Schedules:
        """Schedules: put, get, list, delete, run_now, events."""
        return Schedules(self.store, self._hooks, self._declared.definition, self._declared.check_payload)

    @property
    def jobs(self) -> Jobs:
        """Jobs: get, list, retry, cancel, delete, admission."""
        return self.store.jobs

    @property
    def queues(self) -> Queues:
        """Queues: list, get, pause, resume, set_limits."""
        return self.store.queues

    @property
    def quarantine(self) -> Quarantine:
        """Quarantine: list, add, release."""
        return self.store.quarantine

    @property
    def workers(self) -> Workers:
        """Workers: list."""
        return self.store.workers

    async def follow_hints(self, heed: Heed) -> None:
        """Hand on which schedules and jobs have changed, until cancelled; see `headgate.store.hints.Hints.follow`."""
        _ = self.store
        await follow_hints(self._open_url, self.namespace, self.settings, heed)

    async def health(self) -> Health:
        """Whether it works and why not, within the time of one call; a store that is away or full is an answer too."""
        return await check_health(self.store)

    async def upcoming_all(self, until_ms: int, *, limit: int = MAX_UPCOMING) -> UpcomingTicks:
        """What all schedules fire after store time up to `until_ms`, by instant; errors as for `Upcoming.all`."""
        return await self.store.upcoming.all(until_ms, limit=limit)

    async def enqueue(
        self, kind: str, payload: Any = None, *, idempotency_key: str | None = None, **options: Unpack[JobOptions]
    ) -> Enqueued:
        """Queue a job.

        Args:
            kind: which actor.
            payload: what it receives.
            idempotency_key: makes a repeat of this call harmless, for 24 h; without one each call makes a job.
            options: the other fields of `JobRequest`; ``queue`` is the actor's own unless given.

        Raises:
            InvalidRequest: a value breaks its rule, or the payload does not fit its actor.
            IdConflict: the chosen id belongs to a job with other content.
            Quarantined: the content is barred.
            Backpressure: the queue has as many unfinished jobs as it may.
        """
        return await self.store.producer.enqueue(
            self.request(kind, payload, **options), idempotency_key=idempotency_key
        )

    async def enqueue_many(
        self, requests: Sequence[JobRequest], *, idempotency_key: str | None = None
    ) -> list[Enqueued]:
        """Queue up to 200 jobs, each made by `request`, all of them or none; errors as for `enqueue`."""
        return await self.store.producer.enqueue_many(requests, idempotency_key=idempotency_key)

    # running

    @asynccontextmanager
    async def run(
        self,
        *,
        scheduler: bool = True,
        worker: bool = True,
        queues: Sequence[str] | None = None,
        concurrency: int = _CONCURRENCY,
        shutdown_grace: float = _GRACE_SECONDS,
        prune: bool = False,
        adopt: bool = False,
    ) -> AsyncIterator[Headgate]:
        """Schedule and work as tasks of the caller's program, until the body ends.

        At the end nothing new is admitted; running jobs get `shutdown_grace` seconds and are then handed back, without
        an attempt counted; the scheduler's lease is given up at once.

        Args:
            scheduler: contend for the scheduler duty.
            worker: run jobs.
            queues: which; those of the declared actors unless given.
            concurrency: most jobs at once.
            shutdown_grace: seconds.
            prune: delete the schedules that this application's owner once declared and declares no longer.
            adopt: take over declared schedules that belong to another owner.

        Raises:
            InvalidRequest: a declared schedule's payload does not fit its actor, or an argument breaks its rule.
            Conflict: a declared schedule belongs to another owner; nothing was written.
            StoreError: the store does not answer, or cannot be used.
        """
        self._declared.definitions()  # a payload that does not fit is an error before anything is opened
        if type(concurrency) is not int or concurrency < 1:
            raise InvalidRequest("concurrency must be a whole number of at least 1", field="concurrency")
        if isinstance(queues, str):
            raise InvalidRequest("queues must be a list of names", field="queues")
        for queue in queues or ():
            check_queue(queue)
        if prune and not self._named:  # two applications without a name would delete each other's
            raise InvalidRequest("prune needs an owner of the application's own: Headgate(owner=…)", field="prune")
        async with self:
            await self._write_declared(prune=prune, adopt=adopt)
            own, listening = self._connections_of_its_own()
            heart, services = Heart(own.leases, self.settings), list[Service]()
            if scheduler:
                heart, services = contending(own, Wakeups(listening, self.namespace), self._hooks)
            working = None
            if worker:
                ready = Wakeups(listening, self.namespace, channel="ready")
                working = self._worker(own, ready, queues, concurrency, heart.process_id)
                heart.about = working.about
            async with running_process(heart, services, working, grace=shutdown_grace):
                yield self

    def _connections_of_its_own(self) -> tuple[Store, Redis]:
        """For scheduling and working: the program's own calls never hold them up. Closed with the store."""
        assert self._stack is not None
        client, pubsub = connect(self._open_url, self.settings), connect_pubsub(self._open_url, self.settings)
        self._stack.push_async_callback(client.aclose)
        self._stack.push_async_callback(pubsub.aclose)
        return Store(client, self.namespace, settings=self.settings, pieces=self._pieces), pubsub

    def _worker(
        self, store: Store, wakeups: Wakeups, queues: Sequence[str] | None, concurrency: int, process_id: str = ""
    ) -> Worker:
        return Worker(
            store,
            wakeups,
            self._registry,
            queues=self._registry.queues if queues is None else queues,
            turns=queues is None,
            concurrency=concurrency,
            middleware=self._middleware,
            process_id=process_id,
        )

    async def _write_declared(self, *, prune: bool = False, adopt: bool = False) -> None:
        """What is as declared is left alone, so that many processes may start at once."""
        wanted = self._declared.definitions()
        await apply(
            self.store, await make_plan(self.store, self.owner, wanted, adopt=adopt, leftovers=prune), prune=prune
        )
