"""The proof that a lease is still one's own."""

from __future__ import annotations

from typing import NamedTuple


class Token(NamedTuple):
    """Names one lease of one job.

    `attempt` counts the claims of the job and never goes back, so it is a fencing number that may
    be passed on to other systems. `nonce` is random per claim call: a store restored from an old
    copy may repeat a count, but not both.
    """

    attempt: int
    nonce: int

    def __str__(self) -> str:
        return f"{self.attempt}-{self.nonce:016x}"

    @classmethod
    def parse(cls, text: str) -> Token:
        """The token that `str` wrote."""
        attempt, _, nonce = text.partition("-")
        return cls(int(attempt), int(nonce, 16))
