"""Performs plans on Redis: each step is one round trip, each script one atomic step."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from redis.exceptions import AskError, MovedError

from oxmill.drivers.redis.address import Address, Target
from oxmill.drivers.redis.codes import code_of
from oxmill.drivers.redis.confirming import Answers, doubt_of, wait_for
from oxmill.drivers.redis.faults import ODD, not_storable, partly_done, refused
from oxmill.drivers.redis.lane import Lane
from oxmill.drivers.redis.layout import Layout
from oxmill.drivers.redis.link import Packer
from oxmill.drivers.redis.loop_lane import LoopLane
from oxmill.drivers.redis.places import places_for
from oxmill.drivers.redis.script import Call, Command
from oxmill.errors import StoreError, StoreUnavailable
from oxmill.store.per_loop import PerLoop
from oxmill.store.plan import Plan, Step, Steps, Together

T = TypeVar("T")

_TRIES: Final = 5
"""How often a step follows a slot that moves."""
_PAUSE: Final = 0.05
_MOVING: Final = frozenset({"TRYAGAIN", "CLUSTERDOWN", "READONLY", "MASTERDOWN", "LOADING"})


class RedisTransport:
    """Performs plans from threads and from event loops, with a connection for each kind."""

    def __init__(
        self,
        target: Target,
        keys: Sequence[Sequence[bytes]],
        layout: Layout,
        *,
        replicas: int = 0,
    ) -> None:
        self._target = target
        self._packer = Packer(keys)
        self._layout = layout
        self._replicas = replicas
        self._places = places_for(target, keys)
        self._alone = target.kind == "single" and not replicas
        """Whether there is one server and nothing to wait for after its answer."""
        self._direct = self._alone and layout.shards == 1
        """Whether a call needs nothing but to be sent there."""
        self._guard = threading.Lock()
        self._lanes: dict[Address, Lane] = {}
        self._loops: PerLoop[dict[Address, LoopLane]] = PerLoop()

    def run(self, plan: Plan[T]) -> T:
        """Perform a plan and give its answer."""
        steps, reply = plan.start(), None
        while True:
            step, answer = _advance(steps, reply)
            if step is None:
                return answer  # type: ignore[no-any-return]
            if self._direct and type(step) is Call:
                lane = self._lane(self._target.seeds[0])
                reply = self._accepted(lane.ask((step,), writes=plan.writes)[0])
            else:
                reply = _shape(step, self._perform(_flat(step), writes=plan.writes))

    async def arun(self, plan: Plan[T]) -> T:
        """The same without blocking the event loop."""
        steps, reply = plan.start(), None
        while True:
            step, answer = _advance(steps, reply)
            if step is None:
                return answer  # type: ignore[no-any-return]
            if self._direct and type(step) is Call:
                lane = self._loop_lane(self._target.seeds[0])
                reply = self._accepted(await lane.ask_one(step, writes=plan.writes))
            else:
                reply = _shape(step, await self._aperform(_flat(step), writes=plan.writes))

    def close(self) -> None:
        """Let go of all connections. Closing twice is harmless."""
        with self._guard:
            lanes, self._lanes = self._lanes, {}
        for lane in lanes.values():
            lane.close()
        for of_loop in self._loops.take_all():
            for loop_lane in of_loop.values():
                loop_lane.close()

    @property
    def shown(self) -> str:
        """The store's URL, without secrets."""
        return self._target.shown

    def place(self) -> Address:
        """Where the first shard's server is; asks around if need be."""
        return self._places.look(0)

    # --- blocking ----------------------------------------------------------------------------

    def _perform(self, calls: Sequence[Call | Command], *, writes: bool) -> list[Any]:
        if self._layout.headless and not self._greets_first(calls):
            self._perform([self._layout.hello(0, writes=writes).call], writes=writes)
        if self._alone:
            told = self._lane(self._target.seeds[0]).ask(calls, writes=writes)
            return self._checked(calls, told, writes=writes)
        answers = Answers(len(calls))
        left = list(range(len(calls)))
        for attempt in range(_TRIES):
            try:
                for address, part in self._by_address(calls, left).items():
                    self._ask(address, calls, part, answers, writes=writes)
                left = self._moved(calls, answers, left)
                self._follow(calls, answers, left, writes=writes)
            except StoreError as fault:
                raise self._truly(fault, calls, answers.replies, writes=writes) from fault
            left = [place for place in left if isinstance(answers.replies[place], Exception)]
            if not left:
                break
            time.sleep(_PAUSE * attempt)
        return self._confirmed(calls, answers, writes=writes)

    def _by_address(
        self, calls: Sequence[Call | Command], left: Sequence[int]
    ) -> dict[Address, list[int]]:
        parts: dict[Address, list[int]] = {}
        for place in left:
            parts.setdefault(self._places.look(calls[place].shard), []).append(place)
        return parts

    def _ask(
        self,
        address: Address,
        calls: Sequence[Call | Command],
        part: Sequence[int],
        answers: Answers,
        *,
        writes: bool,
    ) -> None:
        try:
            got = self._lane(address).ask(
                self._with_wait(calls, part, writes=writes), writes=writes
            )
        except StoreError:
            for place in part:
                self._places.forget(calls[place].shard)
            raise
        self._store(got, part, answers)

    def _lane(self, address: Address) -> Lane:
        lane = self._lanes.get(address)
        if lane is None:
            with self._guard:
                lane = self._lanes.setdefault(address, self._new_lane(address))
        return lane

    def _new_lane(self, address: Address) -> Lane:
        return Lane(self._target, address, self._packer, self._layout)

    def _follow(
        self,
        calls: Sequence[Call | Command],
        answers: Answers,
        left: Sequence[int],
        *,
        writes: bool,
    ) -> None:
        """Ask the server that a slot is moving to, where a reply said so."""
        for place in left:
            reply = answers.replies[place]
            if isinstance(reply, AskError) and not isinstance(reply, MovedError):
                lane = self._new_lane((reply.host, reply.port))
                try:
                    asking = Command(calls[place].shard, ("ASKING",))
                    steps = self._with_wait(calls, [place], writes=writes)
                    _, *got = lane.ask([asking, *steps], writes=writes)
                    self._store(got, [place], answers)
                finally:
                    lane.close()

    # --- async -------------------------------------------------------------------------------

    async def _aperform(self, calls: Sequence[Call | Command], *, writes: bool) -> list[Any]:
        if self._layout.headless and not self._greets_first(calls):
            await self._aperform([self._layout.hello(0, writes=writes).call], writes=writes)
        if self._alone:
            lane = self._loop_lane(self._target.seeds[0])
            return self._checked(calls, await lane.ask(calls, writes=writes), writes=writes)
        answers = Answers(len(calls))
        left = list(range(len(calls)))
        for attempt in range(_TRIES):
            if any(self._places.find(calls[place].shard) is None for place in left):
                parts = await asyncio.to_thread(self._by_address, calls, left)
            else:
                parts = self._by_address(calls, left)
            asked = await asyncio.gather(
                *(
                    self._aask(address, calls, part, answers, writes=writes)
                    for address, part in parts.items()
                ),
                return_exceptions=True,
            )
            for fault in filter(None, asked):
                raise self._truly(fault, calls, answers.replies, writes=writes) from fault
            left = self._moved(calls, answers, left)
            if left:
                try:
                    await asyncio.to_thread(self._follow, calls, answers, left, writes=writes)
                except StoreError as fault:
                    raise self._truly(fault, calls, answers.replies, writes=writes) from fault
            left = [place for place in left if isinstance(answers.replies[place], Exception)]
            if not left:
                break
            await asyncio.sleep(_PAUSE * attempt)
        return self._confirmed(calls, answers, writes=writes)

    async def _aask(
        self,
        address: Address,
        calls: Sequence[Call | Command],
        part: Sequence[int],
        answers: Answers,
        *,
        writes: bool,
    ) -> None:
        lane = self._loop_lane(address)
        try:
            got = await lane.ask(self._with_wait(calls, part, writes=writes), writes=writes)
        except StoreError:
            for place in part:
                self._places.forget(calls[place].shard)
            raise
        self._store(got, part, answers)

    def _loop_lane(self, address: Address) -> LoopLane:
        lanes = self._loops.of(asyncio.get_running_loop(), dict)
        lane = lanes.get(address)
        if lane is None:
            lane = lanes[address] = LoopLane(self._target, address, self._packer, self._layout)
        return lane

    # --- both --------------------------------------------------------------------------------

    def _greets_first(self, calls: Sequence[Call | Command]) -> bool:
        """Whether nothing is asked of other shards than the first, or only plain things are."""
        return not any(call.shard for call in calls if isinstance(call, Call))

    def _with_wait(
        self, calls: Sequence[Call | Command], part: Sequence[int], *, writes: bool
    ) -> list[Call | Command]:
        steps = [calls[place] for place in part]
        if writes and self._replicas:
            bound = self._target.options["socket_timeout"] / 2
            steps.append(wait_for(self._replicas, steps[-1].shard, bound))
        return steps

    def _store(self, got: list[Any], part: Sequence[int], answers: Answers) -> None:
        for place, reply in zip(part, got, strict=False):
            answers.replies[place] = reply
        if len(got) > len(part):
            doubt = doubt_of(self._target.shown, got[:-1], self._replicas, got[-1])
            answers.doubts += () if doubt is None else (doubt,)

    def _moved(
        self, calls: Sequence[Call | Command], answers: Answers, left: Sequence[int]
    ) -> list[int]:
        """Those of the calls that did nothing because their slot is elsewhere now."""
        moved: list[int] = []
        for place in left:
            reply, shard = answers.replies[place], calls[place].shard
            if not isinstance(reply, Exception) or self._target.kind == "single":
                continue
            if isinstance(reply, MovedError):
                self._places.learn(shard, (reply.host, reply.port))
            elif not isinstance(reply, AskError):
                if code_of(reply) not in _MOVING:
                    continue
                self._places.forget(shard)
            moved.append(place)
        return moved

    def _accepted(self, reply: Any) -> Any:
        if isinstance(reply, Exception):
            raise refused(self._target.shown, reply)
        return reply

    def _checked(
        self, calls: Sequence[Call | Command], replies: list[Any], *, writes: bool
    ) -> list[Any]:
        for call, reply in zip(calls, replies, strict=True):
            if isinstance(reply, Exception) and (isinstance(call, Call) or not call.refusable):
                fault = refused(self._target.shown, reply)
                raise self._truly(fault, calls, replies, writes=writes)
        return replies

    def _confirmed(
        self, calls: Sequence[Call | Command], answers: Answers, *, writes: bool
    ) -> list[Any]:
        replies = self._checked(calls, answers.replies, writes=writes)
        if answers.doubts:
            raise answers.doubts[0]
        return replies

    def _truly(
        self,
        fault: BaseException,
        calls: Sequence[Call | Command],
        replies: Sequence[Any],
        *,
        writes: bool,
    ) -> BaseException:
        """A fault of one shard, where others have done their part: no longer one of all or nothing."""
        done = [
            call.shard
            for call, reply in zip(calls, replies, strict=True)
            if isinstance(call, Call) and reply is not None and not isinstance(reply, Exception)
        ]
        if not writes or not done or not isinstance(fault, StoreError):
            return fault
        return partly_done(self._target.shown, fault, len(done), len(calls))


def _advance(steps: Steps[Any], reply: Any) -> tuple[Step[Any] | None, Any]:
    """The next step of a plan, or its answer."""
    try:
        return steps.send(reply), None
    except StopIteration as end:
        return None, end.value
    except ODD as odd:
        raise not_storable(odd) from None


def _flat(step: Step[Any]) -> list[Call | Command]:
    if isinstance(step, Call | Command):
        return [step]
    if not isinstance(step, Together):
        raise StoreUnavailable(f"a step of another driver was given to Redis: {step!r}")
    return [call for each in step.steps for call in _flat(each)]


def _shape(step: Step[Any], replies: list[Any]) -> Any:
    """Flat replies in the shape of the step."""
    if not isinstance(step, Together):
        return replies.pop(0)
    return tuple(_shape(each, replies) for each in step.steps)
