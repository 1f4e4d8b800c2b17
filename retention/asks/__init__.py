"""Asks and park barriers: what a parked run waits for, and until when."""

from retention.asks.book import Book
from retention.asks.model import Answer, Ask, AskState, Barrier, Outcome, Settled
from retention.asks.port import Asks, SupportsAsks, asks_of, holds_asks

__all__ = [
    "Answer",
    "Ask",
    "AskState",
    "Asks",
    "Barrier",
    "Book",
    "Outcome",
    "Settled",
    "SupportsAsks",
    "asks_of",
    "holds_asks",
]
