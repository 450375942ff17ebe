"""Arguments and results as JSON, by the task's annotations."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypedDict, Unpack
from uuid import UUID

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oxmill import App, BadArguments, Snooze

if TYPE_CHECKING:
    from nowhere import Missing

app = App("memory://")


class Colour(Enum):
    RED = "red"


class Size(IntEnum):
    BIG = 2


@dataclasses.dataclass
class Item:
    qty: int
    tags: set[str] = dataclasses.field(default_factory=set)


class Order(msgspec.Struct):
    items: list[Item]
    note: str | None = None


class Address(TypedDict):
    street: str


class Point(NamedTuple):
    x: int
    y: int


class Shouted(str):
    __slots__ = ()

    def __str__(self):
        return self.upper()


class Person(pydantic.BaseModel):
    name: str
    born: datetime


class Strict(pydantic.BaseModel, strict=True):
    born: datetime


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]


def task_of(fn, **options):
    """A task of an app of its own."""
    return App("memory://").task(**options)(fn)


def through(fn, *args, **kwargs):
    """What a run would be called with after this call was enqueued."""
    task = task_of(fn)
    return task.decode_arguments(task.bind(*args, **kwargs).template.payload)


VALUES = [
    (int, 7),
    (float, 1.5),
    (str, "é☃"),
    (bool, True),
    (bytes, bytes(range(256))),
    (list[int], [1, 2]),
    (tuple[int, str], (1, "a")),
    (set[int], {1, 2}),
    (dict[int, str], {1: "a"}),
    (datetime, datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)),
    (date, date(2026, 1, 2)),
    (timedelta, timedelta(seconds=90)),
    (Decimal, Decimal("1.50")),
    (UUID, UUID(int=5)),
    (Path, Path("/tmp/x")),
    (PurePosixPath, PurePosixPath("a/b")),
    (Colour, Colour.RED),
    (Size, Size.BIG),
    (Item, Item(3, {"a"})),
    (Order, Order([Item(1)], "x")),
    (Address, {"street": "Main"}),
    (Point, Point(1, 2)),
    (Person, Person(name="Ann", born=datetime(2000, 1, 1, tzinfo=UTC))),
    (Strict, Strict(born=datetime(2000, 1, 1, tzinfo=UTC))),
    (list[Cat | Dog], [Dog(kind="dog"), Cat(kind="cat")]),
    (Person | None, None),
    (Iterable[int], [1, 2]),
    (Sequence[Item], [Item(1)]),
    (Mapping[str, int], {"a": 1}),
    (int | str | None, "x"),
    (Any, {"a": [1, None, "x"]}),
    (int, 2**70),
]


@pytest.mark.parametrize(("kind", "value"), VALUES, ids=[str(kind) for kind, _ in VALUES])
def test_a_value_comes_back_as_its_annotation_says(kind, value):
    def work(x): ...

    work.__annotations__ = {"x": kind}

    _, named = through(work, value)

    assert named == {"x": value}
    assert type(named["x"]) is type(value)


def test_a_subclass_of_a_plain_type_is_stored_as_what_it_is_made_of():
    def work(x: Shouted, y: str) -> None: ...

    _, named = through(work, Shouted("quiet"), Shouted("quiet"))

    assert named["y"].encode() == b"quiet"
    assert isinstance(named["x"], Shouted)


def test_what_is_not_given_is_left_out():
    def send(to: str, *, subject: str = "hi") -> None: ...

    assert task_of(send).bind("a").template.payload == b'{"to":"a"}'
    assert through(send, "a") == ((), {"to": "a"})
    assert through(send, "a", subject="yo") == ((), {"to": "a", "subject": "yo"})


def test_every_kind_of_parameter_is_called_as_written():
    def work(a: int, /, b: int = 2, *rest: int, c: int = 3, **more: int) -> None: ...

    assert through(work, 1) == ((1,), {})
    assert through(work, 1, 5, 6, 7, c=8, d=9) == ((1, 5, 6, 7), {"c": 8, "d": 9})
    assert through(work, 1, c=4) == ((1,), {"c": 4})


def test_keyword_arguments_described_by_a_typed_dict_are_checked():
    class More(TypedDict, total=False):
        size: int

    def work(**more: Unpack[More]) -> None: ...

    work.__annotations__ = {"more": Unpack[More]}
    assert through(work, size=3) == ((), {"size": 3})
    with pytest.raises(BadArguments, match=r"\$\.more\.size: expected `int`"):
        through(work, size="big")


def test_a_function_without_annotations_takes_any_json():
    def work(a, b=None): ...

    assert through(work, {"x": [1]}, b=(1, 2)) == ((), {"a": {"x": [1]}, "b": [1, 2]})


class Other:
    pass


def send(to: str, items: list[Item] | None = None, rate: float | None = None) -> None: ...


REFUSED = [
    ((1,), {}, r"\$\.to: expected `str`, got `int`"),
    ((), {}, r"missing a required argument: 'to'; it takes \(to: "),
    (("a",), {"subjet": 1}, "unexpected keyword argument 'subjet'"),
    (("a",), {"to": "b"}, "multiple values for argument 'to'"),
    (("a", [], 1.0, 2), {}, "too many positional arguments"),
    (("a",), {"items": [{"qty": 1}, {"qty": "3"}]}, r"\$\.items\[1\]\.qty: expected `int`"),
    (("a",), {"items": [Item(1), Item(Other())]}, r"\$\.items\[1\]\.qty: objects of type Other"),
    (("a",), {"rate": float("nan")}, r"\$\.rate: nan has no form in JSON"),
    (("\ud800",), {}, r"\$\.to: .*surrogates not allowed"),
]


@pytest.mark.parametrize(("args", "kwargs", "words"), REFUSED)
def test_arguments_that_do_not_fit_are_refused_with_their_path(args, kwargs, words):
    with pytest.raises(BadArguments, match=words):
        task_of(send).bind(*args, **kwargs)


def test_a_fault_deep_in_untyped_data_is_named():
    def work(data: Any) -> None: ...

    with pytest.raises(BadArguments, match=r"\$\.data\.a\[1\]: inf"):
        task_of(work).bind({"a": [1, float("inf")]})
    with pytest.raises(BadArguments, match=r"\$\.data\.a\[1\]: objects of type Other"):
        task_of(work).bind({"a": [None, Other()]})
    with pytest.raises(BadArguments, match=r"\$\.data"):
        task_of(work).bind({(1, 2): 3})
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(BadArguments, match="recursion"):
        task_of(work).bind(endless)


def test_pydantic_says_where_in_its_model_the_fault_is():
    def work(people: list[Person]) -> None: ...

    with pytest.raises(BadArguments, match=r"\$\.people\[0\]: born: Input should be a valid date"):
        task_of(work).bind([{"name": "Ann", "born": "x"}])


def test_none_is_not_mistaken_for_a_number_that_json_lacks():
    def work(data: Any) -> None: ...

    assert through(work, {"a": None, "b": "null"})[1] == {"data": {"a": None, "b": "null"}}


def test_stored_arguments_are_checked_again_at_the_run():
    def work(a: int, b: int = 0) -> None: ...

    task = task_of(work)
    with pytest.raises(BadArguments, match=r"stored arguments do not fit: \$\.a: expected `int`"):
        task.decode_arguments(b'{"a":"x"}')
    with pytest.raises(BadArguments, match="missing required field `a`"):
        task.decode_arguments(b"{}")
    with pytest.raises(BadArguments, match="malformed"):
        task.decode_arguments(b"\xff")


def test_an_argument_that_the_function_lost_is_refused_unless_told_otherwise():
    def work(a: int) -> None: ...

    with pytest.raises(BadArguments, match="unknown field `old`"):
        task_of(work).decode_arguments(b'{"a":1,"old":2}')
    assert task_of(work, extra="ignore").decode_arguments(b'{"a":1,"old":2}') == ((), {"a": 1})


def test_annotations_may_name_what_is_defined_further_down():
    assert late.decode_arguments(late.bind(Later(1)).template.payload)[1] == {"x": Later(1)}


@app.task
def late(x: Later) -> None: ...


@dataclasses.dataclass
class Later:
    n: int


def test_an_annotation_that_cannot_be_resolved_is_explained():
    def work(x: Missing) -> None: ...

    with pytest.raises(BadArguments, match=r"'Missing' is not defined.*TYPE_CHECKING"):
        task_of(work).bind(1)


def test_an_annotation_that_cannot_be_read_is_explained():
    def work(x: Literal[1] | Item | Order) -> None: ...

    with pytest.raises(BadArguments, match="annotation of parameter 'x' cannot be read"):
        task_of(work).bind(1)


# -- results ---------------------------------------------------------------------------------------


def result_through(fn, value):
    task = task_of(fn)
    codec = task._codec
    data = task.encode_result(value)
    return None if data is None else codec.unpack_result(data)


def test_a_result_comes_back_as_the_return_annotation_says():
    def work() -> list[Person]: ...

    people = [Person(name="Ann", born=datetime(2000, 1, 1, tzinfo=UTC))]
    assert result_through(work, people) == people


def test_signals_are_no_part_of_the_result_type():
    def work() -> Item | Snooze: ...

    assert result_through(work, Item(2)) == Item(2)


def test_nothing_is_a_result_too():
    def work() -> None: ...

    assert task_of(work).encode_result(None) is None


def test_a_result_that_cannot_be_stored_is_refused():
    def work() -> Any: ...

    with pytest.raises(
        BadArguments, match=r"result cannot be stored: \$\.a: objects of type Other"
    ):
        task_of(work).encode_result({"a": Other()})


def test_a_stored_result_that_does_not_fit_is_refused():
    def work() -> int: ...

    with pytest.raises(BadArguments, match="does not fit the return annotation"):
        task_of(work)._codec.unpack_result(b'"x"')


def test_pydantic_is_not_imported_unless_it_is_used():
    code = (
        "import sys; from oxmill import App; app = App('memory://')\n"
        "@app.task\ndef f(x: int, y: list[str]) -> None: ...\n"
        "f.enqueue(1, ['a']); print('pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_value_survives(value):
    def work(data: Any) -> Any: ...

    assert through(work, value)[1] == {"data": value}
    assert result_through(work, value) == value


@app.task
def plainly(text: str, number: int, sure: bool) -> None: ...


@given(st.text(), st.integers() | st.just(-(10**638)), st.booleans())
def test_what_is_written_without_being_read_back_can_be(text, number, sure):
    written = plainly._codec.write((text, number, sure), {})

    assert written == plainly._codec.pack((text, number, sure), {})[0]
    assert plainly._codec.unpack(written)[1] == {"text": text, "number": number, "sure": sure}


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("a", -(10**4299), True), "out of range"),  # which can be written
        (("\ud800", 1, True), "surrogate"),
        (("a", 1, "yes"), "expected `bool`"),
        (("a", None, True), "expected `int`"),
        (("a", float("nan"), True), "expected `int`"),
        ((5, 1, True), "expected `str`"),
        (("a", 1), "missing a required argument: 'sure'"),
        (("a", 1, True, 2), "too many positional arguments"),
    ],
)
def test_what_could_not_be_read_is_never_written(args, words):
    plainly._codec.write(("warm", 1, True), {})

    with pytest.raises(BadArguments, match=words):
        plainly._codec.write(args, {})


def test_annotations_that_say_more_than_a_type_are_read_back_each_time():
    @app.task
    def named(name: Annotated[str, msgspec.Meta(min_length=2)]) -> None: ...

    named._codec.write(("warm",), {})

    with pytest.raises(BadArguments, match="length >= 2"):
        named._codec.write(("a",), {})


def test_attrs_classes_are_understood():
    attrs = pytest.importorskip("attrs")
    kind = attrs.make_class("Part", {"qty": attrs.field(type=int)})

    def work(x): ...

    work.__annotations__ = {"x": kind}
    assert through(work, kind(qty=3))[1] == {"x": kind(qty=3)}
