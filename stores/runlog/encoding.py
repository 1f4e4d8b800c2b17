"""How batches and counts are written into the run log: JSON, short where it is long."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

from retention.deliveries import Delivery
from retention.errors import StoreError
from retention.runs import Candidate, Counts, Outcome, ThreadOutcome
from retention.threads import Horizon


def dump_candidates(candidates: Sequence[Candidate]) -> str:
    """Candidates as one JSON list of [thread_id, horizon, head, revision], in order."""
    return json.dumps(candidates)


def load_candidates(text: str) -> list[Candidate]:
    """Read what ``dump_candidates`` wrote."""
    horizons = {str(horizon): horizon for horizon in Horizon}
    with _readable("candidates"):
        return [Candidate(t, horizons[h], *known) for t, h, *known in json.loads(text)]


def dump_outcomes(outcomes: Mapping[int, ThreadOutcome]) -> str:
    """Outcomes as one JSON list of [position, outcome, detail, head]."""
    return json.dumps([(i, *o) for i, o in outcomes.items()])


def load_outcomes(text: str) -> dict[int, ThreadOutcome]:
    """Read what ``dump_outcomes`` wrote."""
    known = {str(outcome): outcome for outcome in Outcome}
    with _readable("outcomes"):
        return {
            int(i): ThreadOutcome(known[o], detail, head) for i, o, detail, head in json.loads(text)
        }


def dump_counts(counts: Counts) -> str:
    """Counts as a JSON object."""
    return json.dumps(dict(counts.values), sort_keys=True)


def load_counts(text: str) -> Counts:
    """Read what ``dump_counts`` wrote."""
    with _readable("counts"):
        return Counts({str(name): int(number) for name, number in json.loads(text).items()})


def dump_deliveries(deliveries: Mapping[str, Delivery]) -> str:
    """Deliveries as a JSON object of [attempts, delivered_at, error] by the hook's name."""
    return json.dumps(
        {
            name: [d.attempts, d.delivered_at and d.delivered_at.isoformat(), d.error]
            for name, d in deliveries.items()
        }
    )


def load_deliveries(text: str) -> dict[str, Delivery]:
    """Read what ``dump_deliveries`` wrote.

    What cannot be read says that no hook was told: they are told again, as they must bear to be.
    """
    try:
        return {
            str(name): Delivery(int(attempts), at and datetime.fromisoformat(at), error)
            for name, (attempts, at, error) in json.loads(text).items()
        }
    except (ValueError, TypeError, AttributeError, OverflowError):
        return {}


@contextmanager
def _readable(what: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise StoreError(f"the run log holds {what} that cannot be read: {error!r}") from None
