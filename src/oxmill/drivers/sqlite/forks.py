"""Lets what holds locks, threads and connections step aside while the process forks."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Protocol, TypeVar


class Forkable(Protocol):
    """Something that must not be carried into a child as it is."""

    def before_fork(self) -> None:
        """Let go of everything that a child must not inherit, and let nobody take it again."""
        ...

    def after_fork_in_parent(self) -> None:
        """Go on."""
        ...

    def after_fork_in_child(self) -> None:
        """Start anew."""
        ...


F = TypeVar("F", bound=Forkable)


def watch_forks(subject: Forkable) -> None:
    """Tell the subject of every fork for as long as it lives."""
    if not hasattr(os, "register_at_fork"):
        return
    kind = type(subject)
    alive = weakref.ref(subject)

    def told(step: Callable[[F], None]) -> Callable[[], None]:
        def act() -> None:
            there = alive()
            if there is not None:
                step(there)  # type: ignore[arg-type]

        return act

    os.register_at_fork(
        before=told(kind.before_fork),
        after_in_parent=told(kind.after_fork_in_parent),
        after_in_child=told(kind.after_fork_in_child),
    )
