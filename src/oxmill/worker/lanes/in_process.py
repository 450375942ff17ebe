"""Functions in child processes, which can be killed."""

from __future__ import annotations

import asyncio
from typing import Any

from oxmill.model.settlement import Outcome, Settlement
from oxmill.worker.lanes.child_process import Child
from oxmill.worker.lanes.lane import Arguments, Body, EndedElsewhere
from oxmill.worker.lanes.threads import Threads
from oxmill.worker.messages import Hello, Start
from oxmill.worker.runs import Run


class ProcessLane:
    """Runs functions in child processes: a timeout, a cancel and a lost lease kill the child.

    Children are made on demand, one per running job, used again, and replaced after `recycle`
    jobs. Each is driven by a thread that only waits for its pipe.
    """

    def __init__(self, slots: int, hello: Hello, recycle: int) -> None:
        self._threads = Threads(slots, "oxmill-child")
        self._hello = hello
        self._recycle = recycle
        self._idle: list[Child] = []
        self._busy: dict[Run, Child] = {}

    async def call(self, run: Run, task: Body, arguments: Arguments) -> Any:  # noqa: ARG002 - the child reads them itself
        """Run the job in a child. The outcome is found there: a completed run gives its settlement,
        any other raises `EndedElsewhere`."""
        child = await self._ready_child(run)
        if run.limit is not None:
            run.limit()
        try:
            settlement = await self._perform(child, run)
        finally:
            del self._busy[run]
        if child.jobs < self._recycle and child.usable:
            self._idle.append(child)
        else:
            child.close()
        if settlement.outcome is Outcome.COMPLETE:
            return settlement
        raise EndedElsewhere(settlement)

    async def _ready_child(self, run: Run) -> Child:
        while self._idle:
            idle = self._idle.pop()
            if idle.usable:
                self._busy[run] = idle
                return idle
            idle.close()
        child: Child = await self._blocking(lambda: Child(self._hello))
        self._busy[run] = child
        try:
            if run.why is not None:
                child.kill()
            await self._blocking(child.wait_ready)
        except BaseException:
            del self._busy[run]
            child.kill()
            raise
        return child

    async def _perform(self, child: Child, run: Run) -> Settlement:
        def carry(progress: bytes) -> None:
            run.carried = progress
            if run.renew_soon is not None:
                run.renew_soon()

        def completing() -> None:
            run.completing = True

        start = Start(job=run.job, inputs=run.inputs or {})
        settlement: Settlement = await self._blocking(
            lambda: child.perform(start, carry, completing)
        )
        return settlement

    async def _blocking(self, call: Any) -> Any:
        ticket = self._threads.submit(call)
        try:
            return await ticket.future
        except asyncio.CancelledError:
            self._threads.abandon(ticket)
            raise

    def stop(self, run: Run) -> None:
        """Kill the child; its run then ends as crashed, and the reason is known."""
        child = self._busy.get(run)
        if child is not None:
            child.kill()

    def close(self) -> None:
        """Kill all children."""
        for child in self._busy.values():
            child.kill()
        for child in self._idle:
            child.close()
        self._idle.clear()
        self._threads.close()
