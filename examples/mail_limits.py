"""A queue that sends no faster than its provider likes, and nothing twice: ``python mail_limits.py``.

Limits are kept in the store and hold for all processes together. It keeps a store of its own in ``.headgate``, or uses
that of ``HEADGATE_REDIS_URL``.
"""

import asyncio
import sys
import time

import headgate
from headgate.errors import Backpressure
from headgate.models import Enqueued

app = headgate.Headgate()
limits = headgate.QueueLimits(
    max_concurrent=2,
    max_unfinished=100,  # beyond it whoever enqueues is told to wait
    rate_limit=headgate.RateLimit(limit=5, window_ms=1_000, burst=1),  # one at a time, five a second
)


reminded = asyncio.Event()


@app.actor("mail.send", queue="mail")
async def send(to: str, about: str) -> None:
    print(f"{time.time():.3f} to {to}: {about}", flush=True)
    if about == "your basket":
        reminded.set()


async def remind(person: str) -> Enqueued:
    """A reminder in a second, however often it is asked for; it is not worth sending in an hour."""
    return await app.enqueue(
        "mail.send",
        {"to": person, "about": "your basket"},
        delay_ms=1_000,
        deadline_ms=int(time.time() * 1000) + 3_600_000,
        unique_key=f"remind/{person}",
    )


async def main() -> None:
    async with app.run():
        await app.queues.set_limits("mail", limits)
        reminder = await remind("ada")
        again = await remind("ada")
        print(f"a second reminder? {'no' if again.duplicate else 'yes'}", flush=True)
        why = await app.jobs.admission(reminder.job_id)
        print(f"it waits: {why.blocked_by}", flush=True)
        people = ["bob", "cleo", "dora", "emil"]
        try:  # all of them, or none
            await app.enqueue_many([app.request("mail.send", {"to": each, "about": "the news"}) for each in people])
        except Backpressure:
            sys.exit("the queue is full: another time")
        await reminded.wait()


if __name__ == "__main__":
    asyncio.run(main())
