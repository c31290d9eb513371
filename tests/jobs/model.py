"""A small model of the life of jobs: what the store must say after any history, its scripts unseen."""

from __future__ import annotations

from dataclasses import dataclass, field

from headgate.errors import (
    Backpressure,
    HeadgateError,
    IdConflict,
    InvalidRequest,
    JobNotFound,
    JobStateConflict,
    Quarantined,
    QuarantineNotFound,
    UniqueKeyHeld,
)

FINAL = ("completed", "cancelled", "undecodable", "archived")
UNFINISHED = ("scheduled", "available", "running", "retryable")
TOLD = (*FINAL, "retryable")
"""States that a worker is told, should it report twice."""
MINUTE, WEEK, SOONEST = 60_000, 7 * 86_400_000, 60_000


@dataclass
class Job:
    id: str
    queue: str
    content: int
    priority: int
    run_at: int
    deadline: int | None
    unique: str | None
    unique_ms: int | None
    max_attempts: int
    retention: int
    state: str = ""
    score: int = 0
    attempt: int = 0
    crashes: int = 0
    claim: int = 0
    to_stop: bool = False

    def alive(self) -> bool:
        return self.state in UNFINISHED or self.state == "quarantined"

    def late(self, now: int) -> bool:
        return self.deadline is not None and self.deadline <= now


