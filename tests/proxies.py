"""Runs nginx and Caddy with the configuration files that `deploy/` ships.

Only names of files and ports are replaced. Both listen on 127.0.0.1; Caddy answers for `HOSTS` alone.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from app.core.folders import ROOT
from tests.server import free_port, wait_for

DEPLOY = ROOT / "deploy"
HOSTS = ("go.example", "admin.example")
# before this version `request_buffers` was two directives, as deploy/Caddyfile says
FIRST_WITH_REQUEST_BUFFERS = (2, 6, 4)
MAX_CONNECTIONS = 4096
START_SECONDS, STOP_SECONDS = 30, 30


class Certificate(NamedTuple):
    chain: Path
    key: Path


class Upstreams(NamedTuple):
    """The ports of the visitors' server and of the owners'."""

    visitors: int
    owners: int

    def put_into(self, site: str) -> str:
        """The configuration with these ports instead of the shipped ones."""
        ports = {"8000": self.visitors, "8001": self.owners}
        return re.sub(r"127\.0\.0\.1:(800[01])\b", lambda found: f"127.0.0.1:{ports[found[1]]}", site)


class Proxy(NamedTuple):
    """A running proxy."""

    name: str
    port: int
    process: subprocess.Popen[bytes]


def is_installed(name: str) -> bool:
    return shutil.which(name) is not None


def write_nginx(
    directory: Path, port: int, upstreams: Upstreams, certificate: Certificate | None
) -> list[str]:
    """Write the configuration; the command that runs it. Without a certificate it speaks plain HTTP."""
    site = upstreams.put_into((DEPLOY / "nginx.conf").read_text())
    site = site.replace("listen 80;", f"listen 127.0.0.1:{free_port()};")
    site = site.replace(
        "listen 443 ssl http2;", f"listen 127.0.0.1:{port}{' ssl http2' if certificate else ''};"
    )
    files = {"": "", "_key": ""} if certificate is None else {"": certificate.chain, "_key": certificate.key}
    for name, file in files.items():
        line = f"    ssl_certificate{name} {file};\n" if file else ""
        site = re.sub(rf"^ *ssl_certificate{name} .*\n", line, site, flags=re.MULTILINE)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = " ".join(f"{kind}_temp_path {directory}/{kind};" for kind in kinds)
    file = directory / "nginx.conf"
    # started by root, its workers run as another user, who may not write to this directory
    user = "user root; " if os.geteuid() == 0 else ""
    file.write_text(
        f"{user}daemon off; worker_processes 1; worker_rlimit_nofile {2 * MAX_CONNECTIONS}; pid {directory}/pid;\n"
        f"events {{ worker_connections {MAX_CONNECTIONS}; }}\nhttp {{ {paths}\n{site} }}\n"
    )
    return ["nginx", "-p", str(directory), "-c", str(file), "-e", "stderr"]


def write_caddy(
    directory: Path, port: int, upstreams: Upstreams, certificate: Certificate | None
) -> list[str]:
    """Write the configuration; the command that runs it. Without a certificate it speaks plain HTTP.

    It fetches none by itself: owners' domains are served on plain HTTP, or left out.
    """
    site = upstreams.put_into(read_caddyfile())
    others = "" if certificate else f"http://:{port} {{\n\tbind 127.0.0.1\n\trespond 421\n}}\n"
    site = re.sub(r"^https:// \{\n.*?^\}\n", others, site, flags=re.MULTILINE | re.DOTALL)
    scheme = "https" if certificate else "http"
    names = ", ".join(f"{scheme}://{host}:{port}" for host in HOSTS)
    tls = f"\ttls {certificate.chain} {certificate.key}\n" if certificate else ""
    site = re.sub(r"^go\.example \{\n", f"{names} {{\n\tbind 127.0.0.1\n{tls}", site, flags=re.MULTILINE)
    return run_caddy(directory, site, "auto_https off")


def write_caddy_on_demand(
    directory: Path, port: int, upstreams: Upstreams, _: Certificate | None
) -> list[str]:
    """The same with certificates on demand, as shipped, but from Caddy's internal authority."""
    site = upstreams.put_into(read_caddyfile()).replace(
        "\timport waypost", "\tbind 127.0.0.1\n\timport waypost"
    )
    ports = (f"http_port {free_port()}", f"https_port {port}")
    return run_caddy(directory, site, "local_certs", "skip_install_trust", *ports)


def read_caddyfile() -> str:
    site = (DEPLOY / "Caddyfile").read_text()
    if caddy_version() >= FIRST_WITH_REQUEST_BUFFERS:
        return site
    return re.sub(
        r"^(\s*)request_buffers ", r"\1buffer_requests\n\1max_buffer_size ", site, flags=re.MULTILINE
    )


def run_caddy(directory: Path, site: str, *options: str) -> list[str]:
    """Write the file with more global options. Returns the command that runs it."""
    lines = "".join(f"\t{option}\n" for option in ("admin off", *options))
    file = directory / "Caddyfile"
    file.write_text(re.sub(r"^\{\n", f"{{\n{lines}", site, count=1, flags=re.MULTILINE))
    return ["caddy", "run", "--config", str(file), "--adapter", "caddyfile"]


def caddy_version() -> tuple[int, ...]:
    written = subprocess.run(["caddy", "version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\d+\.\d+\.\d+", written)
    assert found, written
    return tuple(map(int, found[0].split(".")))


WRITERS: dict[str, Callable[[Path, int, Upstreams, Certificate | None], list[str]]] = {
    "nginx": write_nginx,
    "caddy": write_caddy,
}
ON_DEMAND = "caddy on demand"


@contextmanager
def running(
    name: str, directory: Path, upstreams: int | Upstreams, certificate: Certificate | None = None
) -> Iterator[Proxy]:
    """The proxy in front of two servers, or of one that listens on the given port for visitors and owners."""
    if isinstance(upstreams, int):
        upstreams = Upstreams(upstreams, upstreams)
    base, port = directory / name, free_port()
    base.mkdir()
    write = write_caddy_on_demand if name == ON_DEMAND else WRITERS[name]
    command = write(base, port, upstreams, certificate)
    environ = os.environ | {"XDG_DATA_HOME": str(base), "XDG_CONFIG_HOME": str(base)}
    with (base / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_for(lambda: accepts(port, process, base / "log"), name, START_SECONDS)
        yield Proxy(name, port, process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_SECONDS)


def accepts(port: int, process: subprocess.Popen[bytes], log: Path) -> bool:
    assert process.poll() is None, log.read_text(errors="replace")
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
