"""Stores in which a job's place and its data are one row."""

from __future__ import annotations

from oxmill.model.info import Mended
from oxmill.store.plan import Steps, plan
from oxmill.store.roles.installing import Mend


class Sound:
    """Part of `Installing` for stores that cannot lose the one without the other."""

    @plan("mend", writes=False)
    def mend(self, request: Mend) -> Steps[Mended]:  # noqa: ARG002 - there is nothing to look at
        """Nothing to mend."""
        yield from ()
        return Mended()
