"""Installing: the store's own structures, versioned."""

from __future__ import annotations

import pytest

from oxmill.errors import BadInput, BadName, NotSupported
from oxmill.model.info import Finding, Mended
from oxmill.model.query import Find
from oxmill.store.capabilities import Capability
from oxmill.store.roles.installing import Check, ExtraColumn, Mend, Migrate, Version
from oxmill.testing.conformance.world import World, new_job


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


async def test_mending_a_sound_store_changes_nothing(world: World) -> None:
    await world.enqueue("a", "b", new_job("later", delay=60_000_000), new_job("in", group="g"))
    await world.claim(limit=1)
    before = [await world.job(name) for name in ("a", "b", "later", "in")]

    assert await world.do(Mend()) == Mended()

    assert [await world.job(name) for name in ("a", "b", "later", "in")] == before


async def test_several_may_migrate_at_once(world: World) -> None:
    schemas = await world.at_once(*[Migrate()] * 8)

    assert {schema.current for schema in schemas} == {schemas[0].newest}


async def test_extra_columns_change_nothing_about_jobs(world: World) -> None:
    asked = Migrate(
        extra_columns=(ExtraColumn(name="user_id", type="integer"), ExtraColumn(name="tenant"))
    )
    if Capability.SQL not in world.driver.capabilities:
        with pytest.raises(NotSupported):
            await world.do(asked)
        return
    await world.enqueue(new_job("before", fields={"user_id": 1, "tenant": "a"}))
    before = await world.job("before")

    first, again = await world.do(asked), await world.do(asked)

    assert first == again
    assert await world.job("before") == before
    for name, fields in {
        "right": {"user_id": 62, "tenant": "acme"},
        "odd": {"user_id": "no number", "tenant": -(2**63)},
        "huge": {"user_id": 2**63 - 1, "tenant": "ü\\'\"" * 100},
        "none": {},
    }.items():
        await world.enqueue(new_job(name, fields=fields))
        job = await world.job(name)
        assert job is not None
        assert dict(job.fields) == fields


@pytest.mark.parametrize(
    "name", ["", "User", "1st", "a b", 'a"b', "a`b", "a'b", "x" * 51, "payload"]
)
async def test_a_column_with_a_bad_or_taken_name_is_refused(world: World, name: str) -> None:
    wrong = BadName if Capability.SQL in world.driver.capabilities else NotSupported

    with pytest.raises(wrong):
        await world.do(Migrate(extra_columns=(ExtraColumn(name=name),)))


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


async def test_a_store_that_takes_jobs_has_nothing_to_wait_for(world: World) -> None:
    await world.enqueue("a")

    assert [finding for finding in await world.do(Check()) if finding.passes] == []


async def test_a_column_that_is_there_keeps_its_type(world: World) -> None:
    world.require(Capability.SQL)
    asked = Migrate(extra_columns=(ExtraColumn(name="tenant"),))
    await world.do(asked)

    with pytest.raises(BadInput, match="as text already"):
        await world.do(Migrate(extra_columns=(ExtraColumn(name="tenant", type="integer"),)))

    await world.do(asked)
