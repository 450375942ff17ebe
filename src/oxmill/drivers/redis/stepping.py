"""Steps of pipelines as the short way of a settlement takes them."""

from __future__ import annotations

from typing import Any, Final

from oxmill.drivers.redis.record import ASIDE_BYTES, code_of, describe, pack, pack_id, reads_text
from oxmill.model.flow import FlowStep
from oxmill.model.job import NewJob
from oxmill.model.settlement import Settlement
from oxmill.model.state import State
from oxmill.model.token import Token
from oxmill.store.flow_admission import hands_over, is_like

Form = tuple[str, int, bytes, bytes, bytes, bytes, bytes]
"""What the next steps of one kind share: queue, priority, their standing up to the time of enqueue, then up to
the flow, then behind it, their description, their payload."""
StepForms = dict[tuple[Any, ...], Form]
Kind = tuple[Token, str, int, tuple[str, ...]]
"""What completions of one kind share: the token, the letter of the result, the form of the next step, the names of
the fields that are merged."""

_MOST_FIELDS: Final = 50
_REMEMBERED: Final = 1_024
"""Bytes of a payload up to which a form is kept for the next call: steps carry their way, which is short."""
_BLANK: Final = (0, "", 0, -1, "", 0, 0, 0, 0, "", "", 0, 0, 0, 0, "", 0, 0, 0, "", 0)
"""The places of a standing from the expiry to the request to stop, of a job that only waits."""
_WITH_FLOW, _WITH_READS = 30, 33
"""How many places a standing has that ends with the flow, or with the fields it reads."""
_NO_STEP, _NO_NEXT = -1, 0
_NOTHING: Final = FlowStep()


class ShortSteps:
    """Completions with what they hand on, as settle.lua takes them: what several have in common, then each."""

    __slots__ = ("_form", "_forms", "_items", "_kinds", "_known", "_last")

    def __init__(self, known: StepForms) -> None:
        self._known = known
        self._forms: dict[Form, int] = {}
        self._kinds: dict[Kind, int] = {}
        self._items: list[Any] = []
        self._last: NewJob | None = None
        """The next step looked at last, which is plain, and its form: most others are like it."""
        self._form = _NO_NEXT

    def add(self, item: Settlement) -> bool:
        """Whether the short way takes this completion."""
        step, result, form = item.flow or _NOTHING, item.result, _NO_STEP
        if not hands_over(step) or len(step.merge) > _MOST_FIELDS:
            return False
        new = step.then[0] if step.then else None
        if new is not None:
            if (self._last is None or not is_like(new, self._last)) and not self._take_form(new):
                return False
            form = self._form
        elif item.flow is not None:
            form = _NO_NEXT
        letter = "" if result is None else "n" if result == b"null" else "r"
        kind = (item.token, letter, form, tuple(step.merge))
        self._items += (pack_id(item.id), self._kinds.setdefault(kind, len(self._kinds) + 1))
        if letter == "r":
            self._items.append(result)
        self._items += step.merge.values()
        if new is not None:
            self._items.append(pack_id(new.id))
        return True

    def args(self) -> list[Any]:
        """Of all that were added."""
        args: list[Any] = [len(self._forms), *(part for form in self._forms for part in form)]
        args.append(len(self._kinds))
        for token, letter, form, names in self._kinds:
            args += (_terms_text(token, letter), form, len(names), *names)
        return args + self._items

    def _take_form(self, new: NewJob) -> bool:
        if not _plain(new):
            return False
        self._last = new
        self._form = self._forms.setdefault(_form_of(new, self._known), len(self._forms) + 1)
        return True


def _terms_text(token: Token, letter: str) -> str:
    """How a lease ends: n for a result of null, r for another, nothing for none."""
    return f"{token.attempt} {token.nonce:x} {letter}"


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
