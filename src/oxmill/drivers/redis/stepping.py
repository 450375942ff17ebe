"""Steps of pipelines as the short way of a settlement takes them."""

from __future__ import annotations

from typing import Any, Final

from oxmill.drivers.redis.record import ASIDE_BYTES, code_of, describe, pack, pack_id, reads_text
from oxmill.model.flow import FlowStep
from oxmill.model.job import NewJob
from oxmill.model.state import State

StepForms = dict[tuple[Any, ...], tuple[bytes, bytes, bytes, bytes]]
"""What the jobs of one step share: what stands in their records before the time of enqueue, between that and
the flow, and behind the flow, and their description."""

_MOST_FIELDS: Final = 50
_BLANK: Final = (0, "", 0, -1, "", 0, 0, 0, 0, "", "", 0, 0, 0, 0, "", 0, 0, 0, "", 0)
"""The places of a standing from the expiry to the request to stop, of a job that only waits."""
_WITH_FLOW, _WITH_READS = 30, 33
"""How many places a standing has that ends with the flow, or with the fields it reads."""
_NO_STEP: Final = (b"",)


def short_step(step: FlowStep | None, forms: StepForms) -> tuple[Any, ...] | None:
    """What a completion hands on, as settle.lua describes it; `None` if it does more."""
    if step is None:
        return _NO_STEP
    if step.resume is not None or step.publish is not None or step.spawn:
        return None
    if len(step.then) > 1 or len(step.merge) > _MOST_FIELDS:
        return None
    args: list[Any] = [b"%c%c" % (len(step.merge), len(step.then))]
    for field in step.merge.items():
        args += field
    if step.then:
        new = step.then[0]
        if not _plain(new):
            return None
        args += (new.flow, new.queue, new.priority, *_record(new, forms))
    return tuple(args)


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


def _record(new: NewJob, forms: StepForms) -> tuple[bytes, bytes]:
    """Its record up to the time of enqueue, and after it."""
    if new.tags or new.headers:
        form = _form(new)
    else:
        kind = (
            *(new.queue, new.task, new.priority, new.keep, new.timeout, new.max_attempts),
            *(new.crash_limit, new.content_type, new.reads),
        )
        known = forms.get(kind)
        form = known if known is not None else forms.setdefault(kind, _form(new))
    head, middle, behind, about = form
    packed, flow = pack_id(new.id), pack(new.flow)
    size = len(head) + 8 + len(middle) + len(flow) + len(behind)
    sizes = size.to_bytes(3) + len(about).to_bytes(3)
    return (
        b"%c%b%b%b" % (len(packed), sizes, packed, head),
        b"%b%b%b%b%b" % (middle, flow, behind, about, new.payload),
    )


def _form(new: NewJob) -> tuple[bytes, bytes, bytes, bytes]:
    reads = reads_text(new.reads)
    fixed = b"".join(map(pack, (code_of(State.WAITING), new.queue, new.priority)))
    head = b"\xdc\x00%c%b\xcf" % (_WITH_READS if reads else _WITH_FLOW, fixed)
    ends = (0, new.max_attempts, new.crash_limit, -1 if new.keep is None else new.keep)
    behind = b"".join(map(pack, ("", "", reads))) if reads else b""
    return head, b"".join(map(pack, (*ends, *_BLANK))), behind, describe(new)
