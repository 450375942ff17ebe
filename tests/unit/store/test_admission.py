"""What is refused before anything is written, and what is cut to fit."""

from datetime import UTC, datetime
from enum import IntEnum, StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oxmill.errors import BadInput, BadName, NotAllowed, NotSupported, TooBig
from oxmill.model.bounds import DEFAULT_BOUNDS, MAX_PRIORITY, Bounds
from oxmill.model.claim import Claim
from oxmill.model.flow import FlowStep, Join
from oxmill.model.job import NewJob
from oxmill.model.query import Edit, Find
from oxmill.model.rule import PutRules, Rule, RuleKind, Scope
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Failure, Outcome, Settlement
from oxmill.model.token import Token
from oxmill.model.unique import UniqueKey
from oxmill.store.admission import (
    check_claim,
    check_edit,
    check_find,
    check_name,
    check_new_jobs,
    check_rules,
    check_settings,
    check_settlements,
    clip,
    need,
    storable,
)
from oxmill.store.capabilities import Capability
from oxmill.store.flow_admission import check_steps

NOTHING = Capability.NONE
EVERYTHING = ~Capability.NONE


def job(**changes):
    return NewJob(**({"id": "a", "queue": "q", "task": "t", "payload": b""} | changes))


def admit(*jobs, bounds=DEFAULT_BOUNDS, able=NOTHING):
    check_new_jobs(jobs, bounds, able)


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a", "A b:c{d}*%'\"\\", "é", "\U0001f4ee", "x" * 200, "é" * 100])
def test_ordinary_names_are_taken(name):
    check_name("queue name", name, 200)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "empty"),
        ("x" * 201, "201 bytes"),
        ("é" * 101, "202 bytes"),
        ("a\x00", "control"),
        ("a\n", "control"),
        ("\x7f", "control"),
        ("a\tb", "control"),
        ("\ud800", "surrogate"),
        ("é\udfff", "surrogate"),
    ],
)
def test_other_names_are_refused_with_the_reason(name, why):
    with pytest.raises(BadName, match=why) as refusal:
        check_name("queue name", name, 200)

    assert "queue name" in str(refusal.value)


@given(st.text(max_size=60))
def test_a_name_is_taken_exactly_if_it_fits_and_has_no_control_characters(name):
    fits = 0 < len(name.encode(errors="surrogatepass")) <= 50
    clean = all(c >= " " and c != "\x7f" and not "\ud800" <= c <= "\udfff" for c in name)

    try:
        check_name("tag", name, 50)
    except BadName:
        assert not (fits and clean)
    else:
        assert fits
        assert clean


# --- jobs -----------------------------------------------------------------------------------------


