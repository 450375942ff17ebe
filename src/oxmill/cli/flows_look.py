"""`oxmill flows list | show`."""

from __future__ import annotations

from collections.abc import Iterator

import click
from msgspec.structs import replace

from oxmill.cli import records
from oxmill.cli.framework import Command
from oxmill.cli.output import Column, Listing, encode, pairs, show_one, tint
from oxmill.cli.paging import Piece, paged, show_pages
from oxmill.cli.selection import read_fields
from oxmill.cli.session import Session
from oxmill.cli.times import ago, clock, here
from oxmill.model.fields import values_of
from oxmill.model.flow import FlowInfo, FlowStatus, ListFlows
from oxmill.model.state import TERMINAL
from oxmill.model.value import Micros
from oxmill.queue.client import Client
from oxmill.queue.flow import Flow, plain_state
from oxmill.queue.ids import IdSource
from oxmill.queue.picture import dot, mermaid, outline
from oxmill.queue.tree import FlowTree
from oxmill.rules.duration import spell

DRAWINGS = {"mermaid": mermaid, "dot": dot}


def open_flow(session: Session, flow_id: str) -> Flow[dict[str, object]]:
    """The handle of a flow of the store that the command works on."""
    return Flow(flow_id, Client(lambda: session.driver, IdSource()), plain_state)


def flow_listing(now: Micros) -> Listing[FlowInfo]:
    """Flows as a table."""
    return Listing(
        columns=(
            Column("id", lambda flow: flow.id),
            Column("name", lambda flow: flow.name),
            Column("status", lambda flow: str(flow.status)),
            Column("jobs", _progress, right=True),
            Column("started", lambda flow: ago(flow.started_at, now)),
            Column("took", lambda flow: spell((flow.ended_at or now) - flow.started_at)),
            Column("fields", _fields),
        ),
        record=records.flow,
        empty="no flow matches. Flows come from app.flow(...) and app.pipeline(...)",
    )


def _progress(flow: FlowInfo) -> str:
    done = sum(number for state, number in flow.counts.items() if state in TERMINAL)
    return f"{done}/{sum(flow.counts.values())}"


def _fields(flow: FlowInfo) -> str:
    every = ((name, values_of(value)) for name, value in flow.fields.items())
    return " ".join(f"{name}={','.join(map(str, values))}" for name, values in every)


@click.command(
    cls=Command,
    examples=("oxmill flows list -s running", "oxmill flows list --name import -f user_id=62"),
)
@click.option("--name", help="Flows of this name.")
@click.option(
    "-s",
    "--status",
    type=click.Choice([str(status) for status in FlowStatus]),
    help="Flows that are doing so.",
)
@click.option(
    "-f", "--field", "fields", multiple=True, metavar="NAME=VALUE", help="Flows with this field."
)
@paged
@click.pass_obj
def list_flows(  # noqa: PLR0913 (click passes each option)
    session: Session,
    *,
    name: str | None,
    status: str | None,
    fields: tuple[str, ...],
    limit: int,
    after: str | None,
) -> None:
    """List flows, the newest first."""
    wanted = ListFlows(
        name=name,
        status=None if status is None else FlowStatus(status),
        fields=read_fields(fields),
    )

    def look(most: int, at: str | None) -> Piece:
        asked = replace(wanted, limit=most, after=at)
        page = session.run(session.driver.inspecting.flows(asked))
        return Piece(page.items, page.next)

    show_pages(session, flow_listing(here()), look, limit, after)


@click.command(
    cls=Command,
    examples=(
        "oxmill flows show 0199c3f2a4b57c1d8e9f00112233aabb",
        "oxmill flows show 0199c3f2a4b57c1d8e9f00112233aabb --draw mermaid",
    ),
)
@click.argument("flow_id", metavar="ID")
@click.option("--draw", type=click.Choice([*DRAWINGS]), help="Print a graph for other programs.")
@click.option("-n", "--limit", default=200, type=click.IntRange(1), help="At most so many jobs.")
@click.pass_obj
def show_flow(session: Session, *, flow_id: str, draw: str | None, limit: int) -> None:
    """Show a flow: its state, and the tree of its jobs.

    Jobs that a job has spawned stand below it; `after` names those that a job waits for, and
    `handed over by` the step of a pipeline before it.
    """
    if draw is not None and session.output != "table":
        raise click.UsageError(
            "--draw prints a graph, -o json and ndjson print data: give one of them"
        )
    tree = open_flow(session, flow_id).tree()
    if draw is not None:
        click.echo(DRAWINGS[draw](tree), nl=False)
        return
    show_one(records.flow_tree(tree), lambda: "\n".join(_lines(tree, limit)), session.output)


def _lines(tree: FlowTree, limit: int) -> Iterator[str]:
    flow = tree.flow
    yield pairs(
        (
            ("id", flow.id),
            ("name", flow.name),
            ("status", tint(flow.status)),
            ("jobs", ", ".join(f"{number} {state}" for state, number in flow.counts.items())),
            ("started", clock(flow.started_at)),
            ("ended", clock(flow.ended_at)),
            ("fields", encode(dict(flow.fields)) if flow.fields else ""),
            ("state", encode(plain_state(flow.state)) if flow.state else ""),
        )
    )
    yield ""
    handed_over = tree.handed_over()
    for number, (lead, job) in enumerate(outline(tree)):
        if number == limit:
            yield f"… and {len(tree.jobs) - limit:,} more; add -n {len(tree.jobs)}"
            return
        reason = f" ({job.reason})" if job.reason else ""
        after = f"  after {_shortened(flow.id, job.after)}" if job.after else ""
        if (before := handed_over.get(job.id)) is not None:
            after = f"  handed over by {_shortened(flow.id, (before,))}"
        yield f"{lead}{job.task}  {tint(job.state)}{reason}  {job.id}{after}"


def _shortened(flow_id: str, ids: tuple[str, ...]) -> str:
    names = [each.removeprefix(f"{flow_id}") for each in ids[:5]]
    return " ".join(names) + (f" and {len(ids) - 5:,} more" if len(ids) > 5 else "")
