"""In a test nobody else works: to wait for a job is to run it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Self

from oxmill.errors import ResultTimeout
from oxmill.store.doorbell import Bell, Doorbell, ended


class WorkingBell:
    """Runs what is due instead of waiting for the end of a job; other waits are as usual."""

    def __init__(
        self,
        topics: frozenset[str],
        bell: Bell,
        run: Callable[[], int],
        arun: Callable[[], Awaitable[int]],
    ) -> None:
        prefix = ended("")
        self._job = next((t.removeprefix(prefix) for t in topics if t.startswith(prefix)), None)
        self._bell = bell
        self._run = run
        self._arun = arun

    def wait(self, timeout: float) -> bool:
        """Run what is due; `ResultTimeout` if that is nothing, for it would wait for ever."""
        if self._job is None:
            return self._bell.wait(timeout)
        return self._did(self._job, self._run())

    async def arrive(self, timeout: float) -> bool:
        """The same in the running event loop."""
        if self._job is None:
            return await self._bell.arrive(timeout)
        return self._did(self._job, await self._arun())

    def _did(self, job: str, ran: int) -> bool:
        if not ran:
            raise ResultTimeout(
                job,
                f"job {job} has not ended and nothing is due now; let time pass with advance(...), "
                f"or see with jobs() what it waits for",
            )
        return True

    def tell(self, on_ring: Callable[[], None]) -> None:
        """Call this in this event loop at every ring."""
        self._bell.tell(on_ring)

    def close(self) -> None:
        """Stop listening."""
        self._bell.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class WorkingDoorbell:
    """The store's doorbell, whose waits do the work."""

    def __init__(
        self, doorbell: Doorbell, run: Callable[[], int], arun: Callable[[], Awaitable[int]]
    ) -> None:
        self._doorbell = doorbell
        self._run = run
        self._arun = arun

    def listened(self) -> bool:
        """Whether anyone listens."""
        return self._doorbell.listened()

    def ring(self, topics: Iterable[str]) -> None:
        """Wake whoever listens."""
        self._doorbell.ring(topics)

    def listen(self, topics: Iterable[str]) -> WorkingBell:
        """A bell for these topics."""
        wanted = frozenset(topics)
        return WorkingBell(wanted, self._doorbell.listen(wanted), self._run, self._arun)

    def attend(self, topics: Iterable[str]) -> WorkingBell:
        """A bell for these topics, for somebody in this event loop."""
        return self.listen(topics)

    def close(self) -> None:
        """Let go of what the doorbell holds."""
        self._doorbell.close()