def test_an_ordinary_batch_is_taken():
    admit(
        job(),
        job(
            id="b",
            priority=MAX_PRIORITY,
            delay=1,
            expires_in=1,
            keep=0,
            timeout=1,
            group="g",
            tags=("t",),
            fields={"n": 2**63 - 1, "m": -(2**63), "empty": "", "s": "x"},
        ),
    )


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"id": ""}, BadName),
        ({"queue": "\x00"}, BadName),
        ({"task": "t" * 201}, BadName),
        ({"group": ""}, BadName),
        ({"tags": ("fine", "")}, BadName),
        ({"fields": {"": 1}}, BadName),
        ({"fields": {"f": "x" * 1_001}}, BadName),
        ({"fields": {"f": 2**63}}, BadInput),
        ({"fields": {"f": False}}, BadInput),
        ({"fields": {"f": ("fine", "x" * 1_001)}}, BadName),
        ({"fields": {"f": None}}, BadInput),
        ({"fields": {"f": (1,) * 600, "g": ("x",) * 401}}, BadInput),
        ({"priority": MAX_PRIORITY + 1}, BadInput),
        ({"max_attempts": 0}, BadInput),
        ({"crash_limit": 0}, BadInput),
        ({"delay": -1}, BadInput),
        ({"headers": {"h": "\ud800"}}, BadInput),
        ({"content_type": "\ud800"}, BadInput),
        ({"run_at": 2**53}, BadInput),
        ({"keep": -1}, BadInput),
        ({"payload": b"x" * (8 * 1024 * 1024 + 1)}, TooBig),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_job_that_cannot_be_kept_is_refused(wrong, error):
    with pytest.raises(error):
        admit(job(), job(**wrong))


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": 7},
        {"queue": b"q"},
        {"queue": ["q"]},
        {"task": 7},
        {"payload": "text"},
        {"payload": bytearray(b"x")},
        {"payload": None},
        {"content_type": b"text/plain"},
        {"content_type": None},
        {"priority": 0.0},
        {"priority": True},
        {"priority": "1"},
        {"max_attempts": 20.0},
        {"crash_limit": 2.5},
        {"delay": 1.5},
        {"run_at": datetime(2026, 1, 1, tzinfo=UTC)},
        {"expires_in": 1.5},
        {"keep": 0.0},
        {"timeout": 1.5},
        {"group": 7},
        {"tags": "tag"},
        {"tags": ("a", 1)},
        {"tags": 5},
        {"headers": {"h": 1}},
        {"headers": {1: "h"}},
        {"headers": {"h": b"x"}},
        {"headers": [("h", "x")]},
        {"headers": {"h": None}},
        {"unique": "key"},
        {"unique": UniqueKey(key=1)},
        {"unique": UniqueKey(key="k", within=1.5)},
        {"unique": UniqueKey(key="k", until="never")},
        {"unique": UniqueKey(key="k", on_conflict="shrug")},
        {"fields": [("a", 1)]},
        {"reads": "state"},
        {"join": Join(quorum=1.5)},
        {"join": Join(deadline=1.5)},
    ],
    ids=str,
)
def test_what_is_of_a_wrong_type_is_refused_before_any_store_sees_it(wrong):
    admit(job())  # what is equal to something sound, such as 0.0, is not sound for that

    with pytest.raises(BadInput):
        admit(job(), job(**wrong))


def test_words_of_other_kinds_of_text_and_number_are_taken():
    class Queue(StrEnum):
        MAIL = "mail"

    class Rank(IntEnum):
        FIRST = 1

    admit(job(queue=Queue.MAIL, priority=Rank.FIRST, tags=["a"], headers={"h": Queue.MAIL}))


@pytest.mark.parametrize("trait", [{"flow": "f"}, {"parent": "p"}, {"after": ("x",)}], ids=str)
def test_flows_need_the_capability(trait):
    with pytest.raises(NotSupported):
        admit(job(**trait))
    with pytest.raises(BadInput, match="give the flow"):
        admit(job(**trait), able=Capability.FLOWS)
    check_new_jobs((job(**trait),), DEFAULT_BOUNDS, Capability.FLOWS, in_flow=True)


def test_a_batch_may_not_be_too_long():
    admit(*[job()] * 3, bounds=Bounds(batch_jobs=3))
    with pytest.raises(TooBig, match="4"):
        admit(*[job()] * 4, bounds=Bounds(batch_jobs=3))


HEAVY = [
    {"fields": {"user": 1}},
    {"group": "acme"},
    {"unique": UniqueKey(key="k")},
    {"fields": {"user": 1}, "group": "acme"},
]


@pytest.mark.parametrize("trait", HEAVY, ids=str)
def test_a_batch_may_not_hold_too_many_heavy_jobs(trait):
    few = Bounds(heavy_jobs=3)
    admit(*[job()] * 9, *[job(**trait)] * 3, bounds=few)
    with pytest.raises(TooBig, match=r"4 jobs of the batch have fields.*enqueue_many"):
        admit(*[job()] * 9, *[job(**trait)] * 4, bounds=few)


def test_all_jobs_of_a_flow_are_heavy():
    few, made = Bounds(heavy_jobs=3), [job(flow="f")] * 4
    check_new_jobs(made[:3], few, Capability.FLOWS, in_flow=True)
    with pytest.raises(TooBig, match="publish the stage"):
        check_new_jobs(made, few, Capability.FLOWS, in_flow=True)


