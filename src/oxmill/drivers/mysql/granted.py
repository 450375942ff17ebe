"""What shortcuts of claims share: how jobs are granted, and what was."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from oxmill.drivers.mysql.statements import statement
from oxmill.drivers.sql.flow_reading import leased_in_flows
from oxmill.drivers.sql.steps import Rows
from oxmill.model.claim import Claim, Claimed
from oxmill.model.value import Micros
from oxmill.store.plan import Steps

NEVER: Final = 2**63 - 1
"""Later than any moment."""
_EXECUTED: Final = [statement(name, {}) for name in ("claim_prepare", "claim_execute")]


class Granted(NamedTuple):
    """What a claim was given."""

    rows: Rows
    """The columns of leases, best rank first."""
    request: Claim
    now: Micros
    next_due: Micros | None

    def claimed(self) -> Steps[Claimed]:
        """The claim's answer."""
        return Claimed(
            jobs=(yield from leased_in_flows(self.rows, self.request.nonce)),
            now=self.now,
            until=self.now + self.request.lease,
            next_due=self.next_due,
        )


def granting(asked: dict[str, Any]) -> list[bytes]:
    """What grants the jobs chosen and frees the keys that they held until now."""
    before, _, after = statement("claim_grant", asked).partition(b"?)")
    words = {"before": before.decode(), "after": f"){after.decode()}"}
    freeing = {"words": statement("claim_free_keys", asked).decode()}
    return [
        statement("claim_words", words),
        *_EXECUTED,
        statement("claim_taken", freeing),
        *_EXECUTED,
    ]
