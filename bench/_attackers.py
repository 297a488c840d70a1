"""Connections of one machine that attack a Waypost, in a process of their own, for `bench.attacks`."""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from typing import NamedTuple

import requests

from bench.redirects import on_core
from tests.proxies import HOSTS

HOST = HOSTS[0]
PAUSE_SECONDS = 0.2  # between two bytes of a slow body
RETRY_SECONDS = 0.5  # before a connection that was refused or cut comes again
PIECE = 64 * 1024
MIB = 1024 * 1024
# what the attacking machine's line carries, in bytes a second: a gigabit. Loopback itself has no bound
LINE_RATE = 125_000_000
TRIES = 4  # sign-ins of one network; beyond 30 the rate limit would help
START_SECONDS, STOP_SECONDS = 30, 60
FORM = "Content-Type: application/x-www-form-urlencoded"


class Sent(NamedTuple):
    """A request: its head, and its body of equal pieces."""

    head: bytes
    piece: bytes = b""
    pieces: int = 0


class Attack(NamedTuple):
    """`make_request` returns the request for a number. `requests`: how many go over one connection."""

    make_request: Callable[[int], Sent]
    requests: int = 1
    is_slow: bool = False
    has_many_networks: bool = False


def head(method: str, path: str, *lines: str, host: str = HOST) -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {host}", *lines, "", ""]).encode()


def slow_body(number: int) -> Sent:
    """A request that announces 1,000 bytes, and is sent byte by byte."""
    ways = (("/login",), ("/hot",), ("/api/links", "Authorization: Bearer x"))
    path, *lines = ways[number % len(ways)]
    return Sent(head("POST", path, FORM, "Content-Length: 1000", *lines))


