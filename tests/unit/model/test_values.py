"""Values are frozen and compared by content; small questions about them have one answer."""

import pickle

import pytest

from oxmill import errors
from oxmill.model.info import Schema
from oxmill.model.job import NewJob
from oxmill.model.query import Filter
from oxmill.model.rule import Rule, RuleKey, RuleKind, Scope
from oxmill.model.settings import QueueSettings
from oxmill.model.settlement import poison


def job(**changes):
    return NewJob(**({"id": "a", "queue": "q", "task": "t", "payload": b""} | changes))


def test_values_cannot_be_changed():
    with pytest.raises(AttributeError):
        job().priority = 5


def test_values_are_compared_by_content():
    assert job() == job()
    assert job() != job(payload=b"1")
    assert hash(Filter(ids=("a",)).ids) == hash(("a",))


def test_a_rule_is_named_by_kind_scope_and_target():
    rule = Rule(kind=RuleKind.PAUSE, target="mail", reason="deploy", author="ann")

    assert rule.key == RuleKey(kind=RuleKind.PAUSE, target="mail", scope=Scope.QUEUE)


@pytest.mark.parametrize(
    "limit",
    [
        {"concurrency": 1},
        {"rate": "1/s"},
        {"group_concurrency": 1},
        {"group_rate": "1/s"},
        {"ordered_groups": True},
        {"ageing": 1},
    ],
    ids=str,
)
def test_settings_know_whether_they_limit_anything(limit):
    assert QueueSettings(**limit).limits
    assert not QueueSettings(keep_failed=1).limits


@pytest.mark.parametrize(("current", "pending"), [(0, True), (1, True), (2, False), (3, False)])
def test_a_schema_knows_whether_a_migration_is_due(current, pending):
    assert Schema(current=current, newest=2).pending is pending


def test_poison_says_how_often_the_lease_lapsed():
    assert "3 times" in poison(3).message


@pytest.mark.parametrize(
    "error",
    [
        errors.DuplicateJob("key", "id"),
        errors.IdConflict("id"),
        errors.JobFailed("id", "it failed"),
        errors.ResultTimeout("id", "not yet"),
        errors.TaskNotFound("name", ["near"]),
        errors.BadName("bad"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_survive_the_way_between_processes(error):
    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
