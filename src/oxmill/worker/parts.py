"""The agents of one worker, made and tied together in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from oxmill.errors import BadConfig
from oxmill.maintenance.pruner import Pruner
from oxmill.maintenance.scheduler import Scheduler
from oxmill.maintenance.service import Service
from oxmill.maintenance.sweeper import Sweeper
from oxmill.maintenance.vetting import Vetting
from oxmill.model.schedule import Schedule
from oxmill.model.settings import SECOND
from oxmill.observe.bus import Bus
from oxmill.observe.metrics import Metrics
from oxmill.queue.registry import Registry
from oxmill.store.admission import check_name
from oxmill.store.doorbell import CONTROL, SWEEP, Bell, work
from oxmill.store.driver import Driver
from oxmill.worker.beat import Heartbeat
from oxmill.worker.claimer import Claimer
from oxmill.worker.config import WorkerConfig
from oxmill.worker.execution import Execution
from oxmill.worker.executor import Executor
from oxmill.worker.flow_store import FlowStore
from oxmill.worker.lanes.choice import Lanes
from oxmill.worker.middleware import Lifespan, Middleware
from oxmill.worker.renewer import Renewer
from oxmill.worker.settler import Settler
from oxmill.worker.systemd import Systemd
from oxmill.worker.watchdog import Watchdog

if TYPE_CHECKING:
    from oxmill.worker.messages import Hello


@dataclass(frozen=True, slots=True)
class Parts:
    """Who does what: claim, run, settle, renew, beat, watch; and what is done at intervals."""

    bus: Bus
    metrics: Metrics
    lanes: Lanes
    executor: Executor
    settler: Settler
    claimer: Claimer
    renewer: Renewer
    beat: Heartbeat
    watchdog: Watchdog
    systemd: Systemd
    vetting: Vetting
    sweeper: Sweeper
    services: tuple[Service, ...]


class Extras(TypedDict, total=False):
    """What a worker may be given besides its store, tasks and configuration."""

    schedules: Sequence[Schedule]
    """Put into the store at the start."""
    middleware: Sequence[Middleware]
    lifespan: Lifespan | None
    app_spec: str | None
    """`module:name` of the app, for child processes to import."""


def assemble(
    driver: Driver, registry: Registry, config: WorkerConfig, hello: Hello | None, extras: Extras
) -> Parts:
    """All parts of a worker, tied together; nothing runs yet."""
    _check_pools(registry, hello)
    queues = _queues(driver, registry, config)
    bus, metrics = Bus(), Metrics()
    lanes = Lanes(config.slots, bus=bus, hello=hello, recycle=config.child_jobs)
    execution = Execution(registry, lanes, bus)
    execution.flows = FlowStore(driver)
    execution.middleware, execution.bounds = tuple(extras.get("middleware", ())), driver.bounds
    settler = Settler(driver, config.lease, bus, metrics)
    executor = Executor(execution, settler, bus, metrics, config.patience / SECOND)
    claimer = Claimer(driver, config, executor, settler, bus)
    claimer.queues, claimer.metrics = queues, metrics
    beat = Heartbeat(driver, bus, config.beat_every / SECOND)
    sweeper = Sweeper(driver, bus, config.sweep_every / SECOND)
    settler.on_left = claimer.on_left = sweeper.wake
    systemd, vetting = Systemd(), Vetting(driver, bus, config.allow)
    return Parts(
        bus=bus,
        metrics=metrics,
        lanes=lanes,
        executor=executor,
        settler=settler,
        claimer=claimer,
        renewer=Renewer(driver, config, executor, bus, metrics),
        beat=beat,
        watchdog=Watchdog(claimer, bus, systemd),
        systemd=systemd,
        vetting=vetting,
        sweeper=sweeper,
        services=(
            beat,
            vetting,
            sweeper,
            Pruner(driver, bus, config.prune_every / SECOND),
            Scheduler(driver, bus, extras.get("schedules", ()), firing=config.scheduler),
        ),
    )


def bells(driver: Driver, parts: Parts) -> list[Bell]:
    """Bells that tell, in this event loop, of work, of what people ask, and of what others leave. A ring is a
    hint: to miss one costs time, not work."""

    def asked() -> None:
        parts.renewer.renew_now()
        parts.beat.wake()

    hung: list[Bell] = []
    for topics, on_ring in (
        ([work(queue) for queue in parts.claimer.queues], parts.claimer.wake),
        ([CONTROL], asked),
        ([SWEEP], parts.sweeper.wake),
    ):
        hung.append(driver.doorbell.attend(topics))
        hung[-1].tell(on_ring)
    return hung


def _queues(driver: Driver, registry: Registry, config: WorkerConfig) -> tuple[str, ...]:
    queues = tuple(config.queues or registry.queues())
    for queue in queues:
        check_name("queue name", queue, driver.bounds.name_bytes)
    return queues


def _check_pools(registry: Registry, hello: Hello | None) -> None:
    if hello is not None:
        return
    for task in registry:
        if task.options.pool == "process":
            raise BadConfig(
                f"task {task.name!r} wants a child process (pool='process'), but the worker was "
                f"not told where the app can be imported from. Start it with `oxmill worker "
                f"--app module:app`, or give app_spec='module:app'"
            )
