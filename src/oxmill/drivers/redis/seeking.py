"""Calls about jobs by id: sent where the jobs are, in scripts short enough to hold up nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from oxmill.drivers.redis.script import Call
from oxmill.drivers.redis.space import Space
from oxmill.store.plan import Steps, Together, ask

AT_ONCE: Final = 100
"""Jobs that one script deals with at most, where the caller needs no larger atomic step."""

Part = tuple[int, Sequence[int]]
"""A shard, and the places of the ids that it is asked about."""
Asking = Callable[[int, Sequence[int]], Call]
Reading = Callable[[Any], Sequence[Any]]
"""One answer per id asked about; an empty one if the job is not there."""
Weighing = Callable[[int], int]
"""How many jobs the one at this place counts for in a script; at most `AT_ONCE` go together."""


def _alike(_: int) -> int:
    return 1


def seek(
    space: Space,
    ids: Sequence[str],
    asking: Asking,
    reading: Reading,
    weighing: Weighing = _alike,
) -> Steps[list[Any]]:
    """One answer per id, in order; an empty one where no shard has the job.

    Most jobs live where their id alone puts them. Only what is not there is asked of the others.
    """
    answers: list[Any] = [None] * len(ids)
    yield from _ask(_homes(space, ids, weighing), asking, reading, answers)
    absent = [place for place, answer in enumerate(answers) if not answer]
    if absent and space.shards > 1:
        others = _elsewhere(space, ids, absent, weighing)
        yield from _ask(others, asking, reading, answers)
    return answers


def _homes(space: Space, ids: Sequence[str], weighing: Weighing) -> list[Part]:
    if space.shards == 1 or not ids:  # asked about nobody, a shard still tells its time
        return _cut(0, range(len(ids)), weighing) or [(0, ())]
    homes: dict[int, list[int]] = {}
    for place, each in enumerate(ids):
        homes.setdefault(space.home(each), []).append(place)
    return [part for shard, places in homes.items() for part in _cut(shard, places, weighing)]


def _elsewhere(
    space: Space, ids: Sequence[str], absent: Iterable[int], weighing: Weighing
) -> list[Part]:
    asked = [(place, space.home(ids[place])) for place in absent]
    return [
        part
        for shard in range(space.shards)
        for part in _cut(shard, [place for place, home in asked if home != shard], weighing)
    ]


def _cut(shard: int, places: Sequence[int], weighing: Weighing) -> list[Part]:
    if weighing is _alike:
        return [(shard, places[at : at + AT_ONCE]) for at in range(0, len(places), AT_ONCE)]
    parts: list[tuple[int, list[int]]] = []
    load = AT_ONCE
    for place in places:
        load += weighing(place)
        if load > AT_ONCE:
            parts.append((shard, []))
            load = weighing(place)
        parts[-1][1].append(place)
    return list(parts)


def _ask(
    parts: Sequence[Part], asking: Asking, reading: Reading, answers: list[Any]
) -> Steps[None]:
    replies = yield from ask(Together(tuple(asking(shard, places) for shard, places in parts)))
    for (_, places), reply in zip(parts, replies, strict=True):
        for place, answer in zip(places, reading(reply), strict=True):
            if answer:
                answers[place] = answer
