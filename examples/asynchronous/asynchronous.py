"""Everything in one event loop: a producer and a worker side by side, as a small web app would.

Every call that touches the store has a twin with an `a` in front, to be awaited.
"""

import asyncio
import tempfile
from pathlib import Path

from oxmill import App, Context

STORE = Path(tempfile.mkdtemp(prefix="oxmill-example-")) / "jobs.db"
app = App(f"sqlite:///{STORE}")


@app.task
async def page(url: str) -> int:
    await asyncio.sleep(0.05)
    return len(url)


@app.task(takes_context=True)
async def site(ctx: Context, urls: list[str]) -> int:
    """A job that enqueues jobs and waits for them; it takes no thread meanwhile."""
    jobs = await app.aenqueue_many(page.bind(url) for url in urls)
    total = 0
    for done, job in enumerate(jobs, 1):
        total += await job
        ctx.progress(done, len(jobs))
    return total


async def main() -> None:
    worker = app.worker(slots=10)
    serving = asyncio.create_task(worker.serve())
    urls = [f"https://example.org/{n}" for n in range(20)]
    job = await site.aenqueue(urls)
    total = await job.aresult(timeout="30s")
    print(f"{len(urls)} pages, {total} characters of addresses")
    worker.stop()
    assert await serving == 0
    assert total == sum(map(len, urls))
    await app.aclose()


if __name__ == "__main__":
    asyncio.run(main())
