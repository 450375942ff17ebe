"""The steps that only plans for PostgreSQL have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oxmill.drivers.sql.steps import Rows
from oxmill.store.plan import Step


class Call(Step[Rows | None]):
    """Call one of our functions, which does all that belongs together by itself: it needs no
    transaction around it unless other steps follow that must not be seen without it.

    `conflicts` if it may find that an id is taken: then it leaves no trace and the reply is `None`.
    """

    __slots__ = ("alone", "conflicts", "name", "parameters")

    def __init__(
        self,
        name: str,
        parameters: Mapping[str, Any],
        *,
        conflicts: bool = False,
        alone: bool = True,
    ) -> None:
        self.name = name
        self.parameters = parameters
        self.conflicts = conflicts
        self.alone = alone
