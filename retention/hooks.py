"""Hooks: code that is told, after the commit, which threads were deleted.

Files, vectors and rows that go with a thread go there. A hook is told at least once, so it must
bear to be told again; what it raises is recorded and tried again, and never undoes a delete.
"""

import threading
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

#: What of an error's text is kept in the store, in characters.
_LONGEST_ERROR = 500


class OnDeleted(Protocol):
    """A hook. Returning says that all is done; raising, that it must be told again."""

    def __call__(self, thread_ids: list[str], *, store: str, run_id: str) -> None:
        """Let go of what belongs to these threads.

        ``store`` is the name of the store they were in, ``run_id`` the sweep or erase that
        deleted them.
        """


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks that are on, by name, and what each is told of the store.

    Each call has ``timeout``; a hook that takes longer has failed, and is not waited for.
    """

    calls: Mapping[str, OnDeleted] = field(default_factory=dict)
    store: str = ""
    timeout: timedelta = timedelta(seconds=30)

    def tell(
        self, thread_ids: Sequence[str], run_id: str, names: Collection[str] | None = None
    ) -> dict[str, str | None]:
        """Tell hooks, by default all, that threads were deleted; each one's error, None for none.

        No error of a hook leaves this call. Whoever deletes outside a sweep calls it after the
        commit, and says which hooks failed.
        """
        chosen = [name for name in self.calls if names is None or name in names]
        return {name: self._told(name, list(thread_ids), run_id) for name in chosen}

    def _told(self, name: str, thread_ids: list[str], run_id: str) -> str | None:
        answered: Future[None] = Future()

        def work() -> None:
            try:
                self.calls[name](thread_ids, store=self.store, run_id=run_id)
                answered.set_result(None)
            except BaseException as error:  # noqa: BLE001 - foreign code: whatever it raises is kept
                answered.set_exception(error)

        # A thread of its own, which nobody waits for at the end: what hangs cannot be ended.
        title = f"on_deleted {name}"
        threading.Thread(target=copy_context().run, args=(work,), name=title, daemon=True).start()
        seconds = self.timeout.total_seconds()
        try:
            error = answered.exception(seconds)
        except TimeoutError:
            return f"it did not end within {seconds:g} seconds"
        return None if error is None else _text_of(error)


def _text_of(error: BaseException) -> str:
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    return text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]}…"
