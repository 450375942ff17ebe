"""Mistakes that both type checkers must find: one on each line that says `# E`, and no others."""

from __future__ import annotations

from good import Page, access, app, crawled, fetch, merge, notify, send, with_context

from oxmill import App, Call, Context, Spawn, Unique

send.enqueue(1)  # E1 wrong type
send.enqueue("a", subjet="x")  # E2 wrong keyword
send.using(delya=3).enqueue("a")  # E3 wrong option
with_context.enqueue("x")  # E4 wrong type after the context is removed
with_context.enqueue(Context, 3)  # E5 the context is not the caller's to give
send.enqueue()  # E6 missing argument
a: str = send.enqueue("a").result()  # E7 wrong type of result
send.bind(1)  # E8 wrong type in a bound call
b: list[Call[str]] = [send.bind("a")]  # E9 wrong type of call
app.enqueue_many([send])  # E10 a task is not a call
Unique(on_conflit="skip")  # E11 misspelt term
Unique(on_conflict="explode")  # E12 unknown word
app.cron("@daily", send)  # E13 a task is not a call
app.cron("@daily", send.bind("a"), timezone="UTC")  # E14 misspelt timing
app.every("5m", fetch.bind("u"), tz="UTC")  # E15 an interval has no zone
App("memory://", mod="fast")  # E16 misspelt option of the app
app.control.cancel(quue="mail")  # E17 misspelt condition
app.queue("q").add("text")  # E18 text is not bytes
app.task(prioritty=3)  # E19 misspelt option of a task

with app.flow("x") as f:
    node = f.add(fetch, "u")
    f.add(notify, node.out)  # E25 a page given to a number
    f.add(merge, node.out)  # E26 one page given to a list of them
    f.add(fetch, 1)  # E27 wrong type in a flow
    f.add(send, "a", subjet="x")  # E28 wrong keyword in a flow
    f.add(merge, [node.out]).join(on_failur="ignore")  # E29 misspelt term
    f.add(merge, [node.out]).join(on_failure="explode")  # E30 unknown word
    f.add(merge, [node.out]).after(fetch)  # E31 a task is not a node
g: int = f.result(node)  # E32 wrong type of a node's result
access.start({"usr_id": 1})  # E33 misspelt field of the state
access.start({"user_id": "1"})  # E34 wrong type of a field
Spawn([send.bind("a")], then=crawled)  # E35 numbers given to a continuation over pages
app.flow("x", field={})  # E36 misspelt option of a flow


@app.cron("@daily")  # E20 a task that needs arguments cannot be called by a clock
@app.task
def needs(n: int) -> None: ...


async def main() -> None:
    c: str = await (await send.aenqueue("a"))  # E21 wrong type of an awaited result
    await fetch.aenqueue(b"u")  # E22 wrong type, async
    d: int = await fetch("u")  # E23 wrong type of a plain call
    e: Page = await fetch.aenqueue("u")  # E24 the handle is not the result
    print(c, d, e)
