import pytest

from oxmill.store.late import late


class Part:
    def __init__(self, made):
        made.append(self)

    def greet(self, name):
        return self, f"hello {name}"


def test_a_late_part_is_made_at_its_first_use_and_only_then():
    made = []

    part = late(lambda: Part(made))

    assert made == []
    first, greeting = part.greet("you")
    again, _ = part.greet("you")
    assert greeting == "hello you"
    assert made == [first]
    assert again is first


def test_a_part_that_could_not_be_made_is_tried_again():
    made, faults = [], [ImportError("not there yet")]

    def make():
        if faults:
            raise faults.pop()
        return Part(made)

    part = late(make)
    with pytest.raises(ImportError, match="not there yet"):
        part.greet("you")

    assert part.greet("you")[1] == "hello you"
