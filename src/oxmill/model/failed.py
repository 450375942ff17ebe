"""What stands in a result's place when the job that should give it did not succeed."""

from __future__ import annotations

from oxmill.model.state import State
from oxmill.model.value import Value


class Failed(Value, frozen=True):
    """A job of a collecting join that gave no result: failed, cancelled, or not ended in time.

    A task asks for it in its annotation: `pages: list[Page | Failed]`.
    """

    job: str
    task: str
    state: State
    reason: str | None = None
    error_type: str = ""
    error_message: str = ""

    def __bool__(self) -> bool:
        return False