def many_fields(number: int) -> Sent:
    """A form of `a&a&`: 10 MiB to the sign-in or with a key, or as much as the sign-in takes."""
    size = (10 * MIB, 10 * MIB, PIECE)[number % 3]
    path, *lines = (("/login",), ("/api/links", "Authorization: Bearer x"), ("/login",))[number % 3]
    return Sent(
        head("POST", path, FORM, f"Content-Length: {size}", *lines), b"a&" * (PIECE // 2), size // PIECE
    )


def hoarded_host(number: int) -> Sent:
    """A request with a new host: 60 kB long, or as long as hosts may be."""
    host = f"{number:06}" * 10_000 if number % 2 else f"{number:06}." * 35 + "example"
    return Sent(head("GET", "/hot", host=host))


def sign_in(cookie: str, token: str) -> Callable[[int], Sent]:
    def make_request(number: int) -> Sent:
        form = f"csrf_token={token}&password=a+wrong+guess&email=u{number}%40example.com".encode()
        return Sent(
            head("POST", "/login", FORM, f"Content-Length: {len(form)}", f"Cookie: {cookie}"), form, 1
        )

    return make_request


NAMES = ("slow bodies", "many fields", "hoarded hosts", "sign-ins")


def make_attack(name: str, port: int) -> Attack:
    if name == "slow bodies":
        return Attack(slow_body, is_slow=True)
    if name == "many fields":
        return Attack(many_fields)
    if name == "hoarded hosts":
        return Attack(hoarded_host, requests=100)
    page = requests.get(f"http://127.0.0.1:{port}/login", headers={"Host": HOST}, timeout=START_SECONDS)
    token = re.search(r'name="csrf_token" value="([^"]+)"', page.text)
    assert token, page.text
    cookie = "; ".join(f"{each.name}={each.value}" for each in page.cookies)
    return Attack(sign_in(cookie, token[1]), requests=TRIES, has_many_networks=True)


class Line:
    """The line of one machine, which all its connections share."""

    def __init__(self) -> None:
        self.free_at = 0.0

    def delay_after(self, size: int) -> float:
        """Seconds until the line is free again when `size` bytes are sent now."""
        now = time.monotonic()
        self.free_at = max(self.free_at, now) + size / LINE_RATE
        return self.free_at - now


class Attacker(asyncio.Protocol):
    """One connection. `answers` counts answers by status, and connections that ended without one."""

    def __init__(self, attack: Attack, line: Line, numbers: Iterator[int], answers: Counter[str]) -> None:
        self.attack, self.line, self.numbers, self.answers = attack, line, numbers, answers
        self.left = attack.requests
        self.transport: asyncio.Transport
        self.ended = asyncio.get_running_loop().create_future()
        self.is_paused = False
        self.pieces: Iterator[bytes] = iter(())
        self.answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.send()

    def send(self) -> None:
        self.left -= 1
        request = self.attack.make_request(next(self.numbers))
        self.answer = b""
        self.pieces = itertools.repeat(request.piece, request.pieces)
        self.transport.write(request.head)
        if self.attack.is_slow:
            self.drip()
        else:
            self.pump_later(len(request.head))

    def drip(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(b"a")
            asyncio.get_running_loop().call_later(PAUSE_SECONDS, self.drip)

    def pump_later(self, size: int) -> None:
        """Go on when the line has carried `size` bytes."""
        asyncio.get_running_loop().call_later(self.line.delay_after(size), self.pump)

    def pump(self) -> None:
        if self.is_paused or self.transport.is_closing():
            return
        if (piece := next(self.pieces, None)) is not None:
            self.transport.write(piece)
            self.pump_later(len(piece))

    def pause_writing(self) -> None:
        self.is_paused = True

    def resume_writing(self) -> None:
        self.is_paused = False
        self.pump()

    def data_received(self, data: bytes) -> None:
        self.answer += data
        if not is_whole(self.answer):
            return
        self.answers[self.answer[9:12].decode()] += 1
        is_sent = next(self.pieces, None) is None
        if self.left and is_sent and b"connection: close" not in self.answer[:2000].lower():
            self.send()
        else:
            self.transport.abort()

    def connection_lost(self, _error: Exception | None) -> None:
        if self.answer == b"":
            self.answers["cut"] += 1
        if not self.ended.done():  # cancelled at the end of the attack
            self.ended.set_result(None)


def is_whole(answer: bytes) -> bool:
    top, end, body = answer.partition(b"\r\n\r\n")
    if found := re.search(rb"(?i)content-length: *(\d+)", top):
        return len(body) >= int(found[1])
    return end != b"" and (b"chunked" not in top.lower() or body.endswith(b"0\r\n\r\n"))


async def attack_for_ever(
    attack: Attack,
    line: Line,
    port: int,
    networks: Iterator[int],
    numbers: Iterator[int],
    answers: Counter[str],
) -> None:
    while True:
        network = next(networks) if attack.has_many_networks else 0
        source = (f"127.{64 + network // 256 % 128}.{network % 256}.1" if network else "127.0.0.1", 0)
        try:
            _, attacker = await asyncio.get_running_loop().create_connection(
                lambda: Attacker(attack, line, numbers, answers), "127.0.0.1", port, local_addr=source
            )
            await attacker.ended
            is_refused = attack.is_slow
        except OSError:
            answers["no connection"] += 1
            is_refused = True
        if is_refused:
            await asyncio.sleep(RETRY_SECONDS)


def run(name: str, port: int, connections: int, is_over: Event, out: Connection) -> None:
    """Attack until `is_over`, then send the counts of answers."""
    # the prober shares the core and would wait for slices of the attack, which is on another machine in truth
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    attack, answers = make_attack(name, port), Counter[str]()
    out.send(None)

    async def main() -> None:
        line, networks, numbers = Line(), itertools.count(1), itertools.count()
        tasks = [
            asyncio.create_task(attack_for_ever(attack, line, port, networks, numbers, answers))
            for _ in range(connections)
        ]
        await asyncio.to_thread(is_over.wait)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(main())
    out.send(answers)


@contextmanager
def attacking(name: str, port: int, connections: int) -> Iterator[Counter[str]]:
    """Runs the attack inside the block, on the load's core. After it the counts of answers are filled in."""
    context = multiprocessing.get_context("spawn")
    is_over, answers = context.Event(), Counter[str]()
    mine, its = context.Pipe()
    process = context.Process(target=run, args=(name, port, connections, is_over, its))
    with on_core(0):
        process.start()
    try:
        assert mine.poll(START_SECONDS), "the attack did not start"
        mine.recv()
        yield answers
    finally:
        is_over.set()
        if mine.poll(STOP_SECONDS):
            answers.update(mine.recv())
        process.join(STOP_SECONDS)
