"""Unique keys: who holds them, and what happens to them when jobs start and end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from oxmill.drivers.sql.rows import Standing, extras_in, json_text, standings
from oxmill.drivers.sql.steps import Many, Statement
from oxmill.model.value import Micros
from oxmill.store.plan import Steps, ask


@dataclass(slots=True)
class Holding:
    """Who holds one key."""

    holder: str
    live: bool
    """Held because the holder has not ended (or, until *started*, has not been claimed)."""
    hold_until: Micros | None
    """Held until then in any case."""
    successor: str | None = None
    """The one job that runs after the holder."""

    def taken(self, now: Micros) -> bool:
        """Whether the key is taken."""
        held = self.hold_until is not None and self.hold_until > now
        return self.live or held or self.successor is not None


@dataclass(slots=True)
class Keys:
    """The keys that an operation is about, as they stand and as they will be written."""

    held: dict[str, Holding] = field(default_factory=dict)
    jobs: dict[str, Standing] = field(default_factory=dict)
    """Holders and successors by id, as far as they are there."""
    _touched: dict[str, None] = field(default_factory=dict)

    def job(self, key: str, job_id: str | None) -> Standing | None:
        """The job of this id, if it is there and is about this key: another one may have been given
        the id of a holder that is gone."""
        job = None if job_id is None else self.jobs.get(job_id)
        return job if job is not None and job.unique_key == key else None

    def put(self, key: str, holding: Holding) -> None:
        """The key is held like this from now on."""
        self.held[key] = holding
        self._touched[key] = None

    def drop(self, key: str) -> None:
        """The key is free."""
        self.held.pop(key, None)
        self._touched[key] = None

    def let_go(self, job: Standing, now: Micros) -> None:
        """The key is no longer held by this job's life; `within` may still hold it."""
        if job.unique_key is None:
            return
        holding = self.held.get(job.unique_key)
        if holding is None or holding.holder != job.id:
            return
        holding.live = False
        if holding.taken(now):
            self.put(job.unique_key, holding)
        else:
            self.drop(job.unique_key)

    def forget(self, job: Standing) -> None:
        """The key is free, if this job held it: also of `within`."""
        holding = None if job.unique_key is None else self.held.get(job.unique_key)
        if holding is not None and holding.holder == job.id and job.unique_key is not None:
            self.drop(job.unique_key)

    def inherit(self, job: Standing, now: Micros) -> Standing | None:
        """An ended job gives its key to its successor, which is the answer, or back. A successor
        that ends just leaves."""
        if job.unique_key is None:
            return None
        holding = self.held.get(job.unique_key)
        heir: Standing | None = None
        if holding is not None and holding.successor == job.id:
            holding.successor = None
            self.put(job.unique_key, holding)
        elif holding is not None and holding.holder == job.id and holding.successor is not None:
            heir = self.job(job.unique_key, holding.successor)
            holding.successor = None
            if heir is not None:
                holding = Holding(heir.id, live=True, hold_until=self._hold(heir))
            self.put(job.unique_key, holding)
        self.let_go(job, now)
        return heir

    @staticmethod
    def _hold(heir: Standing) -> Micros | None:
        within = extras_in(heir.extras).within
        return None if within is None else heir.enqueued_at + within

    def write(self) -> Steps[None]:
        """Write down what has changed."""
        gone = [key for key in self._touched if key not in self.held]
        kept = [
            (key, each.holder, int(each.live), each.hold_until, each.successor)
            for key in self._touched
            if (each := self.held.get(key)) is not None
        ]
        if gone:
            yield from ask(Statement("drop_keys", {"keys": json_text(gone)}))
        if kept:
            yield from ask(Many("put_keys", kept))


def load_keys(keys: Iterable[str], known: Iterable[Standing] = ()) -> Steps[Keys]:
    """These keys, with the jobs that hold them and that come next.

    Jobs that the caller has at hand are taken as they are: there must be one standing per job.
    """
    asked = list(dict.fromkeys(keys))
    if not asked:
        return Keys()
    rows = yield from ask(Statement("keys_by_key", {"keys": json_text(asked)}, locks=True))
    held = {
        key: Holding(holder, bool(live), hold_until, successor)
        for key, holder, live, hold_until, successor in rows
    }
    if not held:
        return Keys()
    ids = {job for each in held.values() for job in (each.holder, each.successor) if job}
    found = yield from ask(
        Statement("standings_by_id", {"ids": json_text(sorted(ids))}, locks=True)
    )
    jobs = {job.id: job for job in (*standings(found), *known)}
    loaded = Keys(held, jobs)
    for key, each in held.items():
        # Rows deleted behind our back must not block a key for ever.
        each.live = each.live and loaded.job(key, each.holder) is not None
    return loaded
