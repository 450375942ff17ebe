"""Versions of a schema: the numbered files of a driver, and what may not be used."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from oxmill.errors import SchemaMismatch
from oxmill.model.info import Schema


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from a version of the schema to the next."""

    version: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """Tells whether the text is still the one that was applied."""
        import hashlib  # noqa: PLC0415 - idle workers do without

        return hashlib.sha256(self.text.encode()).hexdigest()


@cache
def migrations_of(package: str) -> tuple[Migration, ...]:
    """All migrations of a driver, oldest first."""
    folder = files(package).joinpath("migrations")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple(
        Migration(
            int(name.partition("_")[0]),
            name.removesuffix(".sql"),
            folder.joinpath(name).read_text(encoding="utf-8"),
        )
        for name in names
    )


def refuse_newer(found: Schema, shown: str = "the database") -> None:
    """Refuse a schema that only a newer version of this code knows."""
    if found.current > found.newest:
        raise SchemaMismatch(
            f"{shown} has schema version {found.current}, but this Oxmill knows only up to "
            f"{found.newest}; update Oxmill here, or use the version that wrote it"
        )
