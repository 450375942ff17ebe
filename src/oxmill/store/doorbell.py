"""Hints that there may be something to do. They may be lost or doubled without harm."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, Self

CONTROL = "control"
"""Rung when running jobs are asked to stop or a worker is given a command."""

SWEEP = "sweep"
"""Rung when a step has left something behind that a sweep goes on with."""


def work(queue: str) -> str:
    """The topic rung when a queue may have gained waiting jobs."""
    return f"work:{queue}"


def ended(name: str) -> str:
    """The topic rung when the job or the flow of this id has ended."""
    return f"ended:{name}"


ENDS = ended("")
"""Stands for ends of too many jobs to be named. Nobody has an empty id."""


def is_end(topic: str) -> bool:
    """Whether a topic is one of `ended`."""
    return topic.startswith(ENDS)


def in_short(topics: Iterable[str]) -> list[str]:
    """The same ring in few words: all ends are one. Of the topics of a busy worker most are ends; to ring for
    everybody instead would give work to workers that have nothing to do with them."""
    return [ENDS, *(topic for topic in topics if not is_end(topic))]


class Bell(Protocol):
    """One listener. It remembers a ring until the next wait, so nothing is missed in between.

    Look first, then wait: a ring that came during the look ends the wait at once.
    """

    def wait(self, timeout: float) -> bool:
        """Block until rung or `timeout` seconds have passed; whether it was rung."""
        ...

    async def arrive(self, timeout: float) -> bool:
        """The same without blocking the event loop."""
        ...

    def tell(self, on_ring: Callable[[], None]) -> None:
        """From now on call this in this event loop at every ring, without a task that would wait for its turn;
        nobody waits for this bell then. A ring that came before counts."""
        ...

    def close(self) -> None:
        """Stop listening."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...


class Doorbell(Protocol):
    """Carries hints within a process and, where the store can, between processes."""

    def listened(self) -> bool:
        """Whether anyone may listen; if not, there is no need to ring."""
        ...

    def ring(self, topics: Iterable[str]) -> None:
        """Wake whoever listens to one of the topics. Never blocks for long, never raises."""
        ...

    def listen(self, topics: Iterable[str]) -> Bell:
        """A bell for these topics. It may also ring for others."""
        ...

    def attend(self, topics: Iterable[str]) -> Bell:
        """The same for somebody in this event loop and nowhere else. It may ring once at the start, when
        the store has begun to listen."""
        ...

    def close(self) -> None:
        """Let go of sockets and threads; bells still open only time out."""
        ...
