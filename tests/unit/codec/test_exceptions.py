"""Exceptions are stored as readable records and come back carrying them."""

import copy
import json
import pickle
import traceback
from datetime import date
from typing import Any

import pytest

from retention.errors import CheckpointSerializationError
from stores.codec import CheckpointedException
from tests.unit.codec.forging import read, unreadable
from tests.unit.codec.things import CODEC

KEYS = ["id", "message", "kwargs", "repr_kwargs", "cause"]


class StepFailed(Exception):  # noqa: N818  # the name in the contract
    def __init__(self, message: str, **attributes: Any) -> None:
        super().__init__(message)
        vars(self).update(attributes)


class SlottedError(Exception):
    __slots__ = ("code", "empty")

    code: int


class SilentError(Exception):
    """Neither its text nor that of its attribute can be had, and it counts as false."""

    def __init__(self) -> None:
        self.held = Untold()

    def __str__(self) -> str:
        raise RuntimeError

    def __bool__(self) -> bool:
        return False


class Untold:
    def __repr__(self) -> str:
        raise RuntimeError


def record(error: BaseException) -> Any:
    """The record as it is stored."""
    stored = json.loads(CODEC.encode(error)[9:])
    assert stored["$"] == "exception"
    return stored["v"]


def restored(error: BaseException) -> CheckpointedException:
    found = CODEC.decode(CODEC.encode(error))
    assert type(found) is CheckpointedException
    return found


def caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


def test_the_record_is_that_of_the_contract() -> None:
    error = StepFailed("step fetch failed", step="fetch", attempts=3)
    error.__cause__ = TimeoutError("upstream timed out")
    assert record(error) == {
        "id": [*__name__.split("."), "StepFailed"],
        "message": "step fetch failed",
        "kwargs": {"step": "fetch", "attempts": 3},
        "repr_kwargs": [],
        "cause": {
            "id": ["builtins", "TimeoutError"],
            "message": "upstream timed out",
            "kwargs": {},
            "repr_kwargs": [],
            "cause": None,
        },
    }
    assert list(record(error)) == KEYS


def test_it_comes_back_carrying_its_record() -> None:
    error = caused(StepFailed("failed", step="fetch", at=date(2026, 1, 2)), KeyError("k"))
    found = restored(error)
    assert found.record == record(error)
    assert found.id[-1] == "StepFailed"
    assert found.message == "failed"
    assert found.kwargs == {"step": "fetch", "at": "datetime.date(2026, 1, 2)"}
    assert found.repr_kwargs == ["at"]
    assert found.cause is not None
    assert (found.cause.id, found.cause.message) == (["builtins", "KeyError"], "'k'")
    assert found.cause.cause is None
    assert str(found) == f"{__name__}.StepFailed: failed"


def test_it_can_be_raised_and_shows_its_cause() -> None:
    found = restored(caused(ValueError("outer"), KeyError("inner")))
    with pytest.raises(CheckpointedException, match=r"builtins\.ValueError: outer") as caught:
        raise found
    shown = "".join(traceback.format_exception(caught.value))
    assert "builtins.KeyError: 'inner'" in shown


def test_stored_again_it_is_the_same_record() -> None:
    found = restored(caused(StepFailed("x", a=1), KeyError("k")))
    again = restored(found)
    assert again == found
    assert hash(again) == hash(found)
    assert restored(again).record == found.record
    assert found != restored(StepFailed("y"))
    assert found != StepFailed("x")


def test_it_can_be_pickled_and_copied() -> None:
    found = restored(caused(StepFailed("x", a=1), KeyError("k")))
    for twin in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):  # noqa: S301
        assert twin == found
        assert twin.cause == found.cause


def test_attributes_that_json_cannot_hold_are_told_by_their_repr() -> None:
    attributes = {
        "tuple": (1,),
        "deep": [[object]],
        "nan": float("nan"),
        "key": {1: 2},
        "plain": {"a": [1, None, True, 1.5, "x", {}]},
        "large": 10**1_000,
        "lone": "\ud800",
        "$": {"$": "tuple", "v": [1]},
    }
    found = restored(StepFailed("x", **attributes))
    kept = {name: attributes[name] for name in ("plain", "large", "lone", "$")}
    told = {name: repr(attributes[name]) for name in ("tuple", "deep", "nan", "key")}
    assert found.kwargs == told | kept
    assert found.repr_kwargs == list(told)


def test_an_attribute_that_holds_an_exception_is_a_record() -> None:
    inner = caused(StepFailed("inner", n=1), ValueError("below"))
    found = record(StepFailed("outer", original=inner))
    assert found["kwargs"] == {"original": record(inner)}
    assert found["repr_kwargs"] == []
    assert list(found["kwargs"]["original"]) == KEYS


