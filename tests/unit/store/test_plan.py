"""Plans: values that may be started any number of times, alone or abreast."""

from dataclasses import dataclass

import pytest

from oxmill.store.plan import Plan, Step, Together, ask, plan, together


@dataclass(frozen=True)
class Say(Step):
    word: str


class Role:
    """A role whose operations only talk."""

    def __init__(self, *, broken=False):
        self.broken = broken

    @plan("chat")
    def chat(self, words):
        """Say each word and collect the echoes."""
        echoes = ()
        for word in words:
            echoes += ((yield from ask(Say(word))),)
        if self.broken:
            raise ValueError(words)
        return echoes

    @plan("look", writes=False)
    def look(self, request):
        return (yield from ask(Say(request)))


def perform(a_plan):
    """Perform a plan; give the answer and the steps it took."""
    asked, reply, steps = [], None, a_plan.start()
    while True:
        try:
            step = steps.send(reply)
        except StopIteration as end:
            return end.value, asked
        asked.append(step)
        reply = answer(step)


def answer(step):
    return tuple(map(answer, step.steps)) if isinstance(step, Together) else step.word.upper()


def test_a_plan_knows_its_name_its_request_and_whether_it_writes():
    chat, look = Role().chat(("a",)), Role().look("b")

    assert (chat.name, chat.request, chat.writes) == ("chat", ("a",), True)
    assert (look.name, look.request, look.writes) == ("look", "b", False)
    assert Role.chat.__doc__ == "Say each word and collect the echoes."
    assert Role.chat.__name__ == "chat"


def test_a_plan_yields_steps_and_returns_the_answer():
    found, asked = perform(Role().chat(("a", "b")))

    assert found == ("A", "B")
    assert asked == [Say("a"), Say("b")]


def test_a_plan_may_be_performed_any_number_of_times():
    chat = Role().chat(("a", "b"))

    assert perform(chat) == perform(chat)


def test_two_plans_abreast_share_round_trips():
    both = together(Role().chat(("a", "b")), Role().chat(("x", "y")))

    found, asked = perform(both)

    assert found == (("A", "B"), ("X", "Y"))
    assert asked == [Together((Say("a"), Say("x"))), Together((Say("b"), Say("y")))]


@pytest.mark.parametrize(
    ("first", "second"),
    [(("a",), ("x", "y", "z")), (("a", "b", "c"), ("x",)), ((), ("x",)), (("a",), ()), ((), ())],
)
def test_the_longer_plan_goes_on_alone(first, second):
    found, asked = perform(together(Role().chat(first), Role().chat(second)))

    assert found == tuple(tuple(map(str.upper, words)) for words in (first, second))
    assert len(asked) == max(len(first), len(second))


def test_abreast_the_first_comes_first_in_every_round():
    _, asked = perform(together(Role().chat(("a", "b")), Role().chat(("x", "y"))))

    assert [step.steps[0].word for step in asked] == ["a", "b"]


def test_plans_abreast_have_both_names_and_both_requests():
    both = together(Role().chat(("a",)), Role().look("x"))

    assert (both.name, both.request, both.writes) == ("chat+look", (("a",), "x"), True)
    assert not together(Role().look("x"), Role().look("y")).writes


def test_plans_abreast_may_be_performed_again_and_nested():
    inner = together(Role().chat(("a",)), Role().chat(("b",)))
    nested = together(inner, Role().chat(("c",)))

    assert perform(nested)[0] == ((("A",), ("B",)), ("C",))
    assert perform(nested) == perform(nested)


@pytest.mark.parametrize("order", [(True, False), (False, True)])
def test_an_error_of_either_ends_both(order):
    both = together(*(Role(broken=broken).chat(("a",)) for broken in order))

    with pytest.raises(ValueError, match="a"):
        perform(both)


def test_a_plan_without_steps_is_done_at_once():
    def nothing():
        return 5
        yield

    assert perform(Plan("nothing", None, nothing)) == (5, [])
