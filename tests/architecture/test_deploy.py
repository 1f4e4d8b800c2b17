"""What is deployed fits the code: settings that exist, packages that are there, no root."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from worker.settings.broker import BROKER, RESULTS
from worker.settings.rules import variable_names
from worker.settings.store import StoreSettings
from worker.settings.sweep import SweepSettings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
OTHERS = {BROKER, RESULTS, "DATABASE_URL", "REDIS_URL", "FLOWER_BASIC_AUTH"}


@pytest.fixture(scope="module")
def services() -> Mapping[str, Any]:
    """The services of the compose file."""
    document = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    found: Mapping[str, Any] = document["services"]
    return found


def ours(services: Mapping[str, Any]) -> dict[str, Any]:
    """The services that run this project's image."""
    return {n: s for n, s in services.items() if s["image"] == "langgraph-retention"}


def test_the_compose_file_sets_only_settings_that_exist(services: Mapping[str, Any]) -> None:
    known = {*variable_names(StoreSettings), *variable_names(SweepSettings), *OTHERS}
    for service in ours(services).values():
        assert set(service["environment"]) <= known


def test_no_image_of_others_floats(services: Mapping[str, Any]) -> None:
    images = [s["image"] for s in services.values() if s["image"] != "langgraph-retention"]
    assert all(re.search(r":v?\d", image) for image in images), images


def test_our_containers_can_write_nowhere_and_gain_nothing(services: Mapping[str, Any]) -> None:
    for service in ours(services).values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]


def test_nothing_listens_beyond_the_machine(services: Mapping[str, Any]) -> None:
    ports = [port for service in services.values() for port in service.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_no_password_is_written_down(services: Mapping[str, Any]) -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    assert re.findall(r"://\w+:([^$][^@]*)@", text) == []
    assert "FLOWER_BASIC_AUTH:?" in text.replace("${", "")


def test_every_variable_of_the_compose_file_is_in_the_example(services: Mapping[str, Any]) -> None:
    asked = set(re.findall(r"\$\{(\w+)", (DEPLOY / "compose.yaml").read_text()))
    lines = (DEPLOY / "example.env").read_text().splitlines()
    assert asked == {line.partition("=")[0] for line in lines if "=" in line and line[0] != "#"}


def test_the_image_holds_every_package_and_runs_as_a_user_that_is_not_root() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    for package in ("retention", "stores", "worker"):
        assert f"COPY {package} {package}\n" in text
    user = re.search(r"^USER (\d+):\d+$", text, re.MULTILINE)
    assert user is not None
    assert int(user.group(1)) > 0
    assert text.rindex("USER") > text.rindex("RUN ")


def test_prometheus_scrapes_the_gateway_of_the_compose_file(services: Mapping[str, Any]) -> None:
    document = yaml.safe_load((DEPLOY / "prometheus.yaml").read_text())
    (job,) = document["scrape_configs"]
    host = job["static_configs"][0]["targets"][0].partition(":")[0]
    assert host in services
    assert job["honor_labels"] is True
