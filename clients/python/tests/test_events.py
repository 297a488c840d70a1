"""Events and subscriptions: the feed read page by page and by `way events follow`, and a subscribed address."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

import httpx
import pytest
from waypost_client import ApiError, Client, NotFound
from waypost_client.cli import events as commands

from tests.instance import Waypost
from tests.test_agents import FOLDER
from tests.test_command import Run, read_json, run

__all__ = ["run"]
HERE = "https://example.com/here"


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def cursor_of(stderr: str) -> str:
    return stderr.split()[-1]


def test_pages_of_the_feed(client: Client, waypost: Waypost, run: Run) -> None:
    start = cursor_of(run("events", "follow", "--once").stderr)
    links = [client.links.create(HERE) for _ in range(3)]
    ids: list[int] = []
    cursor: str = start
    while len(ids) < len(links):  # they come a moment after their creation
        page = client.events.page(cursor, type=["link.created"], limit=1)
        ids += [event.data["link"]["id"] for event in page.data]
        cursor = page.meta.next
    assert ids == [link.id for link in links]
    again = client.events.page(start, type=["link.created"], limit=3)
    assert again == client.events.page(start, type=["link.created"], limit=3)
    only = client.events.page(start, link_id=links[1].id)
    assert [event.data["link"]["id"] for event in only.data] == [links[1].id]
    with pytest.raises(ApiError) as gone:
        client.events.page("nonsense")
    assert gone.value.status == 410


def test_the_command_reads_all_once_and_goes_on(
    client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "PAGE_SIZE", 2)  # so that there are several pages
    cursor = cursor_of(run("events", "follow", "--once").stderr)
    made = [client.links.create(HERE).id for _ in range(5)]
    found: list[Any] = []
    while len(found) < len(made):
        done = run("events", "follow", "--once", "--after", cursor, "--type", "link.created")
        found += lines(done.stdout)
        cursor = cursor_of(done.stderr)
    assert [event["data"]["link"]["id"] for event in found] == made
    every = lines(run("events", "follow", "--once", "--all").stdout)
    assert [one["id"] for one in every if one["id"] in {event["id"] for event in found}] == [
        event["id"] for event in found
    ]
    run("events", "follow", "--after", "x", "--all", code=2)
    assert run("events", "follow", "--once", "--after", "nonsense", code=1).stderr.startswith("Error: ")
    assert "type" in run("events", "follow", "--once", "--type", "nonsense", code=1).stderr


def test_the_command_waits_for_clicks(client: Client, waypost: Waypost) -> None:
    link = client.links.create(HERE)
    environ = {**os.environ, "WAY_URL": waypost.url, "WAY_KEY": waypost.key}
    # where the tests run in the background, SIGINT is ignored, and would be by the command
    command = ["env", "--default-signal=INT", sys.executable, "-u", "-m", "waypost_client.cli"]
    command += ["events", "follow", "--poll", "0.2"]
    process = subprocess.Popen(
        [*command, "--all", "--type", "link.clicked", "--link-id", str(link.id)],
        env=environ, cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    browser = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}
    assert httpx.get(link.short_url, headers=browser).status_code == 302
    assert process.stdout
    event = json.loads(process.stdout.readline())
    assert (event["type"], event["data"]["link"]["id"]) == ("link.clicked", link.id)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "--after" in said


def test_a_subscription_from_its_creation_to_its_end(client: Client, run: Run) -> None:
    target = "http://127.0.0.1:9/hook"
    options = ("--name", "Mine", "--click-filter", '{"countries": ["de"]}')
    made = read_json(
        run("subscriptions", "create", target, "link.clicked", "link.created", *options, "--json")
    )
    assert (made["name"], made["click_filter"]["countries"]) == ("Mine", ["DE"])
    assert made["secret"].startswith("whsec_")
    assert "Mine" in run("subscriptions", "list").stdout
    assert target in run("subscriptions", "show", made["id"]).stdout
    assert client.subscriptions.read(made["id"]).events == ["link.clicked", "link.created"]
    assert read_json(run("subscriptions", "samples", "link.clicked"))[0]["type"] == "link.clicked"
    run("subscriptions", "delete", made["id"], "--yes")
    with pytest.raises(NotFound):
        client.subscriptions.read(made["id"])
    assert "events" in run("subscriptions", "create", target, "link.eaten", code=1).stderr
    run("subscriptions", "create", target, "link.clicked", "--click-filter", "[1]", code=2)


def test_a_handler_with_events(run: Run) -> None:
    made = read_json(
        run(
            "handlers", "create", "webhook", "Told", "--webhook", "http://127.0.0.1:9/hook",
            "--events", "link.clicked", "--scope", "workspace", "--click-filter", '{"every": 10}', "--json",
        )
    )  # fmt: skip
    assert (made["events"], made["scope"], made["click_filter"]["every"]) == (
        ["link.clicked"],
        "workspace",
        10,
    )
    run("handlers", "delete", made["id"], "--yes")
