"""The table of transitions says what the chart in the design shows."""

from itertools import product

import pytest

from oxmill.model.state import IDLE, LIVE, TERMINAL, TRANSITIONS, Change, State, allowed
from oxmill.model.token import Token

H, S, W, R = State.HELD, State.SCHEDULED, State.WAITING, State.RUNNING
DONE, FAILED, CANCELLED = State.SUCCEEDED, State.FAILED, State.CANCELLED

CHART = {
    Change.ENQUEUE: {(None, H), (None, S), (None, W)},
    Change.FREE: {(H, S), (H, W)},
    Change.DUE: {(S, W)},
    Change.CLAIM: {(W, R)},
    Change.COMPLETE: {(R, DONE)},
    Change.RETRY: {(R, S), (R, W)},
    Change.SNOOZE: {(R, S), (R, W)},
    Change.RELEASE: {(R, W)},
    Change.SPAWN: {(R, H)},
    Change.LAPSE: {(R, W)},
    Change.RESUME: {(W, R)},
    Change.FAIL: {(R, FAILED), (H, FAILED)},
    Change.POISON: {(R, FAILED)},
    Change.CANCEL: {(H, CANCELLED), (S, CANCELLED), (W, CANCELLED), (R, CANCELLED)},
    Change.EXPIRE: {(H, CANCELLED), (S, CANCELLED), (W, CANCELLED)},
    Change.POSTPONE: {(S, S), (S, W), (W, S), (W, W)},
    Change.REDRIVE: {(FAILED, W), (CANCELLED, W), (FAILED, H), (CANCELLED, H)},
}
"""Every arrow, drawn out."""


@pytest.mark.parametrize("change", list(Change))
def test_exactly_the_arrows_of_the_chart_are_allowed(change):
    arrows = {
        (before, after)
        for before, after in product([None, *State], State)
        if allowed(change, before, after)
    }

    assert arrows == CHART[change]


def test_every_change_has_its_row():
    assert set(TRANSITIONS) == set(Change) == set(CHART)


def test_states_are_live_or_terminal_and_idle_ones_are_live():
    assert set(State) == LIVE | TERMINAL
    assert set() == LIVE & TERMINAL
    assert LIVE - {R} == IDLE


def test_terminal_is_final_until_a_redrive():
    leaving = {
        change for change, (sources, _) in TRANSITIONS.items() if TERMINAL & (sources - {None})
    }

    assert leaving == {Change.REDRIVE}


def test_success_is_final_for_good():
    assert not any(allowed(change, DONE, after) for change, after in product(Change, State))


def test_every_state_can_be_reached_and_every_live_one_can_end():
    arrows = {arrow for chart in CHART.values() for arrow in chart}

    def reach(start):
        seen, ahead = set(), {start}
        while ahead:
            seen |= ahead
            ahead = {after for before, after in arrows if before in ahead} - seen
        return seen

    assert reach(None) >= set(State)
    for state in LIVE:
        assert reach(state) >= TERMINAL


@pytest.mark.parametrize("token", [Token(1, 0), Token(7, 255), Token(10**9, 2**63 - 1)])
def test_a_token_survives_being_written(token):
    assert Token.parse(str(token)) == token


def test_a_token_is_written_for_people_and_logs():
    assert str(Token(3, 0xBEEF)) == "3-000000000000beef"


@pytest.mark.parametrize("text", ["", "3", "x-1", "3-xyz", "3-"])
def test_what_is_no_token_is_refused(text):
    with pytest.raises(ValueError):
        Token.parse(text)


def test_tokens_are_compared_by_attempt_first():
    assert Token(2, 1) > Token(1, 999)
    assert Token(1, 5) != Token(1, 6)
