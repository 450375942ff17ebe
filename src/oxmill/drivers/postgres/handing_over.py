"""Steps of flows of the usual kind as columns: what the function `hand_over` takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from oxmill.drivers.postgres.arriving import steps_batch_of
from oxmill.drivers.sql.handing_over import reads_text
from oxmill.drivers.sql.ledger import KEEP_FAILED, KEEP_SUCCEEDED
from oxmill.model.job import NewJob
from oxmill.model.settlement import Settlement

_OTHERWISE: Final = {
    "ids": "next_ids",
    "attempts": "next_attempts",
    "queues": "queues_of_next",
    "priorities": "priorities_of_next",
}
"""Parameters of `enqueue` that are called otherwise beside those of the settlements and of a claim."""
_NEXT: Final = (
    *("next_items", "next_flows", "next_reads", "next_ids", "payloads", "terms", "extras"),
    *("queues_of_next", "tasks", "priorities_of_next", "delays", "moments", "expiries"),
    *("next_attempts", "crashes", "keeps", "groups", "sizes"),
    *("label_jobs", "label_names", "label_values"),
)
_NO_NEXT: Final[dict[str, Any]] = dict.fromkeys(_NEXT)


def steps_of(items: Sequence[Settlement]) -> dict[str, Any]:
    """The parameters of `hand_over`, besides those of every settlement."""
    steps = [item.flow for item in items if item.flow is not None]
    merged = [
        (number, name, value)
        for number, step in enumerate(steps, 1)
        for name, value in step.merge.items()
    ]
    fields = list(zip(*merged, strict=True)) if merged else (None, None, None)
    made = [(number, job) for number, step in enumerate(steps, 1) for job in step.then]
    return {
        "merge_items": fields[0],
        "merge_names": fields[1],
        "merge_values": fields[2],
        "usual": KEEP_SUCCEEDED,
        "usual_failed": KEEP_FAILED,
        **(_next(made) if made else _NO_NEXT),
    }


def _next(made: Sequence[tuple[int, NewJob]]) -> dict[str, Any]:
    jobs = [job for _, job in made]
    batch = {_OTHERWISE.get(name, name): values for name, values in steps_batch_of(jobs).items()}
    return batch | {
        "next_items": [number for number, _ in made],
        "next_flows": [job.flow for job in jobs],
        "next_reads": [reads_text(job.reads) for job in jobs],
    }
