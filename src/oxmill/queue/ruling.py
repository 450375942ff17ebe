"""Pauses, blocks and throttles: what people close, slow down and open again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TypedDict, Unpack

from msgspec.structs import replace

from oxmill.errors import BadInput
from oxmill.model.info import ListQueues, Queues
from oxmill.model.rule import PutRules, Rule, RuleKey, RuleKind, RulesPut, Scope
from oxmill.queue.author import who
from oxmill.queue.client import Client
from oxmill.queue.talk import Talk
from oxmill.rules.duration import Duration, micros, moment
from oxmill.store.driver import Driver


class On(TypedDict, total=False):
    """What a rule is about, if it is not a queue: one of these."""

    task: str
    """All jobs of this task."""
    group: str
    """All jobs of this group, in whatever queue."""
    field: str | Mapping[str, str | int]
    """All jobs with this value of a field: `{"user_id": 62}` or `user_id=62`."""


class Ruling:
    """Sets and lifts rules on a queue, or on a task, a group or a field instead of it."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def pause(
        self,
        queue: str | None = None,
        reason: str = "",
        author: str = "",
        expires: Duration | datetime | None = None,
        **on: Unpack[On],
    ) -> bool:
        """No job that this covers is claimed after it returns, until `resume` or the expiry. Jobs
        that run go on. False if it was paused in the same way already."""
        rule = _rule(RuleKind.PAUSE, queue, on, reason, author)
        return self._client.blocking("apause", lambda driver: _set(driver, rule, expires))

    async def apause(
        self,
        queue: str | None = None,
        reason: str = "",
        author: str = "",
        expires: Duration | datetime | None = None,
        **on: Unpack[On],
    ) -> bool:
        """The same without blocking the event loop."""
        rule = _rule(RuleKind.PAUSE, queue, on, reason, author)
        return await self._client.awaiting(lambda driver: _set(driver, rule, expires))

    def resume(self, queue: str | None = None, author: str = "", **on: Unpack[On]) -> bool:
        """Lift a pause; a block stays. Jobs come back at once and in order. False if there was
        none."""
        key = _key(RuleKind.PAUSE, queue, on)
        return self._client.blocking("aresume", lambda driver: _lift(driver, key, author))

    async def aresume(self, queue: str | None = None, author: str = "", **on: Unpack[On]) -> bool:
        """The same without blocking the event loop."""
        key = _key(RuleKind.PAUSE, queue, on)
        return await self._client.awaiting(lambda driver: _lift(driver, key, author))

    def block(
        self,
        queue: str | None = None,
        reason: str = "",
        author: str = "",
        expires: Duration | datetime | None = None,
        *,
        operator: bool = False,
        **on: Unpack[On],
    ) -> bool:
        """Like a pause, for operators: a user's `resume` does not lift it. Say `operator=True` if you
        are one, or it is refused with `NotAllowed`: a guard against slips, not against people, since
        whoever can write to the store can say so."""
        rule = _rule(RuleKind.BLOCK, queue, on, reason, author)
        return self._client.blocking(
            "ablock", lambda driver: _set(driver, rule, expires, operator=operator)
        )

    async def ablock(
        self,
        queue: str | None = None,
        reason: str = "",
        author: str = "",
        expires: Duration | datetime | None = None,
        *,
        operator: bool = False,
        **on: Unpack[On],
    ) -> bool:
        """The same without blocking the event loop."""
        rule = _rule(RuleKind.BLOCK, queue, on, reason, author)
        return await self._client.awaiting(
            lambda driver: _set(driver, rule, expires, operator=operator)
        )

    def unblock(
        self,
        queue: str | None = None,
        author: str = "",
        *,
        operator: bool = False,
        **on: Unpack[On],
    ) -> bool:
        """Lift a block, for operators as well; a pause stays. False if there was none."""
        key = _key(RuleKind.BLOCK, queue, on)
        return self._client.blocking(
            "aunblock", lambda driver: _lift(driver, key, author, operator=operator)
        )

    async def aunblock(
        self,
        queue: str | None = None,
        author: str = "",
        *,
        operator: bool = False,
        **on: Unpack[On],
    ) -> bool:
        """The same without blocking the event loop."""
        key = _key(RuleKind.BLOCK, queue, on)
        return await self._client.awaiting(
            lambda driver: _lift(driver, key, author, operator=operator)
        )

    def throttle(
        self,
        queue: str | None = None,
        *,
        rate: str,
        reason: str = "",
        author: str = "",
        expires: Duration | datetime | None = None,
        **on: Unpack[On],
    ) -> bool:
        """No more jobs that this covers start than the rate allows, such as `10/s` or
        `5/min burst 2`, counted over all workers and queues."""
        rule = replace(_rule(RuleKind.THROTTLE, queue, on, reason, author), rate=rate)
        return self._client.blocking("athrottle", lambda driver: _set(driver, rule, expires))

    async def athrottle(
        self,
        queue: str | None = None,
        *,
        rate: str,
        reason: str = "",
        author: str = "",
        expires: Duration | datetime | None = None,
        **on: Unpack[On],
    ) -> bool:
        """The same without blocking the event loop."""
        rule = replace(_rule(RuleKind.THROTTLE, queue, on, reason, author), rate=rate)
        return await self._client.awaiting(lambda driver: _set(driver, rule, expires))

    def unthrottle(self, queue: str | None = None, author: str = "", **on: Unpack[On]) -> bool:
        """Lift a throttle. False if there was none."""
        key = _key(RuleKind.THROTTLE, queue, on)
        return self._client.blocking("aunthrottle", lambda driver: _lift(driver, key, author))

    async def aunthrottle(
        self, queue: str | None = None, author: str = "", **on: Unpack[On]
    ) -> bool:
        """The same without blocking the event loop."""
        key = _key(RuleKind.THROTTLE, queue, on)
        return await self._client.awaiting(lambda driver: _lift(driver, key, author))