@dataclass
class Model:
    now: int
    max_finished: int
    crash_limit: int = 3
    jobs: dict[str, Job] = field(default_factory=dict)
    held: dict[str, tuple[str, int | None]] = field(default_factory=dict)
    barred: set[int] = field(default_factory=set)
    paused: set[str] = field(default_factory=set)
    max_concurrent: dict[str, int | None] = field(default_factory=dict)
    max_unfinished: dict[str, int | None] = field(default_factory=dict)
    beaten: int | None = None
    judged_from: int = 0
    taken: set[tuple[str, str]] = field(default_factory=set)

    def within(self, queue: str, *states: str) -> list[Job]:
        found = [job for job in self.jobs.values() if job.queue == queue and job.state in states]
        return sorted(found, key=lambda job: (job.score, job.id.encode()))

    # in

    def enqueue(self, batch: list[Job]) -> list[tuple[str, str]] | type[HeadgateError]:
        """What becomes of each; all or nothing."""
        words: list[tuple[str, str]] = []
        made: list[Job] = []
        promised: dict[str, str] = {}
        for job in batch:
            word, whose = self._judge(job, made, promised)
            if isinstance(word, type):
                return word
            words.append((word, whose))
            if word == "accepted":
                made.append(job)
                if job.unique:
                    promised[job.unique] = job.id
        for job in made:
            self.jobs[job.id] = job
            if job.run_at > self.now:
                self._put(job, "scheduled", job.run_at)
            else:
                job.run_at = self.now
                self._make_available(job)
            if job.unique:
                self.held[job.unique] = (job.id, None if job.unique_ms is None else self.now + job.unique_ms)
        return words

    def _judge(self, job: Job, made: list[Job], promised: dict[str, str]) -> tuple[str | type[HeadgateError], str]:
        known = self.jobs.get(job.id)
        if known:
            same = (known.content, known.queue) == (job.content, job.queue)
            return "replayed" if same else IdConflict, job.id
        if job.deadline is not None and job.deadline <= max(self.now, job.run_at):
            return InvalidRequest, ""
        if job.content in self.barred:
            return Quarantined, ""
        holder = promised.get(job.unique or "") or self.holder(job.unique)
        if holder:
            return "duplicate", holder
        most = self.max_unfinished.get(job.queue)
        entered = sum(1 for other in made if other.queue == job.queue)
        if most is not None and len(self.within(job.queue, *UNFINISHED)) + entered >= most:
            return Backpressure, ""
        return "accepted", job.id

    def holder(self, key: str | None) -> str | None:
        if key is None or key not in self.held:
            return None
        job_id, until = self.held[key]
        if until is not None:
            return job_id if until > self.now else None
        return job_id if job_id in self.jobs and self.jobs[job_id].alive() else None

    # run

    def admit(self, queue: str, capacity: int, lease: int) -> list[str]:
        """Who runs next; the numbers of their claims are the store's to choose."""
        self._bring_back(queue)
        most = self.max_concurrent.get(queue)
        room = capacity if most is None else min(capacity, most - len(self.within(queue, "running")))
        given: list[str] = []
        for job in self.within(queue, "available"):
            if queue in self.paused or len(given) >= room:
                break
            if job.late(self.now):
                self._end(job, "archived")
            elif job.content in self.barred:
                self._put(job, "quarantined", self.now)
            else:
                self._put(job, "running", self.now + lease)
                given.append(job.id)
        return given

    def finish(self, job_id: str, claim: int, verdict: str, wait: int) -> str:
        job = self.jobs.get(job_id)
        if job is None or job.claim != claim:
            return "lost"
        late = job.state in ("available", "quarantined") and verdict == "completed"
        if job.state != "running" and not late:
            return job.state if job.state in TOLD else "lost"
        if job.to_stop and verdict != "completed":
            self._end(job, "cancelled")
        elif verdict in ("completed", "cancelled", "undecodable"):
            self._end(job, verdict)
        elif verdict == "returned" and not wait and not job.late(self.now):
            self._make_available(job)
        else:
            job.attempt += verdict == "failed"
            if (verdict == "failed" and job.attempt >= job.max_attempts) or job.late(self.now + wait):
                self._end(job, "archived")
            else:
                job.run_at = self.now + wait
                self._put(job, "retryable", job.run_at)
        return job.state

    # see to

    def beat(self, lease: int) -> None:
        """Any process is heard; after a silence of all, leases get a lease longer, at most once a minute."""
        silent = self.beaten is not None and self.now - self.beaten > lease
        if silent and self.now - self.judged_from > MINUTE:
            self.judged_from = self.now + lease
        self.beaten = self.now

    def reclaim(self) -> None:
        for queue in {job.queue for job in self.jobs.values()}:
            if self.judged_from <= self.now:
                for job in self.within(queue, "running"):
                    if job.score <= self.now:
                        self._crash(job)
            self._bring_back(queue)
            for job in self.within(queue, "scheduled", "available", "retryable", "quarantined"):
                if job.late(self.now):
                    self._end(job, "archived")
            self._forget_finished(queue)

    def _crash(self, job: Job) -> None:
        job.crashes += 1
        if job.to_stop:
            self._end(job, "cancelled")
        elif job.crashes >= self.crash_limit:
            self._put(job, "quarantined", self.now)
            self.barred.add(job.content)
        elif job.late(self.now):
            self._end(job, "archived")
        else:
            self._make_available(job)

    def _forget_finished(self, queue: str) -> None:
        for job in self.within(queue, *FINAL):
            if job.score <= self.now:
                self._remove(job)
        for state in FINAL:
            excess = len(self.within(queue, *FINAL)) - self.max_finished
            for job in self.within(queue, state)[: max(0, excess)]:
                self._remove(job)

    # an operator

    def control(self, job_id: str, word: str) -> type[HeadgateError] | None:
        job = self.jobs.get(job_id)
        if job is None:
            return JobNotFound
        return {"retry": self._retry, "cancel": self._cancel, "delete": self._delete}[word](job)

    def _retry(self, job: Job) -> type[HeadgateError] | None:
        if job.state in ("running", "available"):
            return JobStateConflict
        if job.content in self.barred:
            return Quarantined
        if job.late(self.now):
            return JobStateConflict
        held = job.unique if job.unique_ms is None else None  # a window is over when it is over
        holder = self.holder(held)
        if holder not in (None, job.id):
            return UniqueKeyHeld
        job.attempt = job.crashes = job.claim = 0
        job.to_stop = False
        job.run_at = self.now
        self._make_available(job)
        if held and not holder:
            self.held[held] = (job.id, None)
        return None

    def _cancel(self, job: Job) -> type[HeadgateError] | None:
        if job.state in FINAL:
            return None if job.state == "cancelled" else JobStateConflict
        if job.state == "running":
            job.to_stop = True
        else:
            self._end(job, "cancelled")
        return None

    def _delete(self, job: Job) -> type[HeadgateError] | None:
        if job.state == "running":
            return JobStateConflict
        self._remove(job)
        return None

    def release(self, content: int) -> type[HeadgateError] | None:
        if content not in self.barred:
            return QuarantineNotFound
        self.barred.discard(content)
        for job in self.jobs.values():
            if job.state == "quarantined" and job.content == content:
                job.crashes = 0
                self._make_available(job)
        return None

    # moves

    def _put(self, job: Job, state: str, score: int) -> None:
        self.taken.add((job.state, state))
        job.state, job.score = state, score

    def _make_available(self, job: Job) -> None:
        self._put(job, "available", job.run_at - job.priority * MINUTE)

    def _bring_back(self, queue: str) -> None:
        for job in self.within(queue, "scheduled", "retryable"):
            if job.score <= self.now:
                self._make_available(job)

    def _end(self, job: Job, state: str) -> None:
        least = SOONEST if state == "completed" else WEEK
        self._put(job, state, self.now + max(job.retention, least))
        self._free(job)

    def _remove(self, job: Job) -> None:
        self.taken.add((job.state, ""))
        self._free(job)
        del self.jobs[job.id]

    def _free(self, job: Job) -> None:
        if job.unique and self.held.get(job.unique) == (job.id, None):
            del self.held[job.unique]
