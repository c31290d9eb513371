"""A schedule and its actor in one script: ``python twenty_lines.py``.

It keeps a store of its own in ``.headgate``, or uses that of ``HEADGATE_REDIS_URL``.
"""

import asyncio

import headgate

app = headgate.Headgate()
app.periodic("hello-often", "@every:500", kind="hello", payload={"name": "world"})


@app.actor("hello")
async def hello(job: headgate.Job, name: str) -> None:
    print(f"hello {name}, it is {job.tick:%H:%M:%S.%f}", flush=True)


async def main() -> None:
    async with app.run():
        await asyncio.sleep(2)


if __name__ == "__main__":
    asyncio.run(main())
