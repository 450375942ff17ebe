"""What is refused of the steps that completions ask for."""

import pytest
from msgspec.structs import replace

from oxmill.errors import BadInput, BadName, TooBig
from oxmill.model.bounds import DEFAULT_BOUNDS, MAX_PRIORITY
from oxmill.model.flow import FlowStep, Join
from oxmill.model.job import NewJob
from oxmill.model.settlement import Outcome, Settlement
from oxmill.model.token import Token
from oxmill.model.unique import UniqueKey
from oxmill.store.capabilities import Capability
from oxmill.store.flow_admission import check_steps

EVERYTHING = ~Capability.NONE


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": ""},
        {"id": "b\n"},
        {"id": "b" * 10_000},
        {"id": "a2"},
        {"id": 7},
        {"payload": "text"},
        {"payload": b"x" * (DEFAULT_BOUNDS.payload_bytes + 1)},
        {"queue": ""},
        {"task": "t\n"},
        {"content_type": "\ud800"},
        {"priority": MAX_PRIORITY + 1},
        {"max_attempts": 0},
        {"crash_limit": 0},
        {"delay": -1},
        {"run_at": -1},
        {"expires_in": -1},
        {"keep": -1},
        {"timeout": -1},
        {"group": ""},
        {"fields": {"": 1}},
        {"tags": ("",)},
        {"headers": {"h": "\ud800"}},
        {"unique": UniqueKey(key="k")},
        {"parent": ""},
        {"after": ("",)},
        {"join": Join()},
        {"reads": ("",)},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_next_step_is_refused_though_the_one_before_it_was_sound(wrong):
    """Steps of one pipeline are made from one mold; only what is the very same is not looked at again."""
    like = NewJob(id="x", queue="q", task="t", payload=b"", reads=("f",))
    good, bad = replace(like, id="b1"), replace(like, **{"id": "b2"} | wrong)
    items = [
        Settlement(
            id=f"a{number}",
            token=Token(1, 1),
            outcome=Outcome.COMPLETE,
            flow=FlowStep(then=(then,)),
        )
        for number, then in ((1, good), (2, bad))
    ]
    check_steps(items[:1], DEFAULT_BOUNDS, EVERYTHING)

    with pytest.raises((BadInput, BadName, TooBig)):
        check_steps(items, DEFAULT_BOUNDS, EVERYTHING)
