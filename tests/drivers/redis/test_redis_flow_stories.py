"""Stories of flows on Redis: made-up ones, and those told with a real worker."""

from itertools import count

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from private_redis import shared_server

from flow_cases import FlowCases, _able
from oxmill import App
from oxmill.drivers.redis import script
from oxmill.drivers.redis.driver import REDIS_BOUNDS, open_redis
from oxmill.testing.clock import VirtualClock
from oxmill.testing.face import Face, Hand
from oxmill.testing.flow_stories import stories, tell

__all__ = ["_able"]
NUMBERS = count()
STORIES = settings(
    max_examples=25,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def app(redis_server, tmp_path):
    with App(f"{redis_server.url}?namespace={tmp_path.name}", mode="process") as made:
        yield made


class TestFlows(FlowCases):
    pass


@pytest.fixture
def few_edges():
    """Scripts that make two edges at once, so that small graphs have what large ones have."""
    scripts = [each for each in vars(script).values() if isinstance(each, script.Script)]
    wide, narrow = "EDGES_AT_ONCE = 250", "EDGES_AT_ONCE = 2"
    assert wide in script.ENQUEUE_FLOW.text
    for each in scripts:
        vars(each)["text"] = each.text.replace(wide, narrow)
        vars(each).pop("sha", None)
    yield
    for each in scripts:
        vars(each).pop("text")
        vars(each).pop("sha", None)


def told(story, name, bound):
    clock = VirtualClock()
    bounds = msgspec.structs.replace(REDIS_BOUNDS, cleanup_jobs=bound)
    namespace = f"{name}-{next(NUMBERS)}"
    driver = open_redis(shared_server().url, namespace=namespace, clock=clock, bounds=bounds)
    hand = Hand(driver, Face.BLOCKING)
    try:
        tell(hand.do, clock, story)
    finally:
        hand.close()


@STORIES
@given(story=stories())
def test_every_flow_ends_as_its_joins_say(story, tmp_path):
    told(story, tmp_path.name, 100)


@STORIES
@given(story=stories())
def test_every_flow_ends_where_little_is_done_at_once(story, tmp_path, few_edges):
    told(story, tmp_path.name, 1)
