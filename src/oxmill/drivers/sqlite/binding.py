"""Rows of parameters as `sqlite3` binds them fastest.

It looks for an adapter of every value that is no int, float, str or bytearray, and raises and swallows
an error each time: `None` and bytes cost 0.5 to 0.7 µs apiece, more than the column they fill. So an
insert leaves out columns that are NULL in all its rows, and blobs are bound as bytearrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from oxmill.drivers.sqlite.statements import positional_text
from oxmill.model.job import JSON, NewJob
from oxmill.model.state import State
from oxmill.model.value import Micros

Row = Sequence[Any]
Without = tuple[int, ...]
"""Columns that are left out, by their places among the parameters."""

_BLOBS: Final[Mapping[str, int]] = {
    "insert_job": 17,
    "put_state": 2,
    "complete_job": 0,
}
"""Where statements take bytes."""
_NULLABLE: Final[Mapping[str, Without]] = {"insert_job": (4, 10, 13, 14, 15, 16)}
"""Columns that may be NULL, and are unless they are given."""


def bindable(name: str, rows: Sequence[Row]) -> tuple[Without, Sequence[Row]]:
    """The same rows, and which columns they come without."""
    blob, nullable = _BLOBS.get(name), _NULLABLE.get(name, ())
    if blob is None or not rows:
        return (), rows
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
    columns[blob] = list(map(bytearray, columns[blob]))
    without = tuple([at for at in nullable if columns[at].count(None) == len(rows)])
    for at in reversed(without):
        del columns[at]
    return without, list(zip(*columns, strict=True))


PLAIN: Final[Without] = (4, 10, 14, 15, 16)
"""What the usual job does without: reason, expiry, unique key, group and extras."""
_WAITING: Final = State.WAITING.value
_TEXT: Final = positional_text("insert_job", PLAIN)
_TEXT_UNKEPT: Final = positional_text("insert_job", tuple(sorted((*PLAIN, 13))))
"""The same without how long it is kept."""


def is_plain(job: NewJob) -> bool:
    """Whether a job without a unique key waits at once and has nothing unusual about it."""
    return not (
        job.delay
        or job.run_at is not None
        or job.expires_in is not None
        or job.group is not None
        or job.content_type != JSON
        or job.timeout is not None
        or job.flow is not None
        or job.headers
        or job.fields
        or job.tags
    )


def plain_insert(job: NewJob, seq: int, now: Micros) -> tuple[str, Row]:
    """The insert of a plain job, and its values. Every single async enqueue comes through here, so
    what `arrival` does is written out."""
    most, crashes, keep, payload = job.max_attempts, job.crash_limit, job.keep, job.payload
    head = (seq, job.id, seq, now, job.queue, job.task, _WAITING, job.priority, now, most, crashes)
    if keep is None:
        return _TEXT_UNKEPT, (*head, bytearray(payload))
    return _TEXT, (*head, keep, bytearray(payload))


def plain_form(job: NewJob) -> tuple[str, tuple[Any, ...], tuple[Any, ...]]:
    """The insert of plain jobs like this one, and what their values have in common: between the time
    of the enqueue and the moment when they are due, and between that and the payload."""
    where = (job.queue, job.task, _WAITING, job.priority)
    terms = (job.max_attempts, job.crash_limit)
    return (_TEXT_UNKEPT, where, terms) if job.keep is None else (_TEXT, where, (*terms, job.keep))
