"""Ledger entries of threads that were started and never came to hold anything."""

from tests.contract.lab import Lab, keeps_entries_apart


def entries(lab: Lab) -> set[str]:
    """The threads that the ledger knows."""
    return {row["thread_id"] for row in lab.dump()["retention_threads"]}


def start(lab: Lab, thread_id: str, minutes: float) -> None:
    """Start a thread so many minutes ago."""
    lab.at(-minutes, lambda: lab.store.ledger.start([thread_id]))


@keeps_entries_apart
def test_a_sweep_drops_them_once_the_waiting_retention_is_over(lab: Lab) -> None:
    start(lab, "over", 61)
    start(lab, "not-over", 60)
    lab.run()
    assert entries(lab) == {"not-over"}


def test_those_of_threads_that_hold_something_stay(lab: Lab) -> None:
    lab.seed("young", 5)
    start(lab, "young", 90)
    lab.seed("marked", 5)
    start(lab, "marked", 90)
    lab.store.ledger.mark_finished(["marked"])
    before = lab.rows_of("young"), lab.rows_of("marked")
    lab.run()
    assert (lab.rows_of("young"), lab.rows_of("marked")) == before


def test_those_of_held_threads_stay(lab: Lab) -> None:
    start(lab, "held", 90)
    lab.hold("held")
    lab.run()
    assert entries(lab) == {"held"}


@keeps_entries_apart
def test_a_sweep_drops_no_more_than_its_limit_the_oldest_first(lab: Lab) -> None:
    for minutes in (70, 80, 90):
        start(lab, f"started-{minutes}", minutes)
    lab.run(bare_entries=2)
    assert entries(lab) == {"started-70"}
