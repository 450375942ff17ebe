import pytest

from oxmill.errors import BadConfig, BadInput
from oxmill.model.settings import SECOND
from oxmill.worker.config import WorkerConfig, read_config, size, worker_config


def test_defaults_are_those_of_the_documents():
    config = WorkerConfig()

    assert (config.slots, config.lease, config.grace) == (20, 60 * SECOND, 25 * SECOND)
    assert config.margin == 5 * SECOND


def test_options_are_written_as_people_write_them():
    config = worker_config(
        queues=["mail", "default"], lease="2m", grace=1.5, max_rss="512MB", child_memory="1g"
    )

    assert config.queues == ("mail", "default")
    assert (config.lease, config.grace) == (120 * SECOND, 1_500_000)
    assert (config.max_rss, config.child_memory) == (512 * 1024**2, 1024**3)


@pytest.mark.parametrize(
    ("written", "meant"), [(5, 5), ("5", 5), ("2kb", 2048), ("1.5 MiB", 1572864), ("3T", 3 << 40)]
)
def test_sizes(written, meant):
    assert size(written) == meant


@pytest.mark.parametrize(
    "options",
    [
        {"slots": 0},
        {"lease": "1ms"},
        {"lease": "25h"},
        {"grace": -1},
        {"max_jobs": 0},
        {"max_rss": "much"},
        {"queues": "mail"},
        {"queues": ["a", "a"]},
        {"loop": "trio"},
        {"poll_least": "2s"},
        {"sweep_every": 0},
        {"child_jobs": 0},
        {"name": "x" * 101},
        {"name": "line\nbreak"},
    ],
)
def test_what_cannot_work_is_refused(options):
    with pytest.raises(BadInput):
        read_config(options)


def test_a_misspelled_option_is_answered_with_the_right_one():
    with pytest.raises(BadConfig, match="did you mean 'slots'"):
        read_config({"slot": 3})
