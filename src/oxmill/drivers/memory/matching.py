"""Which records a filter matches."""

from __future__ import annotations

from collections.abc import Iterator

from oxmill.drivers.memory.record import Record
from oxmill.drivers.memory.world import World
from oxmill.model.query import Filter


def matching(world: World, wanted: Filter) -> Iterator[Record]:
    """Matching records in order of arrival."""
    if wanted.ids:
        chosen = [world.jobs[i] for i in dict.fromkeys(wanted.ids) if i in world.jobs]
    else:
        chosen = list(world.jobs.values())
    chosen.sort(key=lambda record: record.seq)
    return (record for record in chosen if _matches(record, wanted))


def _matches(record: Record, wanted: Filter) -> bool:
    return (
        (not wanted.queues or record.queue in wanted.queues)
        and (not wanted.tasks or record.task in wanted.tasks)
        and (not wanted.states or record.state in wanted.states)
        and (wanted.group is None or record.group == wanted.group)
        and (wanted.tag is None or wanted.tag in record.tags)
        and (wanted.flow is None or record.flow == wanted.flow)
        and (wanted.since is None or record.enqueued_at >= wanted.since)
        and (wanted.before is None or record.enqueued_at < wanted.before)
        and all(same(record.fields.get(name), value) for name, value in wanted.fields.items())
    )


def same(there: str | int | None, value: str | int) -> bool:
    """Whether a field has this very value: 1 and "1" are two."""
    return type(there) is type(value) and there == value