def test_notes_are_kept() -> None:
    error = ValueError("x")
    error.add_note("first")
    error.add_note("second")
    found = restored(error)
    assert found.kwargs == {"__notes__": ["first", "second"]}
    assert found.__notes__ == ["first", "second"]
    assert restored(found) == found
    error.__notes__ = ["no text", 1]  # type: ignore[list-item]
    assert not hasattr(restored(error), "__notes__")


def test_the_members_of_a_group_are_records() -> None:
    second = KeyError("b")
    second.__cause__ = OSError("c")
    group = ExceptionGroup("many", [ValueError("a"), second])
    found = record(group)
    assert found["id"] == ["builtins", "ExceptionGroup"]
    assert [member["message"] for member in found["kwargs"]["exceptions"]] == ["a", "'b'"]
    assert found["kwargs"]["exceptions"][1]["cause"]["message"] == "c"


def test_slots_are_attributes() -> None:
    error = SlottedError("x")
    error.code = 7
    assert record(error)["kwargs"] == {"code": 7}


def test_cycles_end() -> None:
    first, second = StepFailed("first"), StepFailed("second")
    caused(first, caused(second, first))
    found = record(first)
    assert found["cause"]["message"] == "second"
    assert found["cause"]["cause"] is None
    itself = StepFailed("itself")
    vars(itself)["me"] = itself
    assert record(itself)["kwargs"] == {"me": repr(itself)}
    assert record(itself)["repr_kwargs"] == ["me"]
    holding: list[Any] = []
    holding.append(holding)
    assert record(StepFailed("x", held=holding))["repr_kwargs"] == ["held"]


def test_a_shared_exception_is_told_in_both_places() -> None:
    original = ValueError("x")
    found = record(caused(StepFailed("y", original=original), original))
    assert found["kwargs"]["original"] == found["cause"]


def test_very_long_chains_and_very_many_exceptions_are_cut() -> None:
    error: BaseException = ValueError("0")
    for number in range(1, 1_000):
        error = caused(StepFailed(str(number), also=error), error)
    found, length = record(error), 0
    assert found["message"] == "999"
    while found is not None:
        found, length = found["cause"], length + 1
    assert length == 20
    assert len(CODEC.encode(error)) < 100_000


def test_exceptions_that_cannot_be_shown_are_kept_none_the_less() -> None:
    found = record(caused(ValueError("x"), SilentError()))["cause"]
    assert found["message"] == f"<{__name__}.SilentError, which cannot be shown>"
    assert found["kwargs"] == {"held": f"<{__name__}.Untold, which cannot be shown>"}


def test_exceptions_of_any_class_are_kept_wherever_they_lie() -> None:
    class Local(BaseException):
        pass

    error = Local("x")
    found = CODEC.decode(CODEC.encode({"errors": (error, {error}, {error: error})}))
    wanted = restored(error)
    assert wanted.id[-3:] == [
        "test_exceptions_of_any_class_are_kept_wherever_they_lie",
        "<locals>",
        "Local",
    ]
    assert found == {"errors": (wanted, {wanted}, {wanted: wanted})}


def test_context_is_no_cause() -> None:
    error = ValueError("outer")
    error.__context__ = KeyError("inner")
    assert record(error)["cause"] is None


WHOLE: dict[str, Any] = {
    "id": ["a", "B"],
    "message": "x",
    "kwargs": {},
    "repr_kwargs": [],
    "cause": None,
}


@pytest.mark.parametrize(
    "change",
    [
        {"id": "a.B"},
        {"id": [1]},
        {"message": None},
        {"kwargs": []},
        {"kwargs": {"$": "dict", "v": [1, 2]}},
        {"repr_kwargs": None},
        {"cause": {}},
        {"cause": "x"},
        {"cause": WHOLE | {"id": None}},
        {"more": 1},
    ],
    ids=str,
)
def test_a_record_that_is_none_fails_the_read(change: dict[str, Any]) -> None:
    assert read({"$": "exception", "v": WHOLE}).record == WHOLE
    message = unreadable([{"$": "exception", "v": WHOLE | change}])
    assert message == "$[0] cannot be read back: it is no record of an exception"


def test_too_deep_a_record_is_refused_not_lost() -> None:
    value: Any = caused(ValueError("x"), KeyError("y"))
    for _ in range(99):
        value = [value]
    with pytest.raises(CheckpointSerializationError, match="more than 100 containers deep"):
        CODEC.encode(value)
