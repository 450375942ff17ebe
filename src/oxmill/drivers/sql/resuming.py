"""Whether concurrency leaves room for jobs whose holders came back after their leases lapsed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from oxmill.drivers.sql.gates import Slots
from oxmill.drivers.sql.limits import group_slots, load_settings
from oxmill.drivers.sql.rows import Standing, json_text
from oxmill.drivers.sql.steps import Guard, Statement
from oxmill.store.plan import Steps, ask


@dataclass(slots=True)
class Room:
    """What is left of the concurrency of some queues and of groups in them."""

    queues: dict[str, Slots]
    groups: dict[tuple[str, str], Slots]

    def enter(self, job: Standing) -> bool:
        """Let a job run again if there is room for it; whether there was."""
        slots = [self.queues.get(job.queue)]
        if job.group is not None:
            slots.append(self.groups.get((job.queue, job.group)))
        limits = [each for each in slots if each is not None]
        if any(each.running >= each.most for each in limits):
            return False
        for each in limits:
            each.running += 1
        return True


def room_for(jobs: Iterable[Standing]) -> Steps[Room]:
    """The room that there is where these jobs would run."""
    jobs = list(jobs)
    room = Room({}, {})
    if not jobs:
        return room
    settings = yield from load_settings({job.queue for job in jobs})
    limited = sorted(queue for queue, each in settings.items() if each.limits)
    if limited:
        yield from ask(Guard(limited))
    for queue, each in settings.items():
        if each.concurrency is not None:
            asked = {"queues": json_text([queue])}
            ((_, n),) = yield from ask(Statement("running_of_queues", asked))
            room.queues[queue] = Slots(each.concurrency, n)
        most = group_slots(each)
        groups = {job.group for job in jobs if job.queue == queue and job.group is not None}
        if most is not None and groups:
            listed = {"queue": queue, "groups": json_text(sorted(groups))}
            for group, n in (yield from ask(Statement("running_of_groups", listed))):
                room.groups[queue, group] = Slots(most, n)
    return room
