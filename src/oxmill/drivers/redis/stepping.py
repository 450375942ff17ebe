"""Steps of pipelines as the short way of a settlement takes them."""

from __future__ import annotations

from typing import Any, Final

from oxmill.drivers.redis.record import ASIDE_BYTES, code_of, describe, pack, pack_id, reads_text
from oxmill.model.flow import FlowStep
from oxmill.model.job import NewJob
from oxmill.model.state import State

Form = tuple[str, int, bytes, bytes, bytes, bytes, bytes]
"""What the next steps of one kind share: queue, priority, their standing up to the time of enqueue, then up to
the flow, then behind it, their description, their payload."""
StepForms = dict[tuple[Any, ...], Form]

_MOST_FIELDS: Final = 50
_REMEMBERED: Final = 1_024
"""Bytes of a payload up to which a form is kept for the next call: steps carry their way, which is short."""
_BLANK: Final = (0, "", 0, -1, "", 0, 0, 0, 0, "", "", 0, 0, 0, 0, "", 0, 0, 0, "", 0)
"""The places of a standing from the expiry to the request to stop, of a job that only waits."""
_WITH_FLOW, _WITH_READS = 30, 33
"""How many places a standing has that ends with the flow, or with the fields it reads."""
_NO_STEP: Final = (b"",)


class ShortSteps:
    """The steps of one call, and the forms of the jobs that they make."""

    __slots__ = ("_known", "_numbers")

    def __init__(self, known: StepForms) -> None:
        self._known = known
        self._numbers: dict[Form, int] = {}

    def args(self, step: FlowStep | None) -> tuple[Any, ...] | None:
        """What a completion hands on, as settle.lua describes it; `None` if it does more."""
        if step is None:
            return _NO_STEP
        if step.resume is not None or step.publish is not None or step.spawn:
            return None
        if len(step.then) > 1 or len(step.merge) > _MOST_FIELDS:
            return None
        fields = [word for field in step.merge.items() for word in field]
        if not step.then:
            return (b"%c\0" % len(step.merge), *fields)
        new = step.then[0]
        if not _plain(new):
            return None
        form, numbers = _form_of(new, self._known), self._numbers
        number = numbers.setdefault(form, len(numbers) + 1)
        return (b"%c%c" % (len(step.merge), number), *fields, pack_id(new.id))

    def forms(self) -> list[Any]:
        """What stands before all items."""
        return [len(self._numbers), *(part for form in self._numbers for part in form)]


def _plain(new: NewJob) -> bool:
    """Whether a job only waits in line."""
    return (
        new.flow is not None
        and not (new.delay or new.after or new.fields)
        and new.run_at is None
        and new.expires_in is None
        and new.group is None
        and len(new.payload) <= ASIDE_BYTES
    )


def _form_of(new: NewJob, known: StepForms) -> Form:
    if new.tags or new.headers or len(new.payload) > _REMEMBERED:
        return _form(new)
    kind = (
        *(new.queue, new.task, new.priority, new.keep, new.timeout, new.max_attempts),
        *(new.crash_limit, new.content_type, new.reads, new.payload),
    )
    form = known.get(kind)
    return form if form is not None else known.setdefault(kind, _form(new))


def _form(new: NewJob) -> Form:
    reads = reads_text(new.reads)
    fixed = b"".join(map(pack, (code_of(State.WAITING), new.queue, new.priority)))
    head = b"\xdc\x00%c%b\xcf" % (_WITH_READS if reads else _WITH_FLOW, fixed)
    ends = (0, new.max_attempts, new.crash_limit, -1 if new.keep is None else new.keep)
    middle = b"".join(map(pack, (*ends, *_BLANK)))
    behind = b"".join(map(pack, ("", "", reads))) if reads else b""
    return (new.queue, new.priority, head, middle, behind, describe(new), new.payload)
