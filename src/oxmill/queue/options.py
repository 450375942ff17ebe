"""Options of a task and of a call: as people write them, and as the code uses them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypedDict

from msgspec.structs import replace

from oxmill.errors import BadConfig
from oxmill.model.fields import FieldValue, as_fields
from oxmill.model.outcome import Retry
from oxmill.model.value import Micros, Value
from oxmill.rules.backoff import check_policy
from oxmill.rules.duration import Duration, micros, moment
from oxmill.rules.unique import Unique, as_unique

Pool = Literal["auto", "thread", "process"]
Extra = Literal["refuse", "ignore"]

DEFAULT_QUEUE = "default"
DEFAULT_ATTEMPTS = 20


class Defaults(TypedDict, total=False):
    """Options that an app, a task or a single call may set; the nearest one counts."""

    queue: str
    priority: int
    """Smaller runs first; the default is 0."""
    delay: Duration
    expires: Duration
    """If it has not started this long after the enqueue it ends as cancelled."""
    retry: Retry | int | None
    """A policy, a number of attempts in all, or `None` for a single attempt."""
    timeout: Duration | None
    unique: Unique | str | bool
    group: str
    """A tenant or an upstream, which limits and fairness work on."""
    fields: Mapping[str, str | int | Sequence[str | int]]
    """Business attributes to search by; a list is found by each of its values."""
    tags: Sequence[str]
    headers: Mapping[str, str]
    keep: Duration | None
    """How long to keep the job once it has ended; 0 deletes it at its end."""
    crash_limit: int


class Declared(Defaults, total=False):
    """Options of `@app.task`."""

    name: str
    aliases: Sequence[str]
    """Former names, under which jobs may still be waiting."""
    pool: Pool
    """Where it runs: coroutines on the loop and functions in threads, or in child processes."""
    extra: Extra
    """What to do at a run about stored arguments that the function does not have any more."""


class Options(Defaults, total=False):
    """Options of `task.using(...)`."""

    run_at: datetime
    """An aware time; takes the place of a delay."""
    id: str
    """The job's id. Enqueueing the same id again makes nothing new."""
    connection: Any
    """Enqueue in the open transaction of this connection or session: rolled back, never there."""


class TaskOptions(Value, frozen=True):
    """Options, checked and complete. Times are in microseconds."""

    queue: str = DEFAULT_QUEUE
    priority: int | None = None
    """`None` if nobody has said it: 0, or that of the job that spawns it."""
    delay: Micros = 0
    run_at: Micros | None = None
    expires: Micros | None = None
    retry: Retry = Retry(DEFAULT_ATTEMPTS)
    timeout: Micros | None = None
    unique: Unique | None = None
    group: str | None = None
    fields: Mapping[str, FieldValue] = {}
    tags: tuple[str, ...] = ()
    headers: Mapping[str, str] = {}
    keep: Micros | None = None
    crash_limit: int = 3
    id: str | None = None
    connection: Any = None
    pool: Pool = "auto"
    extra: Extra = "refuse"

    @property
    def max_attempts(self) -> int:
        """Runs that may end in an exception."""
        return self.retry.max_attempts or DEFAULT_ATTEMPTS


class Declaration(Value, frozen=True):
    """What `@app.task` was told."""

    name: str | None = None
    aliases: tuple[str, ...] = ()
    takes_context: bool = False
    options: TaskOptions = TaskOptions()


def declaration(
    defaults: TaskOptions, given: Mapping[str, Any], *, takes_context: bool = False
) -> Declaration:
    """The arguments of `@app.task` over the app's defaults."""
    rest = dict(given)
    return Declaration(
        name=rest.pop("name", None),
        aliases=_texts(rest.pop("aliases", ())),
        takes_context=takes_context,
        options=with_options(defaults, rest),
    )


def with_options(options: TaskOptions, given: Mapping[str, Any]) -> TaskOptions:
    """The options with those given put in their place."""
    changed: dict[str, Any] = {}
    for name, value in given.items():
        reader = _READERS.get(name)
        if reader is None:
            known = ", ".join(sorted(_READERS))
            raise BadConfig(f"there is no option {name!r}; the options are {known}")
        changed[name] = reader(value)
    if "delay" in changed and "run_at" not in changed:
        changed["run_at"] = None
    return replace(options, **changed)


def _retry(given: Retry | int | None) -> Retry:
    if isinstance(given, bool):
        raise BadConfig(f"retry={given} is not a number of attempts; use None for a single one")
    if given is not None and not isinstance(given, Retry | int):
        raise BadConfig(f"retry={given!r} is not a policy; use Retry(...) or a number of attempts")
    policy = given if isinstance(given, Retry) else Retry(1 if given is None else given)
    check_policy(policy)
    return policy


def _span(given: Duration | None) -> Micros | None:
    return None if given is None else micros(given)


def _text(given: str) -> str:
    if not isinstance(given, str):
        raise BadConfig(f"{given!r} is not text")
    return given


def _as_is(given: Any) -> Any:
    return given


def _texts(given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        raise BadConfig(f"{given!r} is one text; write [{given!r}]")
    try:
        return tuple(_text(each) for each in given)
    except TypeError:
        raise BadConfig(f"{given!r} is not a list of texts") from None


def _by_name(given: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise BadConfig(f"{given!r} is not a mapping of names to values; write {{'name': 'value'}}")
    return {_text(name): value for name, value in given.items()}


def _fields(given: Mapping[str, Any]) -> dict[str, Any]:
    return as_fields(_by_name(given))


def _headers(given: Mapping[str, str]) -> dict[str, str]:
    return {name: _text(value) for name, value in _by_name(given).items()}


def _id(given: str) -> str:
    if not _text(given):
        raise BadConfig("the id is empty; leave it out to be given a new one")
    return given


def _number(given: int) -> int:
    if not isinstance(given, int) or isinstance(given, bool):
        raise BadConfig(f"{given!r} is not a whole number")
    return given


def _word(*words: str) -> Any:
    def read(given: str) -> str:
        if given not in words:
            raise BadConfig(f"{given!r} is not one of {', '.join(words)}")
        return given

    return read


_READERS: dict[str, Any] = {
    "queue": _text,
    "priority": _number,
    "delay": micros,
    "run_at": moment,
    "expires": _span,
    "retry": _retry,
    "timeout": _span,
    "unique": as_unique,
    "group": _text,
    "fields": _fields,
    "tags": _texts,
    "headers": _headers,
    "keep": _span,
    "crash_limit": _number,
    "id": _id,
    "connection": _as_is,
    "pool": _word("auto", "thread", "process"),
    "extra": _word("refuse", "ignore"),
}
