"""Which calls count as the same job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from oxmill.errors import BadArguments, BadInput, BadName
from oxmill.model.bounds import DEFAULT_BOUNDS
from oxmill.model.unique import OnConflict, UniqueKey, Until
from oxmill.rules.duration import Duration, micros


@dataclass(frozen=True, slots=True)
class Unique:
    """At most one live job per key.

    `key` is text, or a function that makes it from the task's arguments. Without it the key is
    the task's name with all arguments, or with those named by `fields`. Keys are compared in full.

    The key is held until the job has *finished* or only until it has *started*; with `within` also
    for that long after the enqueue, even when the job has ended.

    `on_conflict`: *skip* makes nothing and gives the job that holds the key (`job.created` is
    false); *raise* raises `DuplicateJob`; *replace* gives the holder the new content; *rerun* lets
    one more run follow if the holder has started, with the arguments of the first such call (with
    *replace*: of the last).
    """

    key: str | Callable[..., str] | None = None
    _: KW_ONLY
    fields: Iterable[str] = ()
    within: Duration | None = None
    until: Literal["started", "finished"] = "finished"
    on_conflict: Literal["skip", "raise", "replace", "rerun"] = "skip"

    def __post_init__(self) -> None:
        """Refuse what cannot be meant, where it is written."""
        fields = (self.fields,) if isinstance(self.fields, str) else tuple(self.fields)
        object.__setattr__(self, "fields", fields)
        if self.key is not None and fields:
            raise BadInput("Unique takes a key or the fields to make one of, not both")
        for name, value, words in (
            ("until", self.until, Until),
            ("on_conflict", self.on_conflict, OnConflict),
        ):
            if value not in tuple(words):
                raise BadInput(f"Unique({name}={value!r}): use one of {', '.join(words)}")
        if self.within is not None:
            micros(self.within)


def as_unique(given: Unique | str | bool) -> Unique | None:
    """`True` is unique by all arguments, text is the key itself, `False` lifts uniqueness."""
    if isinstance(given, Unique):
        return given
    if isinstance(given, str):
        return Unique(given)
    return Unique() if given else None


def given_key(
    unique: Unique, task: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> str | None:
    """The key that the caller wrote or whose function makes it; `None` if the arguments are it."""
    if unique.key is None or isinstance(unique.key, str):
        return unique.key
    made: object = unique.key(*args, **kwargs)
    if not isinstance(made, str):
        raise BadArguments(f"{task}: the function given as Unique key returned {made!r}, not text")
    return made


def argument_key(
    unique: Unique, task: str, arguments: Mapping[str, Any], encode: Callable[[Any], bytes]
) -> str:
    """The task's name with its arguments, defaults included, in canonical JSON."""
    if unique.fields:
        missing = [name for name in unique.fields if name not in arguments]
        if missing:
            raise BadArguments(
                f"{task}: Unique(fields=...) names {', '.join(missing)}, which the call lacks"
            )
        arguments = {name: arguments[name] for name in unique.fields}
    text = f"{task}{encode(arguments).decode()}"
    limit = DEFAULT_BOUNDS.key_bytes
    if len(text) > limit or len(text.encode()) > limit:
        raise BadName(
            f"{task}: the unique key made of the arguments takes {len(text.encode()):,} bytes; the "
            f"limit is {limit:,}. Give Unique(fields=[...]) or Unique(key=...)"
        )
    return text


def unique_key(unique: Unique, text: str) -> UniqueKey:
    """The key with its terms, as the store takes it."""
    return UniqueKey(
        key=text,
        until=Until(unique.until),
        within=None if unique.within is None else micros(unique.within),
        on_conflict=OnConflict(unique.on_conflict),
    )
