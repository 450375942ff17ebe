"""Which calls count as the same."""

from dataclasses import dataclass

import pytest

from oxmill import App, BadArguments, BadName, Unique
from oxmill.model.unique import OnConflict, Until


@pytest.fixture
def app():
    return App("memory://")


@pytest.fixture
def send(app):
    @app.task(name="send", unique=True)
    def send(to: str, n: float = 1.0, *, tags: tuple[str, ...] = ()) -> None: ...

    return send


def key(task, *args, **kwargs):
    return task.bind(*args, **kwargs).template.unique.key


def test_by_default_all_arguments_count_with_their_defaults(send):
    assert key(send, "a") == 'send{"n":1.0,"tags":[],"to":"a"}'
    assert key(send, "a") == key(send, to="a", n=1, tags=[])
    assert key(send, "a") != key(send, "b")
    assert key(send, "a") != key(send, "a", 2)


def test_named_fields_count_alone(send):
    by_address = send.using(unique=Unique(fields=["to"]))

    assert key(by_address, "a", 2) == key(by_address, "a", 3) == 'send{"to":"a"}'


def test_one_field_may_be_given_as_text(send):
    assert key(send.using(unique=Unique(fields="to")), "a") == 'send{"to":"a"}'


def test_a_field_that_is_no_argument_is_refused(send):
    with pytest.raises(BadArguments, match="names nobody"):
        send.using(unique=Unique(fields=["nobody"])).bind("a")


def test_a_key_may_be_text_or_made_from_the_arguments(send):
    assert key(send.using(unique="k"), "a") == "k"
    assert key(send.using(unique=Unique("k")), "a") == "k"
    made = Unique(lambda to, n=1.0, tags=(): f"{to}/{n}")
    assert key(send.using(unique=made), "a", 5) == "a/5"


def test_a_function_that_makes_no_text_is_refused(send):
    with pytest.raises(BadArguments, match="returned 5, not text"):
        send.using(unique=Unique(lambda *_, **__: 5)).bind("a")


def test_uniqueness_can_be_lifted_for_a_call(send):
    assert send.using(unique=False).bind("a").template.unique is None


def test_the_terms_reach_the_store(send):
    unique = Unique(within="1h", until="started", on_conflict="rerun")

    made = send.using(unique=unique).bind("a").template.unique

    assert (made.within, made.until, made.on_conflict) == (
        3_600_000_000,
        Until.STARTED,
        OnConflict.RERUN,
    )


def test_a_key_of_arguments_over_the_limit_says_what_to_do(send):
    with pytest.raises(BadName, match=r"takes 2,0\d\d bytes; the limit is 1,000.*fields="):
        send.bind("x" * 2_000)
    with pytest.raises(BadName, match="bytes"):
        send.bind("é" * 600)
    assert key(send, "x" * 900)


def test_models_count_by_their_content(app):
    @dataclass
    class Item:
        b: int
        a: dict[str, int]

    @app.task(name="t", unique=True)
    def work(item): ...

    work.fn.__annotations__["item"] = Item
    assert key(work, Item(1, {"y": 1, "x": 2})) == 't{"item":{"a":{"x":2,"y":1},"b":1}}'
