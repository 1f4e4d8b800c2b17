"""Whether a sweep has a Redis server to itself, told from the server's count of calls."""

from stores.redis.room import AMPLE, NARROW, Crowd


class _Seconds:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_others_are_taken_to_be_there_until_two_looks_were_compared() -> None:
    crowd = Crowd(_Seconds())
    assert crowd.room is NARROW
    crowd.look(50)
    assert crowd.room is NARROW
    crowd.look(50)
    assert crowd.room is AMPLE


def test_calls_from_here_are_no_others() -> None:
    crowd = Crowd(_Seconds())
    crowd.look(50)
    crowd.send(100)
    crowd.look(150)
    assert crowd.room is AMPLE


def test_three_stray_calls_are_no_agent_and_a_fourth_is_one() -> None:
    crowd = Crowd(_Seconds())
    crowd.look(0)
    crowd.look(3)
    assert crowd.room is AMPLE
    crowd.look(7)
    assert crowd.room is NARROW


def test_others_are_remembered_for_a_minute_after_the_last_of_their_calls() -> None:
    seconds = _Seconds()
    crowd = Crowd(seconds)
    crowd.look(0)
    crowd.look(10)
    seconds.now += 59
    crowd.look(10)
    assert crowd.room is NARROW
    crowd.look(20)
    seconds.now += 59
    assert crowd.room is NARROW
    seconds.now += 1
    assert crowd.room is AMPLE


def test_a_server_that_began_to_count_anew_tells_nothing_at_first() -> None:
    crowd = Crowd(_Seconds())
    crowd.look(1000)
    crowd.look(5)
    assert crowd.room is NARROW
    crowd.look(5)
    assert crowd.room is AMPLE