def _key(kind: RuleKind, queue: str | None, on: On) -> RuleKey:
    field = on.get("field")
    targets = {
        Scope.QUEUE: queue,
        Scope.TASK: on.get("task"),
        Scope.GROUP: on.get("group"),
        Scope.FIELD: _written(field) if isinstance(field, Mapping) else field,
    }
    given = [(scope, target) for scope, target in targets.items() if target is not None]
    if len(given) != 1:
        raise BadInput(
            f"a {kind} is about one queue, task=, group= or field=, not {len(given)} of them"
        )
    scope, target = given[0]
    return RuleKey(kind=kind, target=target, scope=scope)


def _written(field: Mapping[str, str | int]) -> str:
    if len(field) != 1:
        raise BadInput(f"a rule is about one field and its value, not {len(field)}")
    ((name, value),) = field.items()
    return f"{name}={value}"


def _rule(kind: RuleKind, queue: str | None, on: On, reason: str, author: str) -> Rule:
    key = _key(kind, queue, on)
    return Rule(kind=kind, target=key.target, scope=key.scope, reason=reason, author=who(author))


def _set(
    driver: Driver, rule: Rule, expires: Duration | datetime | None, *, operator: bool = False
) -> Talk[bool]:
    if isinstance(expires, datetime):
        rule = replace(rule, expires_at=moment(expires))
    elif expires is not None:
        # The store's clock decides, so the length is counted from its time, not from ours.
        seen: Queues = yield driver.inspecting.queues(ListQueues(queues=("default",)))
        rule = replace(rule, expires_at=seen.now + micros(expires))
    put: RulesPut = yield driver.steering.put_rules(
        PutRules(set=(rule,), author=rule.author, operator=operator)
    )
    return put.changed > 0


def _lift(driver: Driver, key: RuleKey, author: str, *, operator: bool = False) -> Talk[bool]:
    put: RulesPut = yield driver.steering.put_rules(
        PutRules(lift=(key,), author=who(author), operator=operator)
    )
    return put.changed > 0
