"""Arguments with gaps: where results go, and that nothing else is taken for one."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec
import pydantic
import pytest

from oxmill.errors import BadArguments, WrongContext
from oxmill.model.failed import Failed
from oxmill.model.state import State
from oxmill.queue.codec import Codec
from oxmill.queue.gaps import Gap, filled, gapped_payload, read_gapped
from oxmill.queue.inputs import Input
from oxmill.queue.stand_in import StandIn


class Named:
    def __init__(self, name):
        self.name = self.id = name


@dataclass
class Box:
    inner: object
    more: list = field(default_factory=list)


@dataclass
class Page:
    text: str
    at: datetime | None = None


class Model(pydantic.BaseModel):
    n: int


LOST = Failed(job="b", task="fetch", state=State.FAILED, reason="exhausted", error_type="OSError")


def run(fn, args, inputs, *, collect=False, kwargs=None):
    """The arguments that a run would get, after a way through the payload."""
    codec = Codec(fn, "t", skip=0, lenient=False)
    data, gaps = codec.pack_gapped(args, kwargs or {})
    payload = gapped_payload(data, [Gap(path=p, job=s.node.id) for p, s in gaps], collect=collect)
    positional, named = codec.unpack(filled(read_gapped(payload), inputs))
    assert positional == ()
    return named


def out(name):
    return StandIn(Named(name))


def done(value):
    return Input(result=msgspec.json.encode(value))


INPUTS = {"a": done(1), "b": Input(failed=LOST), "c": done(3), "none": Input()}


def test_results_land_deep_in_lists_dicts_and_dataclasses():
    def fn(a, b, c): ...

    given = (out("a"), [out("c"), {"k": (2, out("a"))}], Box(out("c"), [out("a"), out("none")]))
    assert run(fn, given, INPUTS) == {
        "a": 1,
        "b": [3, {"k": [2, 1]}],
        "c": {"inner": 3, "more": [1, None]},
    }


def test_results_are_read_by_the_annotations_of_the_task_that_gets_them():
    def fn(page: Page, model: Model): ...

    inputs = {
        "p": done({"text": "x", "at": "2026-01-01T00:00:00Z"}),
        "m": done({"n": 7}),
    }
    assert run(fn, (out("p"), out("m")), inputs) == {
        "page": Page("x", datetime(2026, 1, 1, tzinfo=UTC)),
        "model": Model(n=7),
    }


def test_data_that_looks_like_a_gap_stays_data():
    def fn(a, b): ...

    sly = {"gaps": [[["a"], "a"]], "job": "a", "": None}
    assert run(fn, (sly, out("a")), INPUTS) == {"a": sly, "b": 1}


def test_a_result_that_does_not_fit_is_refused_with_its_path():
    def fn(pages: list[int]): ...

    with pytest.raises(BadArguments, match=r"pages\[0\]: expected `int`, got `str`"):
        run(fn, ([out("a")],), {"a": done("text")})


def test_arguments_without_gaps_are_checked_at_once():
    def fn(n: int, x: int): ...

    codec = Codec(fn, "t", skip=0, lenient=False)
    with pytest.raises(BadArguments, match=r"n: expected `int`, got `str`"):
        codec.pack_gapped(("one", out("a")), {})
    with pytest.raises(BadArguments, match="missing a required argument"):
        codec.pack_gapped((), {"x": out("a")})
    with pytest.raises(BadArguments, match=r"\$\.n: "):
        codec.pack_gapped((object(), out("a")), {})


def test_a_result_cannot_be_a_key():
    codec = Codec(lambda a: None, "t", skip=0, lenient=False)
    with pytest.raises(BadArguments, match="key"):
        codec.pack_gapped(({out("a"): 1},), {})


# -- failures --------------------------------------------------------------------------------------


def test_what_failed_is_left_out_of_lists_and_none_elsewhere():
    def fn(some: list[int], one: int | None, box: Box, last: int): ...

    given = ([out("a"), out("b"), out("b"), out("c")], out("b"), Box(out("b")), out("c"))
    assert run(fn, given, INPUTS) == {
        "some": [1, 3],
        "one": None,
        "box": Box(None),
        "last": 3,
    }


def test_what_failed_is_given_as_a_value_where_failures_are_collected():
    def fn(pages: list[Page | Failed], named: dict[str, int | Failed], one: Failed | int): ...

    inputs = INPUTS | {"a": done({"text": "x"})}
    given = ([out("a"), out("b")], {"c": out("c"), "b": out("b")}, out("b"))
    assert run(fn, given, inputs, collect=True) == {
        "pages": [Page("x"), LOST],
        "named": {"c": 3, "b": LOST},
        "one": LOST,
    }


def test_failures_and_models_go_together():
    def fn(models: tuple[Model | Failed, ...], rest: list[Failed | None]): ...

    inputs = INPUTS | {"m": done({"n": 7})}
    given = ([out("m"), out("b")], [out("b"), None])
    assert run(fn, given, inputs, collect=True) == {
        "models": (Model(n=7), LOST),
        "rest": [LOST, None],
    }


def test_a_result_that_looks_like_a_failure_is_a_result():
    def fn(pages: list[dict | Failed]): ...

    sly = msgspec.to_builtins(LOST)
    assert run(fn, ([out("a")],), {"a": done(sly)}, collect=True) == {"pages": [sly]}


def test_a_failure_counts_as_false():
    assert not LOST


def test_a_job_that_is_gone_is_told():
    with pytest.raises(BadArguments, match="job a is needed"):
        run(lambda a: None, (out("a"),), {})


# -- stand-ins -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "touch",
    [
        lambda x: x.text,
        lambda x: x["text"],
        lambda x: f"{x}",
        lambda x: f"{x:>5}",
        str,
        bool,
        list,
        len,
        lambda x: x + 1,
        lambda x: 1 + x,
        lambda x: x < 1,
        lambda x: x(),
        lambda x: 1 in x,
        int,
    ],
)
def test_a_stand_in_cannot_be_touched(touch):
    with pytest.raises(WrongContext, match="the job has not run"):
        touch(out("a"))


def test_a_stand_in_cannot_leave_its_flow():
    codec = Codec(lambda a: None, "t", skip=0, lenient=False)
    with pytest.raises(BadArguments, match="only be passed to jobs of its own flow"):
        codec.pack((out("a"),), {})
