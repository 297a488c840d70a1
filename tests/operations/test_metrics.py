"""Metrics: the format, what the real server counts, and that dashboard and alerts name metrics that exist."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from flask import Flask

from app.core.folders import ROOT
from app.operations.exposition import METRICS, PREFIX, MetricSample, render
from app.operations.metrics import render_metrics
from tests.operations.exposition_reader import Family, read
from tests.server import BROWSER, Server, wait_for

TOKEN = "a token of the tests"
KIND_BY_NAME = {PREFIX + metric.name: metric.kind for metric in METRICS}
DASHBOARD = ROOT / "deploy/grafana/waypost.json"
RULES = ROOT / "deploy/prometheus/waypost.rules.yml"
PROMTOOL = shutil.which("promtool")


def value_of(families: dict[str, Family], name: str, **labels: str) -> float:
    kind = families[name]
    return sum(value for (written, given), value in kind.samples.items() if set(labels.items()) <= given)


@pytest.mark.databases
@pytest.mark.usefixtures("past")
def test_all_metrics_can_be_read(app: Flask) -> None:
    with app.app_context():
        families = read(render_metrics(app.config["WAYPOST"]))
    missing = (
        KIND_BY_NAME.keys() - families.keys()
    )  # those of scheduled backups, of which there are none here
    assert all(name.startswith(("waypost_backup_", "waypost_rehearsal_")) for name in missing)
    assert families.keys() <= KIND_BY_NAME.keys()
    assert value_of(families, "waypost_database_up") == 1


def test_counters_are_not_rounded_and_labels_are_escaped() -> None:
    text = render({"worker_errors_total": [MetricSample(123_456_789, {"loop": 'a "b"\\\n'})]})
    assert text.splitlines()[-1] == r'waypost_worker_errors_total{loop="a \"b\"\\\n"} 123456789'
    read(text)


@pytest.mark.skipif(PROMTOOL is None, reason="no promtool here (Debian's package prometheus)")
def test_promtool_reads_all_metrics(app: Flask) -> None:
    with app.app_context():
        text = render_metrics(app.config["WAYPOST"])
    done = subprocess.run(
        [str(PROMTOOL), "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


# --- the real server


def fetch(server: Server, path: str, **headers: str) -> int:
    request = urllib.request.Request(server.url + path, headers={"User-Agent": BROWSER, **headers})

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    try:
        with urllib.request.build_opener(Stay).open(request, timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def metrics_of(server: Server) -> dict[str, Family]:
    request = urllib.request.Request(f"{server.url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return read(answer.read().decode())


def children_of(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.full
def test_the_figures_are_of_all_processes(make_server: Callable[..., Server]) -> None:
    """Also of one that was killed: what it has counted stays."""
    server = make_server(METRICS_TOKEN=TOKEN, PROCESSES="2")
    server.flask(
        "users", "create", "--email", "a@example.com", "--password-stdin", stdin="five small boats\n"
    )
    key = server.flask("keys", "create", "--email", "a@example.com", "--name", "t").strip()
    body = b"location_url=https%3A%2F%2Fexample.com%2F&url=one"
    request = urllib.request.Request(
        f"{server.url}/api/links", body, {"Authorization": f"Bearer {key}"}, method="POST"
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 201
    for _ in range(40):
        assert fetch(server, "/one") == 302
    assert [fetch(server, path) for path in ("/none", "/login", "/api/links")] == [404, 200, 401]

    def counted(families: dict[str, Family], **labels: str) -> float:
        return value_of(families, "waypost_requests_total", **labels)

    found = metrics_of(server)
    assert {kind: value_of(found, "waypost_processes", kind=kind) for kind in ("web", "worker")} == {
        "web": 2,
        "worker": 1,
    }
    assert counted(found, **{"class": "redirect", "status": "3xx"}) == 40
    assert counted(found, **{"class": "redirect", "status": "4xx"}) == 1
    assert counted(found, **{"class": "dashboard", "status": "2xx"}) == 1
    assert counted(found, **{"class": "api"}) == 2
    name = "waypost_request_duration_seconds"
    assert found[name].samples[f"{name}_count", frozenset({("class", "redirect")})] == 41
    hits, misses = (value_of(found, f"waypost_link_cache_{each}_total") for each in ("hits", "misses"))
    assert (hits >= 38, misses >= 1, hits + misses) == (True, True, 41), "each process misses it once at most"

    assert server.process is not None
    main = server.process.pid
    web = [pid for pid in children_of(main) if title_of(pid) != b"waypost worker\n"]
    os.kill(web[0], signal.SIGKILL)
    wait_for(lambda: web[0] not in children_of(main), "the end of a web process")
    wait_for(lambda: processes(server) == 2, "a new web process")
    assert counted(metrics_of(server), **{"class": "redirect", "status": "3xx"}) == 40


def title_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/comm").read_bytes()


def processes(server: Server) -> float:
    try:
        return value_of(metrics_of(server), "waypost_processes", kind="web")
    except OSError:
        return 0


# --- the dashboard and the alerts


def names_in(expression: str) -> set[str]:
    return set(re.findall(r"\bwaypost_\w+", expression))


def known_names() -> set[str]:
    parts = ("_bucket", "_sum", "_count")
    return {
        name + part
        for name, kind in KIND_BY_NAME.items()
        for part in (parts if kind == "histogram" else ("",))
    }


def expressions_of_dashboard() -> list[str]:
    def walk(node: Any) -> list[str]:
        if isinstance(node, dict):
            own = [node[key] for key in ("expr", "query") if isinstance(node.get(key), str)]
            return own + [each for value in node.values() for each in walk(value)]
        return [each for value in node for each in walk(value)] if isinstance(node, list) else []

    return walk(json.loads(DASHBOARD.read_text()))


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_the_dashboard_shows_every_metric_that_exists_and_no_other() -> None:
    used = {name for each in expressions_of_dashboard() for name in names_in(each)}
    assert used <= known_names()
    shown = {re.sub("_(bucket|sum|count)$", "", name) for name in used}
    assert sorted(KIND_BY_NAME.keys() - shown) == []


def test_panels_have_a_title_a_unit_and_a_place_of_their_own() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        assert panel["title"]
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken
        assert at["x"] + at["w"] <= 24
        taken |= cells
        if panel["type"] != "row":
            assert panel["fieldConfig"]["defaults"]["unit"]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_a_rule_names_metrics_that_exist_and_says_what_to_do(rule: dict[str, Any]) -> None:
    used = names_in(rule["expr"])
    assert used, "a rule without a metric"
    assert used <= known_names()
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert rule["annotations"].keys() == {"summary", "description"}
    assert rule["expr"].count("(") == rule["expr"].count(")")


@pytest.mark.skipif(PROMTOOL is None, reason="no promtool here (Debian's package prometheus)")
@pytest.mark.parametrize(
    "command",
    [("check", "rules", str(RULES)), ("test", "rules", str(RULES.with_name("waypost.rules.test.yml")))],
)
def test_promtool_takes_the_rules(command: tuple[str, ...]) -> None:
    done = subprocess.run([str(PROMTOOL), *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
