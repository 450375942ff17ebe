"""Random flows run to their end on MariaDB: every join fires once and in time, and nothing hangs."""

from hypothesis import HealthCheck, Phase, given, settings
from private_mysql import shared_server

from oxmill.drivers.mysql.driver import open_mysql
from oxmill.store.roles.installing import Migrate
from oxmill.testing.clock import VirtualClock
from oxmill.testing.face import Face, Hand
from oxmill.testing.flow_stories import stories, tell


@settings(
    max_examples=15,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(story=stories())
def test_every_flow_ends_as_its_joins_say(story):
    clock = VirtualClock()
    hand = Hand(open_mysql(shared_server().emptied(), clock=clock), Face.BLOCKING)
    try:
        hand.do(Migrate())
        tell(hand.do, clock, story)
    finally:
        hand.close()
