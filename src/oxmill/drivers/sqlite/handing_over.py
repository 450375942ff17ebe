"""Next steps of flows that are alike, as those of one pipeline are: one statement makes them all.

What they have in common is bound once. A number and a flow are left of each, which are read from one
JSON object: that costs less than to bind a row of fourteen values, and the interpreter's lock is given
up once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from oxmill.drivers.sql.flow_rows import IN_FLOW
from oxmill.drivers.sql.handing_over import HandedOver, reads_text
from oxmill.drivers.sql.steps import Statement
from oxmill.model.job import JSON, NewJob
from oxmill.model.state import State
from oxmill.store.plan import Steps, ask

Terms = tuple[str, str, str, int, int, int, tuple[str, ...] | None, bytes]
"""What steps have in common: how their ids go on after that of the flow, queue, task, priority, attempts,
crashes, what they read, payload."""

FEW: Final = 4
"""Fewer than so many are made row by row: a statement of their own is not worth it."""

_WAITING: Final = State.WAITING.value
_encode: Final = msgspec.json.Encoder().encode


@dataclass(slots=True)
class AlikeHandedOver(HandedOver):
    """Steps of the usual kind, the next ones made together if they are alike."""

    alike: dict[Terms, list[tuple[int, str, NewJob]]] = field(default_factory=dict)
    """Next steps by what they have in common: number, flow, job."""

    def make(self, flow: str, job: NewJob, seq: int) -> None:
        """A next step begins."""
        # Every usual step comes through here, so whether it is one is written out.
        if (
            job.delay
            or job.headers
            or job.fields
            or job.tags
            or job.run_at is not None
            or job.expires_in is not None
            or job.group is not None
            or job.timeout is not None
            or job.content_type != JSON
            or not job.id.startswith(flow)
        ):
            self._make_alone(flow, job, seq)
            return
        terms = (
            job.id[len(flow) :],
            job.queue,
            job.task,
            job.priority,
            job.max_attempts,
            job.crash_limit,
            job.reads,
            job.payload,
        )
        made = self.alike.get(terms)
        if made is None:
            self.alike[terms] = [(seq, flow, job)]
        else:
            made.append((seq, flow, job))

    def write_new(self) -> Steps[None]:
        """Write down the next steps and that they are part of their flows."""
        for terms, made in self.alike.items():
            if len(made) < FEW:
                for seq, flow, job in made:
                    self._make_alone(flow, job, seq)
                continue
            self.made[terms[1], _WAITING] += len(made)
            flows = _encode({seq: flow for seq, flow, _ in made}).decode()
            yield from ask(Statement("make_steps", self._asked(terms, flows)))
            asked = {"made": flows, "suffix": terms[0], "reads": reads_text(terms[6])}
            yield from ask(Statement("make_nodes", asked))
        # Not by `super`, which a class with slots that is made anew does not find.
        yield from HandedOver.write_new(self)

    def _make_alone(self, flow: str, job: NewJob, seq: int) -> None:
        HandedOver.make(self, flow, job, seq)

    def _asked(self, terms: Terms, flows: str) -> dict[str, Any]:
        suffix, queue, task, priority, max_attempts, crash_limit, reads, payload = terms
        text = reads_text(reads)
        return {
            "made": flows,
            "suffix": suffix,
            "now": self.now,
            "queue": queue,
            "task": task,
            "state": _WAITING,
            "priority": priority,
            "max_attempts": max_attempts,
            "crash_limit": crash_limit,
            "keep": IN_FLOW,
            "more": "}" if text is None else f',"reads":{text}}}',
            "payload": payload,
        }
