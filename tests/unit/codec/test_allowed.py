"""Only classes of modules that the application names are kept, and only those modules imported."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.types import Send

from retention.errors import CheckpointSerializationError, ConfigurationError
from stores.codec import FaithfulCodec
from stores.options import StoreOptions, platform_allowed_modules
from tests.unit.codec.forging import forged, read
from tests.unit.codec.things import MODULE, Colour, Frozen, Plain, Point

OWN = (Colour.RED, Plain(), Frozen(1), Point(1))
#: Modules of an application: what each would leave behind if it were imported.
SOURCES = {
    "app_named/__init__.py": "",
    "app_named/state.py": """
from dataclasses import dataclass
from decimal import Decimal as Money
from os import system
from subprocess import Popen
from enum import Enum
from stores.options import StoreOptions

@dataclass
class Plan:
    steps: int = 0
    added: object = None

class Outer:
    @dataclass
    class Inner:
        pass
    @staticmethod
    def run():
        raise SystemError

class Bare:
    pass

def run():
    raise SystemError

instance = Plan()
Alias = Plan
""",
    "app_named/__main__.py": "raise SystemError",
    "app_named/failing.py": "raise KeyError('at import')",
    "app_named_not.py": "raise SystemError",
}


@pytest.fixture
def application(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaithfulCodec]:
    """A codec whose application names one package; its modules are not imported yet."""
    for name, source in SOURCES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    yield FaithfulCodec(["app_named"])
    for name in [name for name in sys.modules if name.startswith("app_named")]:
        del sys.modules[name]


def stored(reference: str, tag: str = "dataclass") -> dict[str, Any]:
    return {"$": tag, "c": reference, "v": {}}


def failure(codec: FaithfulCodec, reference: str, tag: str = "dataclass") -> str:
    """The message with which an instance of some class fails to be read."""
    with pytest.raises(CheckpointSerializationError) as caught:
        codec.decode(forged([stored(reference, tag)]))
    return str(caught.value)


@pytest.mark.parametrize("value", OWN, ids=lambda value: type(value).__name__)
def test_a_class_that_was_not_named_is_refused_at_write_with_the_remedy(value: Any) -> None:
    with pytest.raises(CheckpointSerializationError) as caught:
        FaithfulCodec().encode({"plan": value})
    assert str(caught.value) == (
        f"$.plan is of class {MODULE}.{type(value).__name__}, whose module is not allowed: "
        f"StoreOptions(allowed_modules=['{MODULE}']) allows it"
    )


@pytest.mark.parametrize("value", OWN, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("named", [MODULE, "tests.unit", "tests"])
def test_naming_the_module_or_a_package_above_it_allows_it(named: str, value: Any) -> None:
    codec = FaithfulCodec([named])
    found = codec.decode(codec.encode(value))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("named", ["test", "tests.uni", f"{MODULE}.more", "tests.unit.codec.t"])
def test_a_name_is_matched_whole(named: str) -> None:
    with pytest.raises(CheckpointSerializationError, match="whose module is not allowed"):
        FaithfulCodec([named]).encode(Plain())


def test_a_stored_module_off_the_list_is_refused_without_an_import(
    application: FaithfulCodec,
) -> None:
    for module in ("app_named_not", "antigravity", "os", "", "a..b", "a b", "x" * 600):
        said = failure(application, f"{module}:Plan")
        assert "StoreOptions(allowed_modules=[…]) names those" in said or "names no class" in said
    assert not {"app_named_not", "antigravity"} & set(sys.modules)


def test_a_named_module_is_imported_where_it_is_first_needed(application: FaithfulCodec) -> None:
    assert "app_named.state" not in sys.modules
    found = application.decode(forged(stored("app_named.state:Plan")))
    assert type(found) is sys.modules["app_named.state"].Plan
    assert (found.steps, found.added) == (0, None)
    assert application.decode(application.encode(found)) == found
    inner = application.decode(forged(stored("app_named.state:Outer.Inner")))
    assert type(inner).__qualname__ == "Outer.Inner"


@pytest.mark.parametrize(
    "name",
    [
        *(
            "run",
            "system",
            "Popen",
            "Money",
            "StoreOptions",
            "Bare",
            "instance",
            "Alias",
            "nothing",
        ),
        *("Outer.run", "Outer.Inner.__init__", "Plan.__class__", "Outer.__base__", "Enum", "sys"),
        *("Plan.__init__.__globals__", "__builtins__", "<locals>", "a.<locals>.B", "", "Plan."),
    ],
)
def test_nothing_but_data_classes_of_that_very_module_is_used(
    application: FaithfulCodec, name: str
) -> None:
    assert "cannot be read back" in failure(application, f"app_named.state:{name}")


def test_a_class_of_another_kind_is_refused(application: FaithfulCodec) -> None:
    assert "is no enum" in failure(application, "app_named.state:Plan", "enum")
    assert "is no langgraph" in failure(application, "app_named.state:Plan", "langgraph")


def test_a_program_is_not_run_by_naming_its_package(application: FaithfulCodec) -> None:
    assert "not allowed" in failure(application, "app_named.__main__:Plan")


def test_a_module_that_is_not_there_or_fails_is_one_error(application: FaithfulCodec) -> None:
    assert "there is no module 'app_named.gone' here" in failure(application, "app_named.gone:Plan")
    assert "importing 'app_named.failing' raised KeyError" in failure(
        application, "app_named.failing:Plan"
    )


def test_what_langgraph_and_langchain_have_needs_no_naming() -> None:
    bare = FaithfulCodec()
    message = {"$": "langchain", "c": "HumanMessage", "v": {"content": "x"}}
    assert bare.decode(forged(message)).content == "x"
    for reference in ("langchain_core.messages.human:HumanMessage", "langgraph.types:Send"):
        assert "not allowed" in failure(bare, reference)
        assert "is no langchain class that is kept" in failure(bare, reference, "langchain")


def test_a_langchain_class_is_not_reached_by_naming_its_module() -> None:
    codec = FaithfulCodec(["langchain_core"])
    assert "no class whose values are kept" in failure(
        codec, "langchain_core.output_parsers.string:StrOutputParser", "model"
    )


CHANGED = {
    "dataclass, new field": ("Plan", "steps", 0),
    "dataclass, other field": ("Plan", "added", None),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_field_added_since_has_its_default(application: FaithfulCodec, name: str) -> None:
    cls, field, default = CHANGED[name]
    found = application.decode(forged(stored(f"app_named.state:{cls}")))
    assert getattr(found, field) == default


def test_models_changed_since_fill_defaults_or_fail() -> None:
    plain = {"$": "model", "c": f"{MODULE}:Plain", "v": {"name": "x"}}
    first, second = read(plain), read(plain)
    assert (first.name, first.items, first.model_fields_set) == ("x", [], {"name"})
    assert first.items is not second.items
    codec = FaithfulCodec([MODULE])
    for changed, said in (
        ({"v": {"gone": 1}}, "its class has no field 'gone'"),
        ({"c": f"{MODULE}:Rich", "v": {}}, "its field 'anything' is not stored"),
        ({"c": f"{MODULE}:Mutable", "$": "dataclass", "v": {}}, "its field 'anything' is not"),
        ({"c": f"{MODULE}:Frozen", "$": "dataclass", "v": {"anything": 1, "x": 2}}, "no field 'x'"),
        ({"c": f"{MODULE}:Point", "$": "namedtuple", "v": {}}, "its field 'x' is not stored"),
        ({"c": f"{MODULE}:Point", "$": "namedtuple", "v": {"x": 1, "z": 2}}, "fields are not"),
        ({"c": f"{MODULE}:Colour", "$": "enum", "v": "BLUE"}, "has no such member"),
        ({"c": f"{MODULE}:Colour", "$": "enum", "v": ["RED"]}, "envelope of 'enum' is damaged"),
        ({"c": f"{MODULE}:Right", "$": "enum", "v": 1 << 5000}, "flag of at most 4096 bits"),
        ({"c": f"{MODULE}:Right", "$": "enum", "v": 8}, "is of a class that raised ValueError"),
    ):
        with pytest.raises(CheckpointSerializationError) as caught:
            codec.decode(forged(plain | changed))
        assert said in str(caught.value)


def test_a_slot_that_a_release_added_may_be_missing() -> None:
    older = {"$": "langgraph", "c": "Send", "v": {"node": "n", "arg": 1}}
    assert read(older) == Send("n", 1)


def test_dataclasses_changed_since_have_defaults_of_their_own() -> None:
    stored = {"$": "dataclass", "c": f"{MODULE}:Mutable", "v": {"anything": 1}}
    first, second = read(stored), read(stored)
    assert (first.only, first.many) == (0, [])
    assert first.many is not second.many


@given(st.text(max_size=12))
def test_any_reference_is_a_class_or_the_documented_error(text: str) -> None:
    codec = FaithfulCodec([MODULE])
    assert failure(codec, text)
    assert failure(codec, f"{MODULE}:{text}")


@pytest.mark.parametrize("names", [["a b"], [""], ["a..b"], ["1a"], [None], ["os:system"], "myapp"])
def test_a_name_that_is_none_is_a_configuration_error(names: Any) -> None:
    for make in (FaithfulCodec, lambda names: StoreOptions(allowed_modules=names)):
        with pytest.raises(ConfigurationError, match="allowed_modules"):
            make(names)


def test_options_hold_each_name_once() -> None:
    assert StoreOptions(allowed_modules=["a.b", "c", "a.b"]).allowed_modules == ("a.b", "c")


def test_the_environment_names_modules_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    variable = "CHECKPOINT_ALLOWED_MODULES"
    assert platform_allowed_modules({}) == ()
    assert platform_allowed_modules({variable: " "}) == ()
    assert platform_allowed_modules({variable: "myapp, other.state"}) == ("myapp", "other.state")
    monkeypatch.setenv(variable, "myapp")
    assert StoreOptions().allowed_modules == ("myapp",)
    for wrong in ("a,,b", "my-app", "myapp,"):
        with pytest.raises(ConfigurationError, match=f"^{variable}: .* is no module name"):
            platform_allowed_modules({variable: wrong})
