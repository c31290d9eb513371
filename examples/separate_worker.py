"""One application, run by processes of their own on the store of ``HEADGATE_REDIS_URL``; as many of each as you like.

::

    headgate scheduler --app separate_worker:app     # one of them schedules, the others stand by
    headgate worker --app separate_worker:app        # all of them work
    python separate_worker.py ada                    # any program may queue a job
"""

import asyncio
import sys

import headgate

app = headgate.Headgate()


@app.actor("greet", queue="greetings")
async def greet(job: headgate.Job, name: str) -> None:
    print(f"hello {name}, {'at a tick' if job.tick else 'as asked'}", flush=True)


app.periodic("greet-often", "@every:500", kind="greet", payload={"name": "everybody"})


async def main(name: str) -> None:
    async with app:
        queued = await app.enqueue("greet", {"name": name})
    print(f"queued {queued.job_id}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:2]))
