"""Redirects of other link shorteners beside ours: `python -m bench.other_shorteners --yourls DIR --kutt DIR`

DIR is a checkout of the program's source (of Kutt after `npm ci --omit=dev` in it). It is copied, set up with
its own defaults on free ports of this machine, and given one link, whose visits it counts. wrk with 32
connections loads one core; all servers have another one, and are measured in turn. YOURLS needs PHP with FPM,
nginx and MariaDB; Kutt needs Node.js, and has SQLite here. Shlink's packages come from Composer alone, so it
is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import statistics
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.redirects import load, nginx_with, require_programs, running, service
from tests.server import free_port, wait_for

DESTINATION, ALIAS = "https://example.com/a/page?x=1", "hot"
CHILDREN = 8  # of PHP
KEPT_OUT = shutil.ignore_patterns(".git", ".env", "db")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--yourls", type=Path, help="a checkout of YOURLS")
    parser.add_argument("--kutt", type=Path, help="a checkout of Kutt, with its packages")
    parser.add_argument("--seconds", type=int, default=5, help="of load in each round")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if not (options.yourls or options.kutt):
        print("Nothing to compare with: name a checkout by --yourls or --kutt.")
        return
    require_programs("wrk")
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        links = {"Waypost": f"{stack.enter_context(service(directory)).url}/{ALIAS}"}
        if options.yourls:
            links["YOURLS"] = stack.enter_context(yourls(options.yourls, directory))
        if options.kutt:
            links["Kutt"] = stack.enter_context(kutt(options.kutt, directory))
        for name, url in links.items():
            require_redirect(name, url)
            load(url, 1)
        report(links, options.seconds, options.rounds)


def report(links: Mapping[str, str], seconds: int, rounds: int) -> None:
    rates: dict[str, list[float]] = {name: [] for name in links}
    for _ in range(rounds):
        for name, url in links.items():
            wait_for(rests, "the end of what the servers do in the background", 300)
            found = load(url, seconds)
            if found.failed:
                raise SystemExit(f"{name}: {found.failed} requests failed")
            rates[name].append(found.rate)
    ours = statistics.median(rates["Waypost"])
    print(f"{'':<12}{'least':>10}{'median':>10}{'most':>10}{'ours, times':>14}")
    for name, measured in rates.items():
        middle = statistics.median(measured)
        print(
            f"{name:<12}{min(measured):>10,.0f}{middle:>10,.0f}{max(measured):>10,.0f}{ours / middle:>14,.1f}"
        )


def rests() -> bool:
    """Whether the servers' core has nothing to do: some count visits long after they have answered."""
    before, began = idle_seconds(), time.monotonic()
    time.sleep(0.5)
    return idle_seconds() - before > 0.9 * (time.monotonic() - began)


def idle_seconds() -> float:
    """How long the servers' core has been idle since the machine's start."""
    cores = sorted(os.sched_getaffinity(0))
    core = cores[min(1, len(cores) - 1)]
    line = next(one for one in Path("/proc/stat").read_text().splitlines() if one.startswith(f"cpu{core} "))
    return int(line.split()[4]) / os.sysconf("SC_CLK_TCK")


def require_redirect(name: str, url: str) -> None:
    """Ends the program unless this address leads to the destination."""
    command = ["curl", "-s", "-o", os.devnull, "-w", "%{http_code} %{redirect_url}", url]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    status, _, location = said.partition(" ")
    if not (status.startswith("30") and location == DESTINATION):
        raise SystemExit(f"{name} does not redirect: {said}")


# ----------------------------------------------------------------------- YOURLS


@contextmanager
def yourls(source: Path, directory: Path) -> Iterator[str]:
    """Runs YOURLS as its manual says, with nginx, PHP-FPM and MariaDB. Yields the short URL of a link."""
    require_programs("nginx", "mariadbd", "mariadb", "mariadb-install-db")
    root, password = directory / "yourls", secrets.token_hex(8)
    shutil.copytree(source, root, ignore=KEPT_OUT)
    with (
        mariadb(directory, password) as database,
        php(directory) as fpm,
        nginx_with(directory, nginx_places(root, fpm), "nginx-of-yourls") as site,
    ):
        (root / "user" / "config.php").write_text(yourls_config(database, password, site))
        send(f"{site}/admin/install.php", {"install": "1"})
        new = {"action": "shorturl", "url": DESTINATION, "keyword": ALIAS, "format": "simple"}
        send(f"{site}/yourls-api.php", {**new, "username": "bench", "password": password})
        yield f"{site}/{ALIAS}"


def yourls_config(database: str, password: str, site: str) -> str:
    texts = {
        "DB_USER": "bench",
        "DB_PASS": password,
        "DB_NAME": "yourls",
        "DB_HOST": database,
        "DB_PREFIX": "yourls_",
        "SITE": site,
        "COOKIEKEY": password,
        "FLOOD_DELAY_SECONDS": "0",  # its installation has just made links
    }
    lines = [f"define('YOURLS_{name}', '{text}');" for name, text in texts.items()]
    users = f"$yourls_user_passwords = ['bench' => '{password}'];"
    return "\n".join(["<?php", *lines, users, "$yourls_reserved_URL = [];"])


