"""The one decision about joins, for every small number of edges."""

from itertools import product

import pytest

from oxmill.model.flow import Join, JoinPolicy, OnFailure
from oxmill.rules.join import Edges, Turnout, overdue, turnout

NUMBERS = [
    Edges(succeeded=s, failed=f, open=o) for s, f, o in product(range(5), range(5), range(5))
]
JOINS = [
    Join(policy=policy, quorum=quorum, on_failure=on_failure)
    for policy, quorum, on_failure in product(JoinPolicy, range(1, 5), OnFailure)
    if policy is JoinPolicy.QUORUM or quorum == 1
]


def name(join):
    return f"{join.policy}-{join.quorum}-{join.on_failure}"


@pytest.mark.parametrize("join", JOINS, ids=name)
def test_it_never_waits_with_no_edge_open(join):
    for edges in NUMBERS:
        if edges.open == 0:
            assert turnout(join, edges) is not Turnout.WAIT


@pytest.mark.parametrize("join", JOINS, ids=name)
def test_what_it_did_it_would_do_again_whatever_ends_next(join):
    for edges in NUMBERS:
        if edges.open == 0 or turnout(join, edges) is Turnout.WAIT:
            continue
        good = Edges(succeeded=edges.succeeded + 1, failed=edges.failed, open=edges.open - 1)
        bad = Edges(succeeded=edges.succeeded, failed=edges.failed + 1, open=edges.open - 1)
        assert turnout(join, good) is turnout(join, edges)
        assert turnout(join, bad) is turnout(join, edges)


@pytest.mark.parametrize("join", JOINS, ids=name)
def test_only_a_join_that_cancels_fails(join):
    found = {turnout(join, edges) for edges in NUMBERS}

    assert Turnout.FIRE in found
    if join.on_failure is not OnFailure.CANCEL or join.policy is JoinPolicy.ALL_END:
        assert Turnout.FAIL not in found
    else:
        assert Turnout.FAIL in found


@pytest.mark.parametrize("join", JOINS, ids=name)
def test_the_table_of_the_decision(join):
    """As decision 0070 has it, written once more without a look at the code."""
    for edges in NUMBERS:
        s, f, o = edges.succeeded, edges.failed, edges.open
        fires, fails = {
            JoinPolicy.ALL_SUCCEED: (o == 0 and f == 0, f > 0),
            JoinPolicy.ALL_END: (o == 0, False),
            JoinPolicy.ANY: (s >= 1 or s + f + o == 0, o == 0 and s == 0),
            JoinPolicy.QUORUM: (s >= join.quorum, s + o < join.quorum),
        }[join.policy]
        expected = Turnout.FIRE if fires else Turnout.FAIL if fails else Turnout.WAIT
        if expected is Turnout.FAIL and join.on_failure is not OnFailure.CANCEL:
            expected = Turnout.WAIT if o else Turnout.FIRE
        assert turnout(join, edges) is expected


@pytest.mark.parametrize("on_failure", list(OnFailure))
def test_at_its_deadline_it_is_over(on_failure):
    found = overdue(Join(on_failure=on_failure))

    assert found is (Turnout.FAIL if on_failure is OnFailure.CANCEL else Turnout.FIRE)
