"""The whole conformance suite, for the test module of a driver.

A driver's own test is one screen:

    from oxmill.testing.conformance.suite import Opening, all_tests, worlds

    def open_store(opening: Opening) -> Driver:
        return open_my_driver(opening.path / "store", clock=opening.clock, doorbell=opening.doorbell)

    world = worlds({"mine": open_store})
    globals().update(all_tests())

Each test then runs for every factory given, through the blocking and the async face, with the
doorbell on and off. A test is skipped only where the driver does not declare a capability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

from oxmill.store.driver import Driver
from oxmill.store.roles.installing import Migrate
from oxmill.testing.clock import VirtualClock
from oxmill.testing.conformance.world import World
from oxmill.testing.face import Face
from oxmill.testing.operations import plan_for

ROLES: Final = (
    "installing",
    "enqueueing",
    "claiming",
    "settling",
    "scheduling",
    "steering",
    "inspecting",
    "housekeeping",
)
"""One file each, as in `oxmill.store.roles`."""

ACROSS: Final = (
    "cancelling",
    "counting",
    "doorbell",
    "explaining",
    "fidelity",
    "flowing",
    "following",
    "gating",
    "grouping",
    "joining",
    "leases",
    "limiting",
    "metering",
    "ordering",
    "preparing",
    "redriving",
    "retention",
    "rippling",
    "ruling",
    "scoping",
    "spawning",
    "staging",
    "stepping",
    "unique",
    "concurrency",
)
"""Promises that take several roles to keep."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What a factory may use to open an empty store of its own."""

    path: Path
    """A new directory, gone after the test; its name is unique, so it may serve as a namespace."""
    clock: VirtualClock
    """To be used by drivers with virtual time, and ignored by others."""
    doorbell: bool


Factory = Callable[[Opening], Driver]


def all_tests() -> dict[str, Callable[..., Any]]:
    """Every test of the suite under a name that starts with its file's: `test_claiming_…`."""
    found: dict[str, Callable[..., Any]] = {}
    for name in (*ROLES, *ACROSS):
        module = f"{__package__}.{name}"
        pytest.register_assert_rewrite(module)
        for attribute, value in vars(import_module(module)).items():
            if attribute.startswith("test_"):
                found[f"test_{name}_{attribute[5:]}"] = pytest.mark.asyncio(value)
    return found


def worlds(factories: Mapping[str, Factory]) -> Any:
    """The fixture `world`: every driver, each face, with and without its doorbell."""
    kinds = [
        pytest.param((factory, face, rings), id=f"{name}-{face}-{'bell' if rings else 'silent'}")
        for (name, factory), face, rings in product(factories.items(), Face, (True, False))
    ]

    @pytest.fixture(params=kinds)
    def world(request: pytest.FixtureRequest) -> Iterator[World]:
        factory, face, rings = request.param
        clock = VirtualClock()
        # Of thousands of tests: pytest's own folders are slower, and stay for three more runs.
        with TemporaryDirectory(prefix="oxmill-") as folder:
            driver = factory(Opening(Path(folder), clock, rings))
            try:
                driver.run(plan_for(driver, Migrate()))
                yield World(driver, face, clock, rings)
            finally:
                driver.close()

    return world
