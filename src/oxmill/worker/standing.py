"""How the queues of a worker stand when it starts and when it has drained, for people to know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from oxmill.model.info import QueueInfo, Queues
from oxmill.model.settings import QueueSettings
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.observe.events import LeftBehind, QueueUnused
from oxmill.rules.duration import spell


def unused_queues(
    named: Sequence[str], used: Sequence[str], seen: Iterable[QueueInfo]
) -> Iterator[QueueUnused]:
    """The queues among those named that no task uses and that the store has never heard of. One with
    settings or rules is expected to get jobs: somebody has prepared it."""
    known = {*used, *(info.name for info in seen if _in_use(info))}
    for queue in named:
        if queue not in known:
            from difflib import get_close_matches  # noqa: PLC0415 - idle workers do without

            yield QueueUnused(queue=queue, near=tuple(get_close_matches(queue, used)))


def _in_use(info: QueueInfo) -> bool:
    prepared = info.rules or info.settings != QueueSettings()
    return bool(info.counts or info.totals or prepared)


def left_behind(seen: Queues) -> Iterator[LeftBehind]:
    """What a drain leaves in each queue that is not empty, and which gates may be before it."""
    elsewhere = [f"{rule.kind} on {rule.key.title}" for rule in seen.rules]
    for info in seen.items:
        waiting, *others = (
            info.counts.get(state, 0)
            for state in (State.WAITING, State.SCHEDULED, State.HELD, State.RUNNING)
        )
        if not (waiting or any(others)):
            continue
        scheduled, held, running = others
        yield LeftBehind(
            queue=info.name,
            waiting=waiting,
            scheduled=scheduled,
            held=held,
            running=running,
            gates=(*_gates(info, seen.now), *elsewhere) if waiting else (),
        )


def _gates(info: QueueInfo, now: Micros) -> Iterator[str]:
    for rule in info.rules:
        yield f"{rule.kind} on {rule.key.title}"
    if info.settings.summary:
        yield f"limits {info.settings.summary}"
    opens = max((gate.opens_at or 0 for gate in info.gates if gate.group is None), default=0)
    if opens > now:
        yield f"opens in {spell(opens - now)}"
