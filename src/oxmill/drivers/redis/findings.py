"""What is unsafe about a server, as a pure function of what it says about itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal, get_args

from oxmill.errors import BadConfig
from oxmill.model.info import Finding, Level

Mode = Literal["durable", "process", "volatile"]
"""What an acknowledged write survives. `durable`: everything, a killed server and a power cut too.
`process`: the end of all workers and producers and a restart of the server; if the server is killed or
loses power, all but the last seconds. `volatile`: nothing is promised."""
_MODES: Final[tuple[Mode, ...]] = get_args(Mode)

OLDEST: Final = (6, 2)
UNKNOWN: Final = "unknown"


def mode_of(text: str) -> Mode:
    """The mode of this name."""
    for mode in _MODES:
        if text == mode:
            return mode
    raise BadConfig(f"mode={text} is not a mode; use {', '.join(_MODES)}")


def findings_of(
    facts: Mapping[str, str], mode: Mode, replicas: int, before: str = ""
) -> Iterator[Finding]:
    """The facts are the fields of INFO, of CONFIG under `config:`, and `wait` if that is refused; `before` is the `run_id` that
    the last look found, if there was one."""
    yield from _version(facts)
    yield from _eviction(facts)
    if mode != "volatile":
        yield from _log(facts, mode)
        yield from _disk(facts)
        yield from _restart(facts, before)
    yield from _role(facts)
    yield from _replication(facts, replicas)
    yield from _least_replicas(facts)


def _version(facts: Mapping[str, str]) -> Iterator[Finding]:
    found = facts.get("redis_version", UNKNOWN)
    numbers = tuple(int(part) for part in found.split(".")[:2] if part.isdecimal())
    if numbers and numbers < OLDEST:
        yield Finding(
            level=Level.REFUSE,
            name="version",
            found=found,
            wanted="6.2 or newer",
            risk="scripts use commands that this server does not have",
            remedy="upgrade the server",
        )


def _eviction(facts: Mapping[str, str]) -> Iterator[Finding]:
    policy = facts.get("config:maxmemory-policy") or facts.get("maxmemory_policy") or UNKNOWN
    if policy != "noeviction":
        yield Finding(
            level=Level.WARN if policy == UNKNOWN else Level.REFUSE,
            name="maxmemory-policy",
            found=policy,
            wanted="noeviction",
            risk="a server short of memory would throw jobs away without a trace",
            remedy="CONFIG SET maxmemory-policy noeviction, and in redis.conf; use one server "
            "for jobs and another for caches",
        )
    limit = facts.get("config:maxmemory") or facts.get("maxmemory") or UNKNOWN
    if limit == "0":
        yield Finding(
            level=Level.NOTE,
            name="maxmemory",
            found="no limit",
            wanted="a limit below the memory of the host",
            risk="the kernel may kill a server that outgrows its host; with a limit new work is "
            "refused while running jobs can still be settled",
            remedy="set maxmemory",
        )


def _log(facts: Mapping[str, str], mode: Mode) -> Iterator[Finding]:
    enabled = facts.get("aof_enabled", UNKNOWN)
    if enabled != "1":
        strict = mode == "durable" and enabled == "0"
        yield Finding(
            level=Level.REFUSE if strict else Level.WARN,
            name="appendonly",
            found="no" if enabled == "0" else UNKNOWN,
            wanted="yes",
            risk="a killed or restarted server loses all jobs since its last snapshot",
            remedy="CONFIG SET appendonly yes, and in redis.conf; or open the store with "
            'mode="volatile" if jobs may be lost',
        )
        return
    yield from _syncing(facts, mode)


def _syncing(facts: Mapping[str, str], mode: Mode) -> Iterator[Finding]:
    """Before it answers, a server that syncs always has written to the disk; one that never syncs,
    to the kernel. One that syncs every second has written to the kernel too, unless a sync was under
    way: then it holds back what it has acknowledged, for up to two seconds."""
    sync = facts.get("config:appendfsync", UNKNOWN)
    if sync != "always" and mode == "durable":
        yield Finding(
            level=Level.REFUSE if sync == "no" else Level.WARN,
            name="appendfsync",
            found=sync,
            wanted="always",
            risk=_LOST.get(sync, "a power cut may lose acknowledged jobs"),
            remedy="CONFIG SET appendfsync always, and in redis.conf; or open the store with "
            'mode="process" (?mode=process in the URL) if the last seconds may be lost',
        )
    elif sync in _LOST:
        yield Finding(
            level=Level.NOTE if sync == "everysec" else Level.WARN,
            name="appendfsync",
            found=sync,
            wanted="everysec or always",
            risk=_LOST[sync],
            remedy="CONFIG SET appendfsync always, if that is too much",
        )
    if facts.get("config:no-appendfsync-on-rewrite") == "yes":
        yield Finding(
            level=Level.REFUSE if mode == "durable" else Level.WARN,
            name="no-appendfsync-on-rewrite",
            found="yes",
            wanted="no",
            risk="nothing is synced to the disk while the log is rewritten",
            remedy="CONFIG SET no-appendfsync-on-rewrite no, and in redis.conf",
        )


_LOST: Final = {
    "everysec": "a power cut loses the jobs of the last two seconds; so does a killed server, if a "
    "sync was under way just then",
    "no": "a power cut loses whatever the kernel has not written yet, which may be half a minute",
}


def _disk(facts: Mapping[str, str]) -> Iterator[Finding]:
    for name in ("aof_last_write_status", "aof_last_bgrewrite_status"):
        status = facts.get(name, "ok")
        if status != "ok":
            yield Finding(
                level=Level.WARN,
                name=name,
                found=status,
                wanted="ok",
                risk="the server could not write its log: what it acknowledges may be lost",
                remedy="look at the server's disk and log",
            )

    if facts.get("rdb_last_bgsave_status", "ok") != "ok":
        yield Finding(
            level=Level.WARN,
            name="rdb_last_bgsave_status",
            found=facts["rdb_last_bgsave_status"],
            wanted="ok",
            risk="the server cannot write snapshots; by default it then refuses all writes",
            remedy="look at the server's disk, memory and log",
        )


def _restart(facts: Mapping[str, str], before: str) -> Iterator[Finding]:
    """Told once, by the look that follows."""
    now = facts.get("run_id", "")
    if before and now and now != before:
        yield Finding(
            level=Level.WARN,
            name="run_id",
            found=f"{now}, was {before}",
            wanted="the same server",
            risk="the server was restarted, or another took its place: what was not synced or "
            "replicated then is lost",
            remedy="see what has happened to the server; jobs that ran go on",
        )


def _least_replicas(facts: Mapping[str, str]) -> Iterator[Finding]:
    text = facts.get("config:min-replicas-to-write", "")
    there = int(facts.get("connected_slaves", "0"))
    if not text.isdecimal():
        return
    if int(text) > there:
        yield Finding(
            level=Level.REFUSE,
            name="min-replicas-to-write",
            found=f"{text}, with {there} connected",
            wanted="as many replicas as that, or a smaller number",
            risk="the server refuses every write",
            remedy="connect more replicas, or CONFIG SET min-replicas-to-write",
            passes=True,
        )
    elif there and text == "0":
        yield Finding(
            level=Level.NOTE,
            name="min-replicas-to-write",
            found="0",
            wanted="1 or more",
            risk="a primary that is cut off from its replicas goes on taking jobs, which a "
            "fail-over then loses",
            remedy="CONFIG SET min-replicas-to-write 1, and in redis.conf",
        )


def _role(facts: Mapping[str, str]) -> Iterator[Finding]:
    role = facts.get("role", "master")
    if role != "master":
        yield Finding(
            level=Level.REFUSE,
            name="role",
            found=role,
            wanted="master",
            risk="a replica takes no writes",
            remedy="connect to the primary, or through sentinels or a cluster URL",
            passes=True,
        )


def _replication(facts: Mapping[str, str], wanted: int) -> Iterator[Finding]:
    if facts.get("wait") == "refused":
        yield Finding(
            level=Level.REFUSE,
            name="wait",
            found="not allowed to this user",
            wanted="the right to use WAIT, for replicas= in the URL",
            risk="nobody learns whether replicas have a write: every one ends in an error",
            remedy="ACL SETUSER with +wait, or take replicas= out of the URL",
        )
    there = int(facts.get("connected_slaves", "0"))
    if there < wanted:
        yield Finding(
            level=Level.REFUSE,
            name="replicas",
            found=str(there),
            wanted=f"at least {wanted}",
            risk="every write waits in vain for replicas to confirm it",
            remedy="connect more replicas, or lower replicas= in the URL",
            passes=True,
        )
    elif there and not wanted:
        yield Finding(
            level=Level.NOTE,
            name="replicas",
            found=f"{there}, which are told after the answer",
            wanted="known to you",
            risk="a fail-over may lose the last jobs acknowledged",
            remedy="add ?replicas=1 to the URL to wait for a replica at each write",
        )
