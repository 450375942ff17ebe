"""What a run may end in besides its return value: raised or returned by a task."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

Span = timedelta | float | str
Backoff = Literal["exponential", "linear", "fixed"]


class Signal(Exception):
    """Ends a run in a way of its own choosing; not an error."""


class Retry(Signal):
    """A retry policy, and, when raised or returned by a task, the wish to run again.

    `Retry(5, base="2s", cap="10m")` given to a task is its policy. `raise Retry(after="30s")` uses
    up an attempt and runs again after that time; without `after` the policy's backoff decides.

    The delay before attempt n+1 is `base · 2^(n-1)` (exponential), `base · n` (linear), `base`
    (fixed) or the n-th of a list, at most `cap`, times a random factor of 0.5 to 1.5 with jitter.
    The defaults spread 20 attempts over about a day.
    """

    def __init__(  # noqa: PLR0913 - a policy is written in one line where it is used
        self,
        max_attempts: int | None = None,
        *,
        after: Span | None = None,
        backoff: Backoff | Sequence[Span] = "exponential",
        base: Span = 1,
        cap: Span = "4h",
        jitter: bool = True,
        on: tuple[type[BaseException], ...] = (Exception,),
        give_up_on: tuple[type[BaseException], ...] = (),
    ) -> None:
        super().__init__("retry" if after is None else f"retry after {after}")
        self.max_attempts = max_attempts
        self.after = after
        self.backoff = backoff
        self.base = base
        self.cap = cap
        self.jitter = jitter
        self.on = on
        self.give_up_on = give_up_on

    def __repr__(self) -> str:
        usual = Retry.__init__.__kwdefaults__ or {}
        told = [] if self.max_attempts is None else [repr(self.max_attempts)]
        told += [
            f"{name}={_plain(getattr(self, name))}"
            for name in usual
            if getattr(self, name) != usual[name]
        ]
        return f"Retry({', '.join(told)})"


def _plain(value: object) -> str:
    """As it is written in code; errors by their names."""
    if isinstance(value, tuple) and all(isinstance(each, type) for each in value):
        names = ", ".join(each.__name__ for each in value)
        return f"({names},)" if len(value) == 1 else f"({names})"
    return repr(value)


class Snooze(Signal):
    """Run again after this time; uses up no attempt."""

    def __init__(self, delay: Span) -> None:
        super().__init__(f"snooze for {delay}")
        self.delay = delay


class RateLimited(Signal):
    """Somebody upstream asks to wait: close the gate of the job's group for this time, or that of
    its queue if it has no group or if `scope` says so. The job keeps its place in line and uses up
    no attempt."""

    def __init__(self, retry_after: Span, *, scope: Literal["group", "queue"] = "group") -> None:
        super().__init__(f"rate limited for {retry_after}")
        self.retry_after = retry_after
        self.scope = scope


class Cancel(Signal):
    """End the job as cancelled, with a reason, without another try."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class Fail(Signal):
    """End the job as failed, without another try, whatever its policy says. With `from error`
    that error is kept: in the traceback, or in place of a reason that was not given."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
