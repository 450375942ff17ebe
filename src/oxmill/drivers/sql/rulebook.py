"""Rows of the rules table and the values they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oxmill.model.rule import Rule, RuleKey, RuleKind, Scope


def rule_of(row: Sequence[Any]) -> Rule:
    """A rule as stored."""
    target, scope, kind, reason, author, expires_at, rate, set_at = row
    return Rule(
        kind=RuleKind(kind),
        target=target,
        scope=Scope(scope),
        reason=reason,
        author=author,
        expires_at=expires_at,
        rate=rate,
        set_at=set_at,
    )


def key_of(row: Sequence[Any]) -> RuleKey:
    """The name of a rule, from its target, scope and kind."""
    target, scope, kind = row
    return RuleKey(kind=RuleKind(kind), target=target, scope=Scope(scope))


def row_of(rule: Rule) -> tuple[Any, ...]:
    """A rule as it is stored, in the order of `put_rule`."""
    return (
        rule.target,
        rule.scope.value,
        rule.kind.value,
        rule.reason,
        rule.author,
        rule.expires_at,
        rule.rate,
        rule.set_at,
    )


def named(key: RuleKey) -> dict[str, str]:
    """The parameters that name one rule."""
    return {"target": key.target, "scope": key.scope.value, "kind": key.kind.value}
