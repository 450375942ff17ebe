"""What opens when rules and settings change: the next claim looks again, and closes it if it must."""

from __future__ import annotations

from collections.abc import Iterable

from oxmill.drivers.sql.gates import job_gate
from oxmill.drivers.sql.rows import json_text
from oxmill.drivers.sql.steps import Statement
from oxmill.model.rule import RuleKey, Scope
from oxmill.store.plan import Steps, ask


def look_again(keys: Iterable[RuleKey]) -> Steps[None]:
    """What these rules may have closed, or may close no longer, is looked at again."""
    keys = list(keys)
    groups = list(dict.fromkeys(key.target for key in keys if key.scope is Scope.GROUP))
    gates = [job_gate(key) for key in keys if key.scope in (Scope.TASK, Scope.FIELD)]
    if groups:
        yield from ask(Statement("open_groups", {"groups": json_text(groups)}))
    if gates:
        yield from ask(Statement("open_behind"))
        yield from ask(Statement("open_asides", {"gates": json_text(gates)}))


def rules_ended(keys: Iterable[RuleKey]) -> Steps[list[str]]:
    """These rules hold no longer. The queues in which jobs may start because of it."""
    keys = list(keys)
    yield from look_again(keys)
    opened: dict[str, None] = {}
    for key in keys:
        match key.scope:
            case Scope.QUEUE:
                opened[key.target] = None
            case Scope.GROUP:
                asked = {"group_name": key.target}
                rows = yield from ask(Statement("queues_of_group", asked))
                opened.update((queue, None) for (queue,) in rows)
            case _:
                rows = yield from ask(Statement("queues_behind", {"gate": job_gate(key)}))
                opened.update((queue, None) for (queue,) in rows)
    return list(opened)


def open_queue(queue: str) -> Steps[None]:
    """The settings of this queue have changed: all its lanes and gates are looked at again."""
    yield from ask(Statement("open_queue", {"queue": queue}))
    yield from ask(Statement("open_queue_asides", {"queue": queue}))
