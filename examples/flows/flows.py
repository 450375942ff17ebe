"""Flows: a graph, a pipeline over one state, and a job that spawns others, in one small report.

A report is asked for by a pipeline. Its second step finds out how many chapters there are, spawns one
job for each, and goes on when all have ended, although one of them fails. A graph of jobs then prints
and binds the report.
"""

import logging
from typing import TypedDict

from oxmill import App, Failed, Spawn


class Report(TypedDict, total=False):
    customer: str
    chapters: list[str]
    missing: list[str]


app = App("memory://")


@app.step(queue="planning")
def plan(customer: str) -> Report:
    return {"chapters": [f"{customer}: {part}" for part in ("income", "costs", "secret plans")]}


@app.task(queue="writing", retry=None)
async def write(chapter: str) -> str:
    if "secret" in chapter:
        raise PermissionError(chapter)
    return f"<{chapter}>"


@app.step(queue="planning")
def compose(chapters: list[str]) -> Report:
    raise Spawn([write.bind(chapter) for chapter in chapters], then=composed, on_failure="collect")


@compose.continuation
def composed(written: list[str | Failed]) -> Report:
    return {
        "chapters": [text for text in written if not isinstance(text, Failed)],
        "missing": [text.error_message for text in written if isinstance(text, Failed)],
    }


@app.task
def print_chapter(text: str) -> str:
    return text.upper()


@app.task
def bind(pages: list[str], cover: str) -> str:
    return " ".join([cover, *pages])


def main() -> None:
    logging.getLogger("oxmill").setLevel(logging.CRITICAL)
    reports = app.pipeline("report", plan, compose, state=Report, lookup=["customer"])
    with app.running(slots=4):
        run = reports.start({"customer": "acme"})
        run.outcome(timeout="30s")
        report = run.state()
        print(f"written: {report['chapters']}")
        print(f"missing: {report['missing']}")

        with app.flow("binding", fields={"customer": "acme"}) as f:
            pages = [f.add(print_chapter, text) for text in report["chapters"]]
            book = f.add(bind, [page.out for page in pages], cover="ACME")
        print(f"bound: {f.result(book, timeout='30s')}")

        (found,) = app.flows.find(name="report", fields={"customer": "acme"})
        print(app.flows[found.id].tree().mermaid())


if __name__ == "__main__":
    main()
