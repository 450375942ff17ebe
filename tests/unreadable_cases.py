"""What a store holds about one job cannot be read: that job alone fails, told on every store."""

import pytest

from oxmill import State

PATIENCE = 30
SHAPES = {
    "a float": {"fields": {"u": 1.5}, "headers": {"h": "x"}},
    "no mapping": {"headers": [1], "tags": ["t"]},
}
"""What it holds instead."""


class UnreadableCases:
    """Inherited by a class beside fixtures `app` and `damage(job, shape)`."""

    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("limited", [False, True], ids=["plain", "gated"])
    def test_a_job_that_cannot_be_read_fails_alone(self, app, damage, shape, limited):
        @app.task(name="ok", timeout="9s")
        def ok(n: int) -> int:
            return n

        if limited:
            app.control.limit("default", concurrency=100)
        jobs = [ok.enqueue(n) for n in range(4)]
        damage(jobs[1].id, SHAPES[shape])

        assert {job.id for job in app.jobs()} == {job.id for job in jobs}
        with app.running(lease="30s"):
            assert [jobs[n].result(timeout=PATIENCE) for n in (0, 2, 3)] == [0, 2, 3]
            with pytest.raises(Exception, match="cannot be read"):
                jobs[1].result(timeout=PATIENCE)

        ended = app.get(jobs[1].id)
        assert (ended.state, ended.reason, ended.attempt) == (State.FAILED, "refused", 1)
        assert ended.error.type == "UnreadableJob"
        assert len(list(app.jobs())) == 4

    def test_people_may_still_steer_a_job_that_cannot_be_read(self, app, damage):
        @app.task(name="ok", timeout="9s")
        def ok() -> None: ...

        first, second = ok.enqueue(), ok.enqueue()
        for job in (first, second):
            damage(job.id, SHAPES["a float"])

        first.cancel()
        assert app.get(first.id).state is State.CANCELLED
        with app.queue("default").lease("30s") as lease:
            assert lease.id == second.id
        assert app.get(second.id).state is State.SUCCEEDED