# --- claims, settlements, steering ----------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0},
        {"limit": 1_001},
        {"limit": 1.0},
        {"lease": 0},
        {"lease": -5},
        {"lease": 2**60},
        {"lease": 1.5},
    ],
    ids=str,
)
def test_a_senseless_claim_is_refused(wrong):
    ordinary = {"queues": ("q",), "limit": 1, "lease": 1, "worker": "w", "nonce": 1}
    check_claim(Claim(**ordinary), DEFAULT_BOUNDS)

    with pytest.raises(BadInput):
        check_claim(Claim(**(ordinary | wrong)), DEFAULT_BOUNDS)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"result": b"xxxx"}, TooBig),
        ({"result": "x"}, BadInput),
        ({"delay": -1}, BadInput),
        ({"delay": 2**53}, BadInput),
        ({"delay": 0.5}, BadInput),
    ],
    ids=str,
)
def test_a_senseless_settlement_is_refused(wrong, error):
    ordinary = {"id": "a", "token": Token(1, 1), "outcome": Outcome.COMPLETE, "result": b"xxx"}
    bounds = Bounds(result_bytes=3)
    check_settlements([Settlement(**ordinary)], bounds)

    with pytest.raises(error):
        check_settlements([Settlement(**(ordinary | wrong))], bounds)


def test_blocks_are_for_operators():
    block = Rule(kind=RuleKind.BLOCK, target="q")

    check_rules(PutRules(set=(block,), operator=True), DEFAULT_BOUNDS, NOTHING)
    with pytest.raises(NotAllowed):
        check_rules(PutRules(set=(block,)), DEFAULT_BOUNDS, NOTHING)
    with pytest.raises(NotAllowed):
        check_rules(PutRules(lift=(block.key,)), DEFAULT_BOUNDS, NOTHING)


@pytest.mark.parametrize(
    "rule",
    [
        Rule(kind=RuleKind.PAUSE, target="t", scope=Scope.TASK),
        Rule(kind=RuleKind.PAUSE, target="g", scope=Scope.GROUP),
        Rule(kind=RuleKind.THROTTLE, target="q", rate="1/s"),
    ],
    ids=lambda rule: f"{rule.kind} {rule.scope}",
)
def test_other_rules_need_the_capability(rule):
    check_rules(PutRules(set=(rule,)), DEFAULT_BOUNDS, EVERYTHING)
    with pytest.raises(NotSupported):
        check_rules(PutRules(set=(rule,)), DEFAULT_BOUNDS, NOTHING)


def test_settings_must_make_sense_and_limits_need_the_capability():
    def check(settings, able=NOTHING):
        check_settings(PutSettings(queue="q", settings=settings), DEFAULT_BOUNDS, able)

    check(QueueSettings(keep_failed=0))
    check(QueueSettings(concurrency=1), Capability.LIMITS)
    with pytest.raises(BadInput):
        check(QueueSettings(keep_cancelled=-1))
    with pytest.raises(NotSupported):
        check(QueueSettings(concurrency=1))


@pytest.mark.parametrize(
    "wrong",
    [
        {"concurrency": 0},
        {"concurrency": 1.5},
        {"keep_failed": 1.5},
        {"group_weights": {"g": 1.5}},
        {"rate": 5},
        {"group_concurrency": -1},
        {"ageing": 0},
        {"rate": "often"},
        {"group_rate": "0/s"},
        {"group_weights": {"g": 0}},
        {"group_weights": {"g": 1_001}},
        {"group_weights": {"": 1}},
    ],
    ids=str,
)
def test_senseless_limits_are_refused(wrong):
    def check(**settings):
        request = PutSettings(queue="q", settings=QueueSettings(**settings))
        check_settings(request, DEFAULT_BOUNDS, EVERYTHING)

    check(
        concurrency=1,
        rate="10/s",
        group_concurrency=1,
        group_rate="1/min burst 3",
        group_weights={"g": 1, "h": 1_000},
        ordered_groups=True,
        ageing=1,
    )
    with pytest.raises(BadInput):
        check(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": RuleKind.THROTTLE},
        {"kind": RuleKind.THROTTLE, "rate": "often"},
        {"kind": RuleKind.THROTTLE, "rate": "10/s burst 0"},
        {"kind": RuleKind.PAUSE, "scope": Scope.FIELD, "target": "user"},
        {"kind": RuleKind.PAUSE, "scope": Scope.TASK, "target": ""},
    ],
    ids=str,
)
def test_senseless_rules_are_refused(wrong):
    fine = Rule(kind=RuleKind.THROTTLE, target="user=62", scope=Scope.FIELD, rate="10/s")
    check_rules(PutRules(set=(fine,)), DEFAULT_BOUNDS, EVERYTHING)

    with pytest.raises(BadInput):
        check_rules(
            PutRules(set=(Rule(**({"target": "t", "scope": Scope.TASK} | wrong)),)),
            DEFAULT_BOUNDS,
            EVERYTHING,
        )


