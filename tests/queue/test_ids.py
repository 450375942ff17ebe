"""Job ids."""

import os
import uuid
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from oxmill.queue.ids import IdSource


def test_an_id_is_a_uuid_of_version_7_in_32_digits():
    made = IdSource(clock=lambda: 1_700_000_000_123_456_789)()

    assert len(made) == 32
    assert made == made.lower()
    assert uuid.UUID(made).version == 7
    assert uuid.UUID(made).variant == uuid.RFC_4122
    assert int(made[:12], 16) == 1_700_000_000_123


def test_ids_rise_within_a_millisecond_and_when_the_clock_goes_back():
    times = iter([5_000_000, 5_000_000, 5_000_000, 4_000_000, 1_000_000, 6_000_000])
    source = IdSource(clock=lambda: next(times))

    made = [source() for _ in range(6)]

    assert made == sorted(made)
    assert len(set(made)) == 6


def test_the_highest_draw_leaves_room_to_count_on():
    source = IdSource(clock=lambda: 1_000_000, random=lambda n: b"\xff" * n)
    first = source()

    last = f"{int(first, 16) + (1 << 61):032x}"

    assert uuid.UUID(last).version == 7
    assert uuid.UUID(last).variant == uuid.RFC_4122
    assert int(last[:12], 16) == 1


def test_threads_never_make_the_same_id():
    source = IdSource()

    with ThreadPoolExecutor(8) as pool:
        made = [
            i for part in pool.map(lambda _: [source() for _ in range(500)], range(8)) for i in part
        ]

    assert len(set(made)) == 4_000


def test_one_thread_sees_rising_ids_while_others_draw_too():
    source = IdSource()

    def rising(_):
        mine = [source() for _ in range(500)]
        return all(one < other for one, other in pairwise(mine))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(rising, range(4)))


def test_forked_children_draw_their_own_randomness():
    # Given a source whose clock stands, so that only the random part can tell ids apart
    source = IdSource(clock=lambda: 1_000_000)
    source()

    # When two children and their parent draw an id each
    made = [_in_child(source), _in_child(source), source()]

    # Then all differ in more than a count
    low = sorted(int(each[17:], 16) for each in made)
    assert all(other - one > 1_000 for one, other in pairwise(low))


def _in_child(call):
    """What a forked child gets from the call."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, call().encode())
        os._exit(0)
    os.waitpid(pid, 0)
    answer = os.read(read, 100).decode()
    os.close(read)
    os.close(write)
    return answer
