"""Flows of every kind, cut off at each of their steps, for the tests of a store."""

import pytest

from .flow_scenes import SCENES
from .flow_stage import Zygote, felled, killed

each_scene = pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)


@pytest.fixture(scope="session")
def zygote():
    made = Zygote()
    yield made
    made.close()


class KilledProcesses:
    """Inherited by a class beside a fixture `store`: where it is, and its mode."""

    @each_scene
    def test_flows_outlive_whoever_dies_at_each_of_their_steps(
        self, zygote, store, tmp_path, scene
    ):
        killed(zygote, store, scene, tmp_path)


class KilledServers:
    """Inherited by a class beside a fixture `mortal`: a server, and the store on it."""

    whens = ("amid", "after")
    """Before a step is much the same as after the one before it. On SQL stores so is amid: a transaction
    that was open leaves nothing behind."""

    @each_scene
    def test_flows_outlive_a_server_that_dies_at_each_of_their_steps(self, mortal, tmp_path, scene):
        server, store = mortal
        felled(server, store, scene, tmp_path, self.whens)
