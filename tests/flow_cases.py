"""Stories of flows with a real worker, told on every store that has them."""

import asyncio
import threading
import time
from itertools import count

import pytest

from oxmill import Failed, FlowNotFound, FlowStatus, Next, Spawn, State, StoreError, current
from oxmill.model.claim import Claim
from oxmill.store.capabilities import Capability

PATIENCE = 60
LARGE = 10_000
_NUMBERS = count()


@pytest.fixture(autouse=True)
def _able(app):
    """What a store cannot do is a missing capability."""
    if Capability.FLOWS not in app.driver.capabilities:
        pytest.skip("this store has no flows")


class FlowCases:
    """Inherited by a class beside a fixture `app`."""

    def test_a_graph_hands_results_along(self, app):
        @app.task(name="give", retry=None)
        async def give(n: int) -> int:
            if n < 0:
                raise ValueError(n)
            return n

        @app.task(name="total")
        def total(numbers: list[int | Failed], extra: dict[str, int]) -> list[int | str]:
            return [each if isinstance(each, int) else each.error_type for each in numbers] + [
                extra["n"]
            ]

        with app.flow("graph", fields={"story": "graph"}) as f:
            nodes = [f.add(give, n) for n in (1, -2, 3)]
            told = f.add(total, [node.out for node in nodes], {"n": nodes[0].out})
            told.join(on_failure="collect")
            firm = f.add(give, nodes[1].out)
        with app.running(sweep_every=0.2):
            assert f.result(told, timeout=PATIENCE) == [1, "ValueError", 3, 1]
            info = f.outcome(timeout=PATIENCE)
        assert info.status is FlowStatus.FAILED
        assert info.counts == {State.SUCCEEDED: 3, State.FAILED: 2}
        assert app.get(firm.id).reason == "dependency"
        assert [each.id for each in app.flows.find(fields={"story": "graph"})] == [f.id]
        assert f.retry() == 2

    @pytest.mark.parametrize("blocking", [True, False])
    def test_who_waits_for_a_flow_is_woken_at_its_end(self, app, monkeypatch, blocking):
        """Looking at the store again would take longer than the test's patience."""
        monkeypatch.setattr("oxmill.queue.flow._FIRST_PAUSE", 10 * PATIENCE)
        monkeypatch.setattr("oxmill.queue.flow._LONGEST_PAUSE", 10 * PATIENCE)
        looked = threading.Event()

        @app.task(name="linger")
        def linger() -> bool:
            return looked.wait(PATIENCE)

        with app.flow("waited for") as f:
            f.add(linger)
        flow = app.flows[f.id]
        look = flow._info

        def noted(driver):
            found = yield from look(driver)
            looked.set()
            return found

        flow._info = noted
        started = time.monotonic()
        with app.running():
            info = (
                flow.outcome(5 * PATIENCE) if blocking else asyncio.run(flow.aoutcome(5 * PATIENCE))
            )
        assert info.status is FlowStatus.SUCCEEDED
        assert time.monotonic() - started < PATIENCE

    def test_many_jobs_are_staged_spawned_and_joined(self, app):
        """What one step leaves is gone on with at once, long before the next sweep."""

        @app.task(name="one")
        async def one(n: int) -> int:
            return n

        @app.task(name="many")
        async def many(numbers: list[int], n: int) -> list[int]:
            current().save(sum(numbers))
            raise Spawn([one.bind(each) for each in range(n)], then=joined)

        @many.continuation
        async def joined(results: list[int], n: int) -> list[int]:
            assert results == list(range(n))
            return [current().cursor, len(results)]

        with app.flow("many", id=f"many-{next(_NUMBERS)}") as f:
            nodes = [f.add(one, n) for n in range(1_200)]
            last = f.add(many, [node.out for node in nodes], 700)
        with app.running(slots=50, sweep_every=10 * PATIENCE):
            assert f.result(last, timeout=PATIENCE) == [sum(range(1_200)), 700]
            assert f.outcome(timeout=PATIENCE).counts == {State.SUCCEEDED: 1_901}

    def test_what_a_claim_leaves_is_swept_at_once(self, app):
        """It ends a job that has expired while all slots were taken, and many others with it."""
        passed = threading.Event()

        @app.task(name="take the slot")
        def take_the_slot() -> bool:
            return passed.wait(PATIENCE)

        @app.task(name="too late", expires=0.2)
        def too_late() -> None:
            raise AssertionError

        with app.running(slots=1, sweep_every=10 * PATIENCE):
            first = take_the_slot.enqueue()
            _until(lambda: first.refresh().state is State.RUNNING)
            with app.flow("late", id=f"late-{next(_NUMBERS)}") as f:
                late = f.add(too_late)
                for _ in range(app.driver.bounds.cleanup_jobs + 100):
                    f.add(take_the_slot).after(late)
            time.sleep(0.25)
            passed.set()
            info = f.outcome(timeout=PATIENCE)
        assert info.counts == {
            State.CANCELLED: 1,
            State.FAILED: app.driver.bounds.cleanup_jobs + 100,
        }

    def test_a_graph_of_ten_thousand_comes_whole_or_not_at_all(self, app, monkeypatch):
        @app.task(name="grain")
        async def grain(n: int) -> int:
            return n

        def graph():
            with app.flow("large", id=name) as f:
                nodes = [f.add(grain, n) for n in range(LARGE - 100)]
                for n in range(100):
                    f.add(grain, n).after(*nodes[n::100])
            return f

        name, enqueue = f"large-{next(_NUMBERS)}", app.driver.enqueueing.enqueue

        def cut_off(request):
            if request.publish is not None:
                raise StoreError("cut off")
            return enqueue(request)

        monkeypatch.setattr(app.driver.enqueueing, "enqueue", cut_off)
        with pytest.raises(StoreError, match="cut off"):
            graph()
        with pytest.raises(FlowNotFound):
            app.flows[name].info()
        assert app.driver.run(_claim(app, "default")).jobs == ()
        monkeypatch.undo()
        counts = graph().info().counts

        assert sum(counts.values()) == LARGE
        assert counts.keys() <= {State.HELD, State.WAITING}

    def test_a_pipeline_moves_its_state(self, app):
        @app.task(name="part", queue="parts")
        def part(n: int) -> list:
            return [n, current().correlation]

        @app.step(name="first", queue="first")
        def first(n: int, missing: int | None) -> dict:
            return {"n": n + 1, "missing_was": missing}

        @app.step(name="fan", queue="fan")
        async def fan(n: int) -> None:
            raise Spawn([part.bind(each) for each in range(n)], then=joined)

        @fan.continuation
        async def joined(results: list[list], n: int) -> Next:
            return Next(last, {"seen": results})

        @app.step(name="skipped")
        def skipped() -> dict:
            return {"skipped": False}

        @app.step(name="last")
        def last(seen: list) -> dict:
            return {"parts": len(seen)}

        way = app.pipeline("story", first, fan, skipped, last, lookup=["n"], shift={fan: 3})
        flow = way.start({"n": 2}, priority=5, headers={"correlation-id": "c1"})
        with app.running(sweep_every=0.2):
            assert flow.outcome(timeout=PATIENCE).status is FlowStatus.SUCCEEDED
        assert flow.state() == {
            "n": 3,
            "missing_was": None,
            "seen": [[0, "c1"], [1, "c1"], [2, "c1"]],
            "parts": 3,
        }
        jobs = flow.tree().jobs
        assert [job.priority for job in jobs if job.parent is None] == [5, 8, 8]
        assert [job.priority for job in jobs if job.parent is not None] == [8, 8, 8]


