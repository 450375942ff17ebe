"""Installing: the store's own structures, versioned."""

from __future__ import annotations

from oxmill.model.info import Finding
from oxmill.model.query import Find
from oxmill.store.roles.installing import Check, Migrate, Version
from oxmill.testing.conformance.world import World


async def test_a_migrated_store_has_the_newest_version(world: World) -> None:
    schema = await world.do(Version())

    assert schema.current == schema.newest
    assert not schema.pending


async def test_migrating_again_changes_nothing(world: World) -> None:
    before = await world.do(Version())
    await world.enqueue("a")
    job = await world.job("a")

    again = await world.do(Migrate())

    assert again.current == before.current
    assert not again.pending
    assert await world.do(Version()) == before
    assert await world.job("a") == job


async def test_several_may_migrate_at_once(world: World) -> None:
    schemas = await world.at_once(*[Migrate()] * 8)

    assert {schema.current for schema in schemas} == {schemas[0].newest}


async def test_every_finding_says_what_is_wrong_and_what_to_do(world: World) -> None:
    findings = await world.do(Check())

    for finding in findings:
        assert isinstance(finding, Finding)
        assert finding.name
        assert finding.found
        assert finding.risk
        assert finding.remedy


async def test_version_and_check_write_nothing(world: World) -> None:
    await world.enqueue("a", "b")
    before = await world.do(Find())

    await world.do(Version())
    await world.do(Check())

    assert await world.do(Find()) == before
