"""Which records a filter matches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from oxmill.drivers.memory.record import Record
from oxmill.drivers.memory.world import World
from oxmill.model.fields import Fields, Scalar, values_of
from oxmill.model.query import Filter


def matching(world: World, wanted: Filter) -> Iterator[Record]:
    """Matching records in order of arrival."""
    if wanted.ids:
        chosen = [world.jobs[i] for i in dict.fromkeys(wanted.ids) if i in world.jobs]
    elif wanted.flow is not None:
        chosen = list(world.of_flow.get(wanted.flow, {}).values())
    elif wanted.tasks:
        chosen = [r for task in set(wanted.tasks) for r in world.of_task.get(task, {}).values()]
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
        and has_fields(record.fields, wanted.fields)
    )


def has_fields(there: Fields, wanted: Mapping[str, Scalar]) -> bool:
    """Whether all these fields have, or hold, these very values: 1 and "1" are two."""
    return all(
        any(type(each) is type(value) and each == value for each in values_of(there.get(name, ())))
        for name, value in wanted.items()
    )
