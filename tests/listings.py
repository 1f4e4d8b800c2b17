"""Reading a listing to its end, page by page."""

from retention.abilities import SupportsHoldsListing
from retention.threads import LedgerEntry


def all_holds(ledger: object, limit: int) -> tuple[list[LedgerEntry], dict[str, str]]:
    """The entries of held threads, and those that cannot be read with what is said of each."""
    assert isinstance(ledger, SupportsHoldsListing)
    found: list[LedgerEntry] = []
    faults: dict[str, str] = {}
    page = ledger.holds_page(None, limit)
    while True:
        assert len(page.entries) <= limit
        found += page.entries
        faults |= page.faults
        if page.cursor is None:
            return found, faults
        page = ledger.holds_page(page.cursor, limit)
