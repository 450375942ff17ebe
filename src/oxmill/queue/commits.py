"""What is to be done once a SQLAlchemy connection has committed.

SQLAlchemy tells of a commit before it happens, and sessions tell of theirs also when an outer
transaction may still be rolled back; of a savepoint it tells before it has a name. What counts is
the return of the connection's own methods, so that is where this stands: in place of two methods of
one connection.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

_COMMIT = "_commit_impl"
_SAVE = "_savepoint_impl"


class Act(Protocol):
    """Something to do after a commit. Never raises: the commit has happened."""

    def run(self) -> None:
        """Do it."""
        ...

    async def arun(self) -> None:
        """Do it without blocking the event loop."""
        ...


def watchable(connection: Any) -> bool:
    """Whether the commit of this connection can be seen: not that of a two-phase transaction."""
    methods = hasattr(connection, _COMMIT) and hasattr(connection, _SAVE)
    return methods and not hasattr(connection.get_transaction(), "prepare")


class Commits:
    """Acts waiting for the commit of one connection. A rollback drops them, and a rollback to a
    savepoint drops those that came since."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._commit: Callable[[], None] = getattr(connection, _COMMIT)
        self._save: Callable[..., str] = getattr(connection, _SAVE)
        self._acts: list[Act] = []
        self._marks: dict[str, int] = {}

    @classmethod
    def of(cls, connection: Any) -> Commits:
        """The acts of this connection, which is watched from now on."""
        watched = vars(connection).get(_COMMIT)
        if isinstance(watched, cls):
            return watched
        commits = cls(connection)
        listen = sys.modules["sqlalchemy"].event.listen
        listen(connection, "rollback_savepoint", commits.restored)
        listen(connection, "rollback", commits.rolled_back)
        setattr(connection, _COMMIT, commits)
        setattr(connection, _SAVE, commits.save)
        return commits

    def add(self, act: Act) -> None:
        """Do this after the commit."""
        self._acts.append(act)

    def __call__(self) -> None:
        """Commit, then act."""
        self._commit()
        acts, self._acts = self._acts, []
        self._marks.clear()
        for act in acts:
            self._perform(act)

    def _perform(self, act: Act) -> None:
        adapted = self._connection.connection.dbapi_connection
        if self._connection.dialect.is_async:
            adapted.run_async(lambda _: act.arun())
        else:
            act.run()

    def save(self, *given: Any) -> str:
        """Make a savepoint, and remember what came before it."""
        name = self._save(*given)
        self._marks[name] = len(self._acts)
        return name

    def restored(self, _connection: Any, name: str, _context: Any) -> None:
        """What came since the savepoint is undone. One that is not known is older than all acts."""
        del self._acts[self._marks.pop(name, 0) :]

    def rolled_back(self, _connection: Any) -> None:
        """Everything is undone."""
        self._acts.clear()
        self._marks.clear()
