"""Pictures of a flow with its states: for terminals, Mermaid and Graphviz."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from oxmill.model.job import Job
from oxmill.model.state import State
from oxmill.queue.tree import FlowTree

_COLOURS: Final = {
    State.HELD: "#e8e8e8",
    State.SCHEDULED: "#dbe7f5",
    State.WAITING: "#cfe3ff",
    State.RUNNING: "#ffe9a8",
    State.SUCCEEDED: "#c9efcb",
    State.FAILED: "#f6c1c1",
    State.CANCELLED: "#d9cfe3",
}


def mermaid(tree: FlowTree) -> str:
    """The flow as a Mermaid flowchart. Solid edges are waited for, thick ones handed over, dotted ones
    spawned."""
    names = _names(tree)
    lines = ["flowchart TD"]
    for job in tree.jobs:
        label = f"{_short(job.task)}<br/>{job.state}".replace('"', "#quot;")
        lines.append(f'  {names[job.id]}["{label}"]:::{job.state}')
    lines += [f"  {names[one]} --> {names[other]}" for one, other in _waits(tree)]
    lines += [f"  {names[one]} ==> {names[other]}" for one, other in _hand_overs(tree)]
    lines += [f"  {names[one]} -.-> {names[other]}" for one, other in _spawns(tree)]
    seen = dict.fromkeys(job.state for job in tree.jobs)
    lines += [f"  classDef {state} fill:{_COLOURS[state]},stroke:#555,color:#000" for state in seen]
    return "\n".join(lines) + "\n"


def dot(tree: FlowTree) -> str:
    """The flow as a Graphviz graph. Solid edges are waited for, bold ones handed over, dashed ones
    spawned."""
    names = _names(tree)
    lines = [f"digraph {_quoted(tree.flow.name)} {{", "  node [shape=box, style=filled];"]
    for job in tree.jobs:
        label = _quoted(f"{_short(job.task)}\n{job.state}")
        lines.append(f'  {names[job.id]} [label={label}, fillcolor="{_COLOURS[job.state]}"];')
    lines += [f"  {names[one]} -> {names[other]};" for one, other in _waits(tree)]
    lines += [f"  {names[one]} -> {names[other]} [style=bold];" for one, other in _hand_overs(tree)]
    lines += [f"  {names[one]} -> {names[other]} [style=dashed];" for one, other in _spawns(tree)]
    return "\n".join([*lines, "}"]) + "\n"


def outline(tree: FlowTree) -> Iterator[tuple[str, Job]]:
    """Each job with the lines that lead to it in a tree: spawned jobs under their parents."""
    children = tree.children()
    roots = children[None]
    stack = [("", job, job is roots[-1]) for job in reversed(roots)]
    while stack:
        before, job, last = stack.pop()
        yield before + ("└─ " if last else "├─ "), job
        mine = children.get(job.id, [])
        deeper = before + ("   " if last else "│  ")
        stack += [(deeper, child, child is mine[-1]) for child in reversed(mine)]


def _names(tree: FlowTree) -> dict[str, str]:
    return {job.id: f"n{number}" for number, job in enumerate(tree.jobs)}


def _waits(tree: FlowTree) -> list[tuple[str, str]]:
    known = {job.id for job in tree.jobs}
    return [(one, job.id) for job in tree.jobs for one in job.after if one in known]


def _hand_overs(tree: FlowTree) -> list[tuple[str, str]]:
    return [(one, other) for other, one in tree.handed_over().items()]


def _spawns(tree: FlowTree) -> list[tuple[str, str]]:
    known = {job.id for job in tree.jobs}
    return [(job.parent, job.id) for job in tree.jobs if job.parent and job.parent in known]


def _short(task: str) -> str:
    return task.rpartition(":")[2]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
