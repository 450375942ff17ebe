"""Who a connection belongs to: a plain client library, SQLAlchemy or Django. Neither is imported."""

from __future__ import annotations

from typing import Any, Final, Protocol, TypeVar

from oxmill.errors import NoTransaction, OtherDatabase, WrongContext
from oxmill.queue.commits import Act, Commits, watchable
from oxmill.store.borrowing import Borrowing
from oxmill.store.plan import Plan

T = TypeVar("T")

ASYNC: Final = frozenset({"AsyncSession", "async_scoped_session", "AsyncConnection"})
_SESSIONS: Final = frozenset({"Session", "scoped_session"})


class Owner(Protocol):
    """The owner of a transaction, from blocking code."""

    @property
    def tells(self) -> bool:
        """Whether it tells when it commits."""
        ...

    def run(self, borrowing: Borrowing | None, plan: Plan[T]) -> T:
        """Perform a plan in the open transaction; `OtherDatabase` if that is not the store's."""
        ...

    def after_commit(self, act: Act) -> None:
        """Do this once the transaction is committed, unless it is rolled back."""
        ...


def owner_of(connection: Any) -> Owner:
    """The owner of what the caller gave as `connection`."""
    names = alchemy_names(connection)
    if names & ASYNC:
        raise WrongContext(
            f"{type(connection).__name__} cannot be used by a blocking call; use the async form, "
            f"such as `await task.using(connection=...).aenqueue(...)`"
        )
    if names & _SESSIONS:
        return AlchemyOwner(connection.connection())
    if "Connection" in names:
        return AlchemyOwner(connection)
    if hasattr(connection, "settings_dict") and hasattr(connection, "on_commit"):
        return DjangoOwner(connection)
    return PlainOwner(connection)


def alchemy_names(connection: Any) -> set[str]:
    """Which of SQLAlchemy's classes it is an instance of."""
    return {
        kind.__name__
        for kind in type(connection).__mro__
        if kind.__module__.partition(".")[0] == "sqlalchemy"
    }


class PlainOwner:
    """A connection as its client library made it. Nobody is told when it commits."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @property
    def tells(self) -> bool:
        """No."""
        return False

    def run(self, borrowing: Borrowing | None, plan: Plan[T]) -> T:
        """Perform a plan in the open transaction."""
        return known(borrowing, self._connection).run(self._connection, plan, ring=True)

    def after_commit(self, act: Act) -> None:
        """Never called."""


class AlchemyOwner:
    """A SQLAlchemy connection, blocking, or async inside `run_sync`."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @property
    def tells(self) -> bool:
        """Yes, if its transaction is one that can be followed."""
        return watchable(self._connection)

    def run(self, borrowing: Borrowing | None, plan: Plan[T]) -> T:
        """Perform a plan in the open transaction, or in one begun as SQLAlchemy itself would."""
        if not self._connection.in_transaction():
            self._begin()
        try:
            return self._run(borrowing, plan)
        except NoTransaction:
            # Some of its drivers begin with the first statement that goes through SQLAlchemy.
            self._begin()
            return self._run(borrowing, plan)

    def _begin(self) -> None:
        self._connection.exec_driver_sql("SELECT 1").close()

    def _run(self, borrowing: Borrowing | None, plan: Plan[T]) -> T:
        adapted = self._connection.connection
        raw = adapted.driver_connection
        able = known(borrowing, raw)
        if not self._connection.dialect.is_async:
            return able.run(raw, plan, ring=False)
        answer: T = adapted.dbapi_connection.run_async(
            lambda inner: able.arun(inner, plan, ring=False)
        )
        return answer

    def after_commit(self, act: Act) -> None:
        """Do this once the connection has committed."""
        Commits.of(self._connection).add(act)


class DjangoOwner:
    """One of Django's database connections."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @property
    def tells(self) -> bool:
        """Yes, inside `atomic`; not if the caller commits by hand."""
        return bool(self._connection.in_atomic_block)

    def run(self, borrowing: Borrowing | None, plan: Plan[T]) -> T:
        """Perform a plan in the open transaction."""
        connection = self._connection
        connection.ensure_connection()
        if connection.get_autocommit():
            raise NoTransaction(
                "Django commits each statement here, so the job could not be rolled back; call "
                "this inside `with transaction.atomic():`, or enqueue without connection="
            )
        connection.validate_no_broken_transaction()
        raw = connection.connection
        return known(borrowing, raw).run(raw, plan, ring=False)

    def after_commit(self, act: Act) -> None:
        """Do this once Django has committed."""
        self._connection.on_commit(act.run)


def known(borrowing: Borrowing | None, raw: Any) -> Borrowing:
    """What performs plans on such a connection; `OtherDatabase` if the store cannot be there."""
    if borrowing is None or not borrowing.knows(raw):
        kind = type(raw)
        raise OtherDatabase(
            f"the jobs are not in the database of this {kind.__module__}.{kind.__qualname__}, so "
            f"its transaction cannot hold them"
        )
    return borrowing
