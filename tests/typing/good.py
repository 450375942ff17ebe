"""Right uses of the public API: both type checkers must accept them and agree on the types."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict, assert_type, reveal_type

from oxmill import (
    App,
    AsyncTask,
    Call,
    Context,
    Failed,
    Flow,
    FlowInfo,
    FlowStatus,
    Job,
    Lease,
    Next,
    Node,
    Pipeline,
    Queue,
    Retry,
    Spawn,
    State,
    Task,
    Unique,
    current,
)

app = App("memory://", defaults={"queue": "web"}, doorbell=False)


@dataclass
class Page:
    text: str


@app.task
async def fetch(url: str) -> Page:
    return Page(url)


@app.task(
    queue="mail",
    retry=Retry(5, base="2s", cap="10m", give_up_on=(ValueError,)),
    unique=Unique(within="1h", on_conflict="skip"),
    timeout="30s",
)
def send(to: str, *, subject: str = "hi") -> int:
    return len(to + subject)


@app.task(takes_context=True)
async def with_context(context: Context, n: int) -> None:
    context.progress(n, 10)


@app.task(takes_context=True, queue="q")
def with_context_too(context: Context, n: int) -> str:
    return context.id


@app.task
def merge(pages: list[Page]) -> int:
    return len(pages)


@app.task
def merge_all(pages: list[Page | Failed], title: str) -> int:
    return len(pages) + len(title)


@app.task
def notify(count: int) -> None: ...


@app.task
def crawl(site: str) -> int:
    raise Spawn([fetch.bind(site), fetch.bind(site)], then=crawled, policy="all_end")


@crawl.continuation
def crawled(pages: list[Page | Failed], site: str) -> int:
    return len(pages) + len(site)


class Access(TypedDict, total=False):
    user_id: int
    roles: list[str]


@app.step(queue="prepare", retry=3)
def prepare(user_id: int) -> Access:
    return {"roles": [str(user_id)]}


@app.step
async def check(roles: list[str] | None) -> Access | Next:
    return Next(prepare, Access(roles=roles or []))


access = app.pipeline("access", prepare, check, state=Access, lookup=["user_id"], shift={check: 5})
plain = app.pipeline("plain", prepare)


@app.task
def untyped(a, b=None):  # type: ignore[no-untyped-def]
    return a, b


@app.cron("0 3 * * *", tz="Europe/London")
@app.task(pool="process")
def nightly(days: int = 1) -> None: ...


reveal_type(fetch)  # AsyncTask[(url: str), Page]
reveal_type(send)  # Task[(to: str, *, subject: str = "hi"), int]
reveal_type(with_context)  # AsyncTask[(n: int), None]
reveal_type(send.enqueue("a", subject="b"))  # Job[int]
reveal_type(send.using(delay="5m", priority=10).enqueue("a").result(timeout="10s"))  # int
reveal_type(fetch.bind("u"))  # Call[Page]
reveal_type(app.enqueue_many(fetch.bind(u) for u in ("a", "b")))  # list[Job[Page]]
reveal_type(fetch.job("id").result())  # Page
reveal_type(current())  # Context
reveal_type(app.job("id").state)  # State | None

with app.flow("import", fields={"user_id": 62}, id="x") as f:
    pages = [f.add(fetch, url) for url in ("a", "b")]
    total = f.add(merge, [page.out for page in pages])
    some = f.add(merge_all, [page.out for page in pages], title="x").join(policy="all_end")
    f.add(notify, total.out).after(some, *pages).join(quorum=2, on_failure="ignore", deadline="1h")
    f.add(send.using(delay="1m", queue="mail"), "ops@x", subject="done").after(total)
    f.add(untyped, 1, b=total.out)

reveal_type(total)  # Node[int]
reveal_type(f.result(pages[0]))  # Page
assert_type(access.start({"user_id": 62}, id="y").state(), Access)

assert_type(pages, list[Node[Page]])
assert_type(total.out, int)
assert_type(some.job, Job[int])
assert_type(f.status(), FlowStatus)
assert_type(access, Pipeline[Access])
assert_type(access.flow("y"), Flow[Access])
assert_type(plain.start({"any": 1}).state(), dict[str, Any])
assert_type(app.flows["x"].cancel(reason="no"), int)
assert_type(next(app.flows.find(name="import", fields={"user_id": 62})), FlowInfo)

assert_type(send("a"), int)
assert_type(send.map([("a",), ("b",)]), list[Job[int]])
assert_type(app.queue("q"), Queue)
assert_type(app.queue("q").lease("5s", wait=True), Lease | None)
assert_type(app.queue("q").add(b"x", id="1", delay=timedelta(seconds=5)), bool)
assert_type(app.control.cancel("id", queue="mail", state=State.WAITING), int)
assert_type(app.load(send.bind(x) for x in "abc").created, int)
assert_type(with_context_too.enqueue(3).refresh().created, bool)

as_task: Task[..., int] = send
as_async: AsyncTask[[str], Page] = fetch
as_call: Call[int] = send.using(run_at=datetime.now(UTC), unique="k").bind("a")
as_object: Job[object] = send.enqueue("a")

app.cron("@daily", send.bind("ops"), catch_up="all", overlap="skip", jitter="5m")
app.every("90s", send.bind("ops"), name="often")
untyped.enqueue(1, b=2)


def emails() -> Iterator[Call[int]]:
    yield send.bind("a")


async def more_emails() -> AsyncIterator[Call[int]]:
    yield send.bind("a")


async def main() -> None:
    assert_type(await send.aenqueue("a"), Job[int])
    assert_type(await (await send.aenqueue("a")), int)
    assert_type(await (await fetch.aenqueue("u")).aresult(5), Page)
    assert_type(await fetch("u"), Page)
    assert_type(await app.aenqueue_many(emails()), list[Job[int]])
    assert_type(await app.aenqueue_many(more_emails()), list[Job[int]])
    assert_type((await app.aload(more_emails())).created, int)
    assert_type(await app.queue("q").alease(5), Lease | None)
    assert_type(await app.control.apause("q", expires="5m"), bool)
    async with app.flow("import") as g:
        node = g.add(fetch, "u")
    assert_type(await g.aresult(node, timeout=5), Page)
    assert_type(await g.aoutcome(), FlowInfo)
    assert_type(await access.astart({}), Flow[Access])
    async for record in app.ajobs(queue="q", fields={"user": 7}):
        assert_type(record.id, str)


def test_jobs() -> None:
    with app.testing() as t, app.running(slots=3, queues=["q"]) as worker:
        t.assert_enqueued(send, "a")
        t.advance("5m")
        assert_type(t.run_all(), int)
        assert_type(t.succeeded(fetch), int)
        worker.stop()
    extra: Any = app.schedules
    assert extra
