"""How a worker works. Every field has a default that is safe in production."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypedDict, Unpack

from oxmill.errors import BadConfig
from oxmill.model.bounds import DEFAULT_BOUNDS
from oxmill.model.settings import SECOND
from oxmill.model.value import Micros, Value
from oxmill.rules.duration import Duration, micros

LoopKind = Literal["auto", "asyncio", "uvloop"]

SHORTEST_LEASE: Final[Micros] = SECOND // 5
LONGEST_LEASE: Final[Micros] = DEFAULT_BOUNDS.lease
LONGEST_NAME: Final = 100


class WorkerConfig(Value, frozen=True):
    """Checked once, when it is made. Times are in microseconds, sizes in bytes."""

    queues: tuple[str, ...] = ()
    """Queues to claim from; empty means those that the registered tasks use."""
    slots: int = 20
    """Jobs that may run at once in this process."""
    lease: Micros = 60 * SECOND
    """How long a job is held without a renewal. A crashed worker's jobs start again after this."""
    grace: Micros = 25 * SECOND
    """How long running jobs may go on after a stop; what is left is released, not failed."""
    drain: bool = False
    """Stop when nothing can start now: what still waits is due later, or behind a gate."""
    max_jobs: int | None = None
    """Stop, to be started afresh, after this many jobs."""
    max_rss: int | None = None
    """Stop, to be started afresh, when the process holds more memory than this."""
    name: str = ""
    """Shown to people instead of the host's name."""
    loop: LoopKind = "auto"
    """`auto` takes uvloop where it is installed."""
    scheduler: bool = True
    """Whether this worker also fires schedules. Any number may: a tick makes one job."""
    sweep_every: Micros = 5 * SECOND
    """How often to look after jobs that nobody claims."""
    prune_every: Micros = 60 * SECOND
    """How often to delete jobs past their retention."""
    beat_every: Micros = 5 * SECOND
    """How often the worker says that it is there, and learns what people ask of it."""
    poll_least: Micros = SECOND // 20
    """Without a doorbell: work that arrives while the worker is idle is found within this time,
    as long as a look costs the store next to nothing."""
    poll_most: Micros = SECOND
    """The longest time between two looks, whatever a look costs and however well a doorbell works."""
    patience: Micros = 5 * SECOND
    """How long a run that was told to stop may take before its stack is logged."""
    child_jobs: int = 1_000
    """Jobs that a child process (`pool="process"`) runs before a new one takes its place."""
    child_memory: int | None = None
    """Memory that one child process may use; more raises `MemoryError` in the task."""
    allow: tuple[str, ...] = ()
    """Findings of the doctor, by name, in spite of which the worker may work."""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        _at_least("slots", self.slots, 1)
        _at_least("child_jobs", self.child_jobs, 1)
        for name in ("max_jobs", "max_rss", "child_memory"):
            if getattr(self, name) is not None:
                _at_least(name, getattr(self, name), 1)
        if not SHORTEST_LEASE <= self.lease <= LONGEST_LEASE:
            raise BadConfig(
                f"a lease of {self.lease / SECOND:g} s is out of range; use "
                f"{SHORTEST_LEASE / SECOND:g} s to {LONGEST_LEASE / SECOND:g} s"
            )
        _at_least("grace", self.grace, 0)
        for name in ("sweep_every", "prune_every", "beat_every", "poll_least", "patience"):
            _at_least(name, getattr(self, name), 1_000)
        if self.poll_most < self.poll_least:
            raise BadConfig("poll_most is shorter than poll_least")
        if self.loop not in ("auto", "asyncio", "uvloop"):
            raise BadConfig(f"loop={self.loop!r} is not one of auto, asyncio, uvloop")
        if len(self.name) > LONGEST_NAME or not (self.name.isprintable() and self.name.isascii()):
            raise BadConfig(
                f"name={self.name[:40]!r} is no name for a worker; use at most {LONGEST_NAME} "
                f"printable ASCII characters"
            )
        if len(set(self.queues)) != len(self.queues):
            raise BadConfig(f"a queue is named twice in {', '.join(self.queues)}")

    @property
    def margin(self) -> Micros:
        """A run is told to stop this long before its lease ends unrenewed, so that it can."""
        return min(self.lease // 10, 5 * SECOND)


class WorkerOptions(TypedDict, total=False):
    """The same as people write it: times as `"25s"`, sizes as `"512MB"`."""

    queues: Sequence[str]
    slots: int
    lease: Duration
    grace: Duration
    drain: bool
    max_jobs: int | None
    max_rss: int | str | None
    name: str
    loop: LoopKind
    scheduler: bool
    sweep_every: Duration
    prune_every: Duration
    beat_every: Duration
    poll_least: Duration
    poll_most: Duration
    patience: Duration
    child_jobs: int
    child_memory: int | str | None
    allow: Sequence[str]


def worker_config(**options: Unpack[WorkerOptions]) -> WorkerConfig:
    """The configuration that these options mean; what is left out keeps its default."""
    return read_config(options)


def read_config(options: Mapping[str, Any]) -> WorkerConfig:
    """The same for options from a file or a command line."""
    known = WorkerConfig.__struct_fields__
    for name in options:
        if name not in known:
            from difflib import get_close_matches  # noqa: PLC0415 - idle workers do without

            near = get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; use {', '.join(known)}"
            raise BadConfig(f"there is no worker option {name!r}{hint}")
    return WorkerConfig(**{name: _read(name, value) for name, value in options.items()})


def _read(name: str, value: Any) -> Any:
    if name in _TIMES:
        return micros(value)
    if name in ("queues", "allow"):
        if isinstance(value, str):
            raise BadConfig(f"{name}={value!r} is one text; write {name}=[{value!r}]")
        return tuple(value)
    return size(value) if name in _SIZES and value is not None else value


_TIMES: Final = frozenset(
    {
        "lease",
        "grace",
        "sweep_every",
        "prune_every",
        "beat_every",
        "poll_least",
        "poll_most",
        "patience",
    }
)
_SIZES: Final = frozenset({"max_rss", "child_memory"})
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)


def size(written: int | str) -> int:
    """Bytes: a number, or text such as `512MB` or `2g`; a kilobyte has 1024 bytes."""
    if isinstance(written, int):
        return written
    match = _SIZE.fullmatch(written.strip())
    if match is None:
        raise BadConfig(f"{written!r} is not a size; write bytes, or text such as '512MB'")
    return round(float(match[1]) * (1 << 10 * " kmgt".index(match[2].lower() or " ")))


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise BadConfig(f"{name}={value} is too small; use at least {least}")
