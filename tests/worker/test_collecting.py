"""A full worker does not set off searches for circles with every claim, and puts back what it changed."""

import gc

import pytest

from oxmill import App
from oxmill.worker.collecting import seldom_collected


@pytest.fixture(autouse=True)
def thresholds():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_a_worker_has_room_for_the_objects_of_all_its_slots(tmp_path):
    app = App(f"sqlite:///{tmp_path}/q.db")
    seen = []

    @app.task()
    async def look() -> None:
        seen.append(gc.get_threshold())

    look.enqueue()
    gc.set_threshold(700, 11, 12)
    assert app.worker(slots=400, drain=True).run() == 0
    assert seen == [(10_000, 11, 12)]
    assert gc.get_threshold() == (700, 11, 12)
    app.close()


@pytest.mark.parametrize("young", [0, 10_001])
def test_what_the_process_has_chosen_stays(young):
    gc.set_threshold(young, 11, 12)
    with seldom_collected(400):
        assert gc.get_threshold() == (young, 11, 12)
    assert gc.get_threshold() == (young, 11, 12)


def test_it_is_put_back_after_an_error():
    gc.set_threshold(700, 11, 12)
    with pytest.raises(RuntimeError), seldom_collected(400):
        raise RuntimeError
    assert gc.get_threshold() == (700, 11, 12)
