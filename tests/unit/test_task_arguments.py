"""The arguments of tasks: what is accepted, and what is refused in which words."""

from typing import Any

import pytest

from retention.errors import ConfigurationError
from worker.arguments import (
    FLAG,
    NUMBER,
    OPTIONAL_TEXT,
    TEXT,
    Signature,
    refuse_other_store,
)
from worker.settings import StoreSettings, load_store_settings

SWEEP = Signature(
    "retention.sweep",
    {"dry_run": FLAG, "store": OPTIONAL_TEXT, "allow_over_limit": FLAG},
    {"dry_run": False, "store": None, "allow_over_limit": False},
)
BATCH = Signature("retention.sweep_batch", {"run_id": TEXT, "number": NUMBER})


def store(provider: str, address: str) -> StoreSettings:
    """The settings of a store."""
    variables = {
        "LLM_PROVIDER_CHECKPOINT": provider,
        "LLM_PROVIDER_CHECKPOINT_CONN_STRING": address,
    }
    return load_store_settings(variables, None)


@pytest.mark.parametrize(
    ("args", "kwargs", "bound"),
    [
        ([], {}, {"dry_run": False, "store": None, "allow_over_limit": False}),
        ([True], {}, {"dry_run": True, "store": None, "allow_over_limit": False}),
        (
            [True, "sqlite"],
            {"allow_over_limit": True},
            {"dry_run": True, "store": "sqlite", "allow_over_limit": True},
        ),
    ],
)
def test_arguments_are_bound_as_a_function_would(
    args: list[Any], kwargs: dict[str, Any], bound: dict[str, Any]
) -> None:
    assert SWEEP.bind(args, kwargs) == bound


@pytest.mark.parametrize(
    ("signature", "args", "kwargs", "said"),
    [
        (
            SWEEP,
            [],
            {"dryrun": True},
            "retention.sweep takes no argument 'dryrun' (did you mean dry_run?); it takes "
            + ", ".join(SWEEP.kinds),
        ),
        (
            SWEEP,
            [],
            {"x": 1},
            "retention.sweep takes no argument 'x'; it takes dry_run, store, allow_over_limit",
        ),
        (SWEEP, [True], {"dry_run": True}, "retention.sweep was given dry_run twice"),
        (SWEEP, [1, 2, 3, 4], {}, "retention.sweep takes 3 arguments, not 4"),
        (SWEEP, ["x"], {}, "retention.sweep needs dry_run as true or false, not as a text"),
        (SWEEP, [1], {}, "retention.sweep needs dry_run as true or false, not as a number"),
        (SWEEP, [None], {}, "retention.sweep needs dry_run as true or false, not as null"),
        (SWEEP, [True, [1]], {}, "retention.sweep needs store as a text or null, not as a list"),
        (BATCH, ["r"], {}, "retention.sweep_batch needs number; it takes run_id, number"),
        (
            BATCH,
            ["r", -1],
            {},
            "retention.sweep_batch needs number as a whole number from 0 up, not as a number",
        ),
        (
            BATCH,
            ["r", True],
            {},
            "retention.sweep_batch needs number as a whole number from 0 up, not as true or false",
        ),
        (BATCH, [{}, 1], {}, "retention.sweep_batch needs run_id as a text, not as an object"),
    ],
)
def test_a_wrong_argument_is_one_line(
    signature: Signature, args: list[Any], kwargs: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        signature.bind(args, kwargs)
    assert str(refused.value) == said


@pytest.mark.parametrize(
    "asked",
    [
        None,
        "postgres",
        "postgresql://app:geheim@db:5432/chat?sslmode=require",
        "postgresql://app@db:5432/chat?sslmode=require",
        "postgresql://app:***@db:5432/chat?sslmode=require",
    ],
)
def test_the_own_store_is_accepted_with_and_without_its_password(asked: str | None) -> None:
    refuse_other_store(
        store("postgres", "postgresql://app:geheim@db:5432/chat?sslmode=require"), asked
    )


@pytest.mark.parametrize("asked", ["/data/x.db", "sqlite:////data/x.db", "sqlite"])
def test_a_path_is_the_same_store_in_each_form(asked: str) -> None:
    refuse_other_store(store("sqlite", "sqlite:////data/x.db"), asked)


@pytest.mark.parametrize(
    "asked",
    [
        "sqlite",
        "",
        "postgresql://app:falsch@db:5432/chat",
        "postgresql://root:geheim@db:5432/chat",
        "postgresql://app:geheim@db:5432/chat2",
        "/data/x.db",
    ],
)
def test_another_store_is_refused_without_a_password_in_the_line(asked: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        refuse_other_store(store("postgres", "postgresql://app:geheim@db:5432/chat"), asked)
    line = str(refused.value)
    assert "is refused: this worker sweeps postgres at postgresql://app:***@db:5432/chat" in line
    assert "geheim" not in line
    assert "falsch" not in line