@contextmanager
def mariadb(directory: Path, password: str) -> Iterator[str]:
    """Runs MariaDB with an empty database `yourls`. Yields its host and port."""
    data, socket, port = directory / "mariadb", directory / "mariadb.sock", free_port()
    user = ["--user=root"] if os.geteuid() == 0 else []
    install = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db", *user]
    subprocess.run([*install, "--auth-root-authentication-method=normal"], check=True, capture_output=True)
    where = [
        f"--datadir={data}",
        f"--socket={socket}",
        "--bind-address=127.0.0.1",
        f"--port={port}",
        f"--pid-file={data}.pid",
    ]
    with (
        (directory / "mariadb.log").open("wb") as log,
        running(["mariadbd", "--no-defaults", *where, *user], stdout=log, stderr=log),
    ):
        client = ["mariadb", "--no-defaults", "--user=root", f"--socket={socket}"]
        wait_for(lambda: succeeds([*client, "-e", "SELECT 1"]), "MariaDB", 60)
        make = f"CREATE DATABASE yourls; GRANT ALL ON yourls.* TO bench@'%' IDENTIFIED BY '{password}'"
        subprocess.run([*client, "-e", make], check=True)
        yield f"127.0.0.1:{port}"


@contextmanager
def php(directory: Path) -> Iterator[Path]:
    """Runs PHP-FPM. Yields its socket."""
    found = sorted(path for place in ("/usr/sbin", "/usr/bin") for path in Path(place).glob("php-fpm*"))
    if not found:
        raise SystemExit("YOURLS needs PHP with FPM.")
    socket, config = directory / "fpm.sock", directory / "fpm.conf"
    pool = {"listen": socket, "listen.mode": "0666", "pm": "static", "pm.max_children": CHILDREN}
    if os.geteuid() == 0:
        pool |= {"user": "root", "group": "root"}
    lines = [f"{name} = {value}" for name, value in pool.items()]
    config.write_text("\n".join(["[global]", f"error_log = {directory}/fpm.log", "[www]", *lines]))
    options = ["--allow-to-run-as-root"] if os.geteuid() == 0 else []
    with running([str(found[-1]), "--nodaemonize", *options, "--fpm-config", str(config)]):
        wait_for(socket.exists, "PHP-FPM", 10)
        yield socket


def nginx_places(root: Path, fpm: Path) -> str:
    return f"""root {root}; index index.php;
    location / {{ try_files $uri $uri/ /yourls-loader.php$is_args$args; }}
    location ~ \\.php$ {{
      include /etc/nginx/fastcgi_params; fastcgi_pass unix:{fpm}; fastcgi_param HTTP_HOST $http_host;
      fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
    }}"""


# ------------------------------------------------------------------------- Kutt


@contextmanager
def kutt(source: Path, directory: Path) -> Iterator[str]:
    """Runs Kutt with SQLite and without Redis, its default. Yields the short URL of a link."""
    require_programs("node")
    root, port, password = directory / "kutt", free_port(), secrets.token_hex(8)
    if not (source / "node_modules").is_dir():
        raise SystemExit(f"Run `npm ci --omit=dev` in {source} first.")
    shutil.copytree(source, root, ignore=KEPT_OUT, symlinks=True)
    (root / "db").mkdir()
    site = f"http://127.0.0.1:{port}"
    settings = {
        "PORT": str(port),
        "DEFAULT_DOMAIN": f"127.0.0.1:{port}",
        "JWT_SECRET": secrets.token_hex(20),
        "TRUST_PROXY": "false",
    }
    environ = {**os.environ, **settings, "NODE_ENV": "production"}
    migrate = ["node", "node_modules/knex/bin/cli.js", "migrate:latest"]
    subprocess.run(migrate, cwd=root, env=environ, check=True, capture_output=True)
    with (
        (root / "log").open("wb") as log,
        running(["node", "server/server.js", "--production"], cwd=root, env=environ, stdout=log, stderr=log),
    ):
        wait_for(lambda: succeeds(["curl", "-sf", "-o", os.devnull, f"{site}/api/v2/health"]), "Kutt", 30)
        who = {"email": "bench@example.com", "password": password}
        send(f"{site}/api/auth/create-admin", who)
        # the token of the answer before names no user
        token = json.loads(send(f"{site}/api/auth/login", who))["token"]
        send(f"{site}/api/links", {"target": DESTINATION, "customurl": ALIAS}, {"Cookie": f"token={token}"})
        yield f"{site}/{ALIAS}"


def succeeds(command: Sequence[str]) -> bool:
    return subprocess.run(command, capture_output=True).returncode == 0


def send(url: str, fields: Mapping[str, str], headers: Mapping[str, str] | None = None) -> bytes:
    """POST a form. Raises HTTPError where it is refused."""
    request = urllib.request.Request(url, urllib.parse.urlencode(fields).encode(), dict(headers or {}))
    with urllib.request.urlopen(request, timeout=60) as answer:
        found: bytes = answer.read()
    return found


if __name__ == "__main__":
    main()
