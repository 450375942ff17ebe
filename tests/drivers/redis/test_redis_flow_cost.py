"""What flows cost in round trips, scripts and commands: a change that adds one shows here."""

import pytest
from test_redis_cost import Counted

from oxmill.model.claim import Claim
from oxmill.model.flow import FlowStep, ListFlows, NewFlow
from oxmill.model.info import Sweep
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.query import Filter, Find
from oxmill.model.settlement import Outcome, Settle, Settlement

STEPS = 50


@pytest.fixture
def counted(tmp_path, monkeypatch):
    world = Counted(tmp_path, monkeypatch)
    yield world
    world.close()


def new_job(name, flow, **options):
    return NewJob(id=name, queue="q", task="t", payload=b"{}", flow=flow, **options)


def begin(counted, flow, *jobs, **options):
    request = Enqueue(jobs=jobs, flow=NewFlow(id=flow, name="f", state={"a": b"1"}), **options)
    return counted.driver.enqueueing.enqueue(request)


def ends(leases, step):
    """Completions of these, each with its step."""
    return tuple(
        Settlement(id=lease.id, token=lease.token, outcome=Outcome.COMPLETE, flow=step(lease))
        for lease in leases
    )


def test_a_flow_of_one_job_is_one_round_trip_and_a_handful_of_commands(counted):
    counted.driver.run(begin(counted, "f0", new_job("a0", "f0")))

    assert counted.cost(begin(counted, "f1", new_job("a1", "f1"))) == (1, 1, 17)


def test_a_step_of_a_pipeline_is_one_script_with_a_few_commands_each(counted):
    """Its own record, the next job, the state, the flow and its counts."""
    for number in range(STEPS):
        job = new_job(f"a{number}", f"f{number}", reads=("a",))
        counted.driver.run(begin(counted, f"f{number}", job))
    leases = counted.driver.run(counted.claim(limit=STEPS)).jobs
    items = ends(
        leases,
        lambda lease: FlowStep(merge={"b": b"2"}, then=(new_job(f"b{lease.id}", lease.flow),)),
    )

    trips, scripts, commands = counted.cost(counted.driver.settling.settle(Settle(items=items)))

    assert (trips, scripts) == (1, 1)
    assert commands <= 2 * STEPS + 29  # of each flow only the state and the index are written apart


def test_steps_that_hand_over_to_several_jobs_are_sent_in_smaller_parts(counted):
    """They go the long way, and no script may be long."""
    for number in range(STEPS):
        counted.driver.run(begin(counted, f"f{number}", new_job(f"a{number}", f"f{number}")))
    leases = counted.driver.run(counted.claim(limit=STEPS)).jobs
    items = ends(
        leases,
        lambda lease: FlowStep(then=tuple(new_job(f"{n}{lease.id}", lease.flow) for n in "bc")),
    )

    trips, scripts, _ = counted.cost(counted.driver.settling.settle(Settle(items=items)))

    assert (trips, scripts) == (1, 5)  # of a weight of 100 at most, of which such a step has 8


def test_claiming_steps_of_pipelines_reads_the_state_of_each_flow_and_nothing_else_of_it(counted):
    for number in range(STEPS):
        job = new_job(f"a{number}", f"f{number}", reads=("a",))
        counted.driver.run(begin(counted, f"f{number}", job))
    counted.driver.run(begin(counted, "f", new_job("a", "f", reads=("a",))))

    trips, scripts, commands = counted.cost(counted.claim(limit=STEPS))

    assert (trips, scripts) == (1, 1)
    assert commands <= STEPS + 11


def test_the_last_steps_of_pipelines_end_all_their_flows_by_a_few_commands(counted):
    for number in range(STEPS):
        counted.driver.run(begin(counted, f"f{number}", new_job(f"a{number}", f"f{number}")))
    leases = counted.driver.run(counted.claim(limit=STEPS)).jobs

    settle = counted.settle(leases, outcome=Outcome.COMPLETE, flow=FlowStep())

    assert counted.cost(settle)[2] <= 25


def fanned_out(counted, count):
    counted.driver.run(begin(counted, "f", new_job("p", "f")))
    (parent,) = counted.driver.run(counted.claim(limit=1)).jobs
    for first in range(0, count, 50):
        some = (new_job(f"c{n}", "f", parent="p") for n in range(first, min(first + 50, count)))
        counted.driver.run(begin(counted, "f", *some, stage="s"))
    step = FlowStep(publish="s", resume="go")
    counted.driver.run(counted.settle((parent,), outcome=Outcome.COMPLETE, flow=step))
    while counted.driver.run(counted.driver.housekeeping.sweep(Sweep())).more:
        pass


@pytest.mark.parametrize("count", [300, 2_000])
def test_children_that_end_cost_the_same_however_many_there_are(counted, count):
    fanned_out(counted, count)
    leases = counted.driver.run(counted.claim(limit=100, nonce=5)).jobs

    cost = counted.cost(counted.settle(leases, outcome=Outcome.COMPLETE))

    assert cost == (1, 1, 31)


def run_children(counted, batches):
    """Claim and settle so many hundreds; how many commands that took."""
    with counted.server.client() as client:
        client.config_resetstat()
        for nonce in batches:
            leases = counted.driver.run(counted.claim(limit=100, nonce=nonce)).jobs
            counted.driver.run(counted.settle(leases, outcome=Outcome.COMPLETE))
        return sum(each["calls"] for each in client.info("commandstats").values())


def test_ten_thousand_children_run_to_their_end_at_a_flat_cost(counted):
    fanned_out(counted, 10_000)
    costs = [run_children(counted, range(first, first + 10)) for first in range(100, 200, 10)]
    (parent,) = counted.driver.run(counted.claim(limit=100, nonce=200)).jobs

    assert (parent.resume, parent.joined) == ("go", tuple(f"c{n}" for n in range(10_000)))
    assert max(costs) <= min(costs) + 60  # the join fires too, and a connection may look around
    assert min(costs) <= 450


def test_the_jobs_of_a_flow_are_found_without_looking_at_others(counted):
    for first in range(1, 1_001, 250):
        counted.driver.run(counted.enqueue(250, first=first))
    counted.driver.run(begin(counted, "f", new_job("a", "f"), new_job("b", "f", after=("a",))))
    find = counted.driver.inspecting.find(Find(filter=Filter(flow="f")))

    assert counted.cost(find)[:2] == (1, 1)
    assert [job.id for job in counted.driver.run(find).jobs] == ["b", "a"]


def test_a_page_of_flows_beside_many_busy_queues_is_told_by_several_short_scripts(counted):
    """How many jobs of a flow run is found out by a look at each queue in which anything does."""
    flows, queues = 40, tuple(f"busy {number}" for number in range(30))
    for number in range(flows):
        counted.driver.run(begin(counted, f"f{number}", new_job(f"a{number}", f"f{number}")))
    jobs = tuple(NewJob(id=queue, queue=queue, task="t", payload=b"{}") for queue in queues)
    counted.driver.run(counted.driver.enqueueing.enqueue(Enqueue(jobs=jobs)))
    claim = Claim(queues=queues, limit=30, lease=60_000_000, worker="w", nonce=1)
    assert len(counted.driver.run(counted.driver.claiming.claim(claim)).jobs) == len(queues)

    def page():
        return counted.driver.inspecting.flows(ListFlows(limit=flows))

    assert counted.cost(page())[:2] == (2, 2)
    told = counted.driver.run(page())
    assert [each.id for each in told.items] == [f"f{number}" for number in reversed(range(flows))]
    assert [sum(each.counts.values()) for each in told.items] == [1] * flows
    assert told.next is None
