"""What a worker and its child processes tell each other over a pipe."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import IO, Final

import msgspec
from msgspec.structs import asdict

from oxmill.model.flow import FlowStep, Join
from oxmill.model.job import LeasedJob, NewJob
from oxmill.model.rule import Scope
from oxmill.model.settlement import Failure, Outcome, Settlement
from oxmill.model.value import Micros, Value
from oxmill.queue.inputs import Input

_LENGTH: Final = struct.Struct(">I")


class Hello(Value, frozen=True, tag=True):
    """To a new child: where the tasks are, and what it may use."""

    app: str
    """`module:name` of the app."""
    path: tuple[str, ...]
    """The import path of the worker."""
    memory: int | None = None


class Start(Value, frozen=True, tag=True):
    """To the child: run this job."""

    job: LeasedJob
    inputs: Mapping[str, Input] = {}
    """The jobs that it has waited for, as far as it needs them."""


class Ready(Value, frozen=True, tag=True):
    """From the child: the app is imported."""


class Broken(Value, frozen=True, tag=True):
    """From the child: the app cannot be imported."""

    error: Failure


class Saved(Value, frozen=True, tag=True):
    """From the child: progress to store with the next renewal."""

    progress: bytes


class Completing(Value, frozen=True, tag=True):
    """From the child: the run has completed its job in a transaction of its own."""


class Advance(Value, frozen=True):
    """A step of a flow as it goes over the pipe, where its types must be known one by one."""

    merge: Mapping[str, bytes]
    then: tuple[NewJob, ...]
    spawn: tuple[NewJob, ...]
    publish: str | None
    join: Join
    resume: str | None


class Ended(Value, frozen=True, tag=True):
    """From the child: how the run ended."""

    outcome: Outcome
    result: bytes | None = None
    error: Failure | None = None
    delay: Micros = 0
    reason: str | None = None
    closes: Scope | None = None
    flow: Advance | None = None

    @classmethod
    def of(cls, settlement: Settlement) -> Ended:
        """The part of a settlement that the worker does not know itself."""
        return cls(
            outcome=settlement.outcome,
            result=settlement.result,
            error=settlement.error,
            delay=settlement.delay,
            reason=settlement.reason,
            closes=settlement.closes,
            flow=None if settlement.flow is None else Advance(**asdict(settlement.flow)),
        )

    def settlement(self, job: LeasedJob) -> Settlement:
        """What the store is told about this job."""
        return Settlement(
            id=job.id,
            token=job.token,
            outcome=self.outcome,
            result=self.result,
            error=self.error,
            delay=self.delay,
            reason=self.reason,
            closes=self.closes,
            flow=None if self.flow is None else FlowStep(**asdict(self.flow)),
        )


Message = Hello | Start | Ready | Broken | Saved | Completing | Ended

_ENCODE: Final = msgspec.msgpack.Encoder().encode
_DECODE: Final = msgspec.msgpack.Decoder(Message).decode


def send(pipe: IO[bytes], message: Message) -> None:
    """Write one message: its length, then itself."""
    data = _ENCODE(message)
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Message | None:
    """Read one message; `None` when the other side has gone."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = pipe.read(length)
    return _DECODE(data) if len(data) == length else None