@pytest.mark.parametrize(
    "wrong",
    [
        {"queue": ""},
        {"queue": 7},
        {"priority": 10**9},
        {"priority": 1.5},
        {"due_in": -1},
        {"due_in": 2**53},
        {"due_in": 0.5},
    ],
    ids=str,
)
def test_a_senseless_edit_is_refused(wrong):
    check_edit(Edit(filter=Find().filter, queue="q", priority=1, due_in=0), DEFAULT_BOUNDS)

    with pytest.raises(BadInput):
        check_edit(Edit(filter=Find().filter, **wrong), DEFAULT_BOUNDS)


def test_the_cursor_of_a_page_is_a_number_of_arrival():
    assert check_find(Find()) is None
    assert check_find(Find(after="17")) == 17


@pytest.mark.parametrize(
    "wrong", [{"limit": 0}, {"after": ""}, {"after": "x"}, {"after": "٣"}, {"after": "9" * 5_000}]
)
def test_other_cursors_and_limits_are_refused(wrong):
    with pytest.raises(BadInput):
        check_find(Find(**wrong))


def test_a_store_is_asked_only_for_what_it_can_do():
    need(Capability.FLOWS | Capability.SQL, Capability.SQL, "SQL")
    with pytest.raises(NotSupported, match="flows"):
        need(Capability.SQL, Capability.FLOWS, "flows")


# --- errors are cut, never refused ----------------------------------------------------------------


def test_a_short_error_is_kept_as_it_is():
    failure = Failure(type="E", message="m", traceback="t")

    assert clip(failure, 1_000) == failure
    assert clip(None, 1_000) is None


def test_a_long_error_keeps_the_start_of_the_message_and_the_end_of_the_traceback():
    failure = Failure(type="E", message="start" + "m" * 2_000, traceback="t" * 2_000 + "end")

    cut = clip(failure, 1_000)

    assert cut.message.startswith("start")
    assert cut.message.endswith("…")
    assert cut.traceback.startswith("…")
    assert cut.traceback.endswith("end")


def test_a_reason_is_made_to_fit():
    assert storable(None, 100) is None
    assert storable("why", 100) == "why"
    assert storable("half \ud800", 100) == "half ?"
    assert storable("x" * 500, 100) == "x" * 100 + "…"


@given(
    message=st.text(st.characters(), max_size=400), traceback=st.text(st.characters(), max_size=400)
)
def test_a_cut_error_always_fits_and_is_always_text(message, traceback):
    failure = Failure(type="E", message=message, traceback=traceback)

    cut = clip(failure, 400)

    whole = (cut.type + cut.message + cut.traceback).encode()
    assert len(whole) <= 400


# --- next steps -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reads", [["x"], 5, (["x"],), (1,), {"x": 1}, ("",), ("x" * 1_000,)], ids=repr
)
def test_a_next_step_reads_fields_by_names_in_a_tuple(reads):
    item = Settlement(
        id="a",
        token=Token(1, 1),
        outcome=Outcome.COMPLETE,
        flow=FlowStep(then=(job(id="b", flow="f", reads=reads),)),
    )

    with pytest.raises(BadInput):
        check_steps((item,), DEFAULT_BOUNDS, EVERYTHING)