def _claim(app, queue):
    return app.driver.claiming.claim(
        Claim(queues=(queue,), limit=1, lease=60_000_000, worker="w", nonce=next(_NUMBERS))
    )


def survives(app, server):
    """Flows come to their right end although the server is killed in the middle, again and again."""

    @app.task(name="child")
    async def child(n: int) -> int:
        return n

    @app.task(name="parent")
    async def parent(n: int) -> int:
        raise Spawn([child.bind(each) for each in range(n)], then=joined)

    @parent.continuation
    async def joined(results: list[int], n: int) -> int:
        assert results == list(range(n))
        return sum(results)

    @app.task(name="total")
    async def total(numbers: list[int]) -> int:
        return sum(numbers)

    with app.flow("killed") as f:
        parents = [f.add(parent, 20 + n) for n in range(20)]
        last = f.add(total, [node.out for node in parents])
    number = 21 + sum(20 + n for n in range(20))
    with app.running(slots=4, sweep_every=0.2, lease=2):
        for part in (0.1, 0.4, 0.7):
            _until(lambda part=part: _ended(f) > part * number)
            server.kill()
            server.start()
        _until(lambda: f.status() is not FlowStatus.RUNNING)
    assert f.info().counts == {State.SUCCEEDED: number}
    assert f.result(last) == sum(sum(range(20 + n)) for n in range(20))


def _ended(flow):
    return flow.info().counts.get(State.SUCCEEDED, 0)


def _until(look):
    end = time.monotonic() + PATIENCE
    while True:
        try:
            if look():
                return
        except StoreError:
            pass
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
