"""What other jobs came to, as far as a run needs it for its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from oxmill.errors import BadArguments
from oxmill.model.failed import Failed
from oxmill.model.job import Job as Record
from oxmill.model.state import State
from oxmill.model.value import Value
from oxmill.queue.hooks import marked

NOTHING: Final = msgspec.Raw(b"null")
MISSING: Final = object()
"""Stands for a job without a result whose place is to be left out."""


class Input(Value, frozen=True):
    """One job that was waited for: its result, or how it failed to give one."""

    result: bytes | None = None
    failed: Failed | None = None


Inputs = Mapping[str, Input]


def as_input(record: Record) -> Input:
    """What a job's record means to those who waited for it."""
    if record.state is State.SUCCEEDED:
        return Input(result=record.result)
    error = record.error
    return Input(
        failed=Failed(
            job=record.id,
            task=record.task,
            state=record.state,
            reason=record.reason,
            error_type=error.type if error else "",
            error_message=error.message if error else "",
        )
    )


def value_of(inputs: Inputs, job_id: str, *, collect: bool) -> Any:
    """The JSON of a job's result, or a mark that reads as `Failed`, or `MISSING`."""
    found = inputs.get(job_id)
    if found is None:
        raise BadArguments(
            f"the result of job {job_id} is needed as an argument, but the job is not there any "
            f"more: it was purged, or pruned before its time"
        )
    if found.failed is None:
        return NOTHING if found.result is None else msgspec.Raw(found.result)
    return marked(found.failed) if collect else MISSING
