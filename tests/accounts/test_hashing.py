"""Password hashing: its bounds, the turns of the queues, and each view's answer when it is busy."""

from __future__ import annotations

import ast
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.accounts import hashing, passwords
from app.accounts.hashing import RETRY_SECONDS, HashingGate, HashPriority
from app.accounts.models import User
from app.core.errors import Busy
from app.core.file_locks import is_held, wait_for_lock
from app.dashboard.auth.rate_limits import BY_ACCOUNT, BY_SESSION
from tests.accounts.places import fill, no_hash_begins
from tests.accounts.test_sign_in import sign_in
from tests.api.shape import problem
from tests.clients import Api
from tests.dashboard.conftest import Desk, desk
from tests.factories import PASSWORD
from tests.test_architecture import MODULES, foreign, named

__all__ = ["desk"]
pytestmark = pytest.mark.real_hashing
SECONDS = 60


class Work:
    """A hash that lasts until `done` is set."""

    def __init__(self) -> None:
        self.begun, self.done = threading.Event(), threading.Event()

    def __call__(self) -> str:
        self.begun.set()
        assert self.done.wait(SECONDS)
        return "a hash"


class LoneWork:
    """Hashes a password, and notes for each time whether no other thread was doing so."""

    def __init__(self) -> None:
        self.alone = threading.Semaphore(1)
        self.was_alone: list[bool] = []

    def __call__(self) -> None:
        is_alone = self.alone.acquire(blocking=False)
        self.was_alone.append(is_alone)
        passwords.HASHER.hash("plum tree")
        if is_alone:
            self.alone.release()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(40) as pool:
        yield pool


@pytest.fixture
def gate() -> HashingGate:
    return HashingGate()


@pytest.fixture
def work(gate: HashingGate, pool: ThreadPoolExecutor) -> Iterator[Work]:
    """A job that keeps the gate's thread busy until its `done` is set."""
    work = Work()
    pool.submit(gate.run, work)
    assert work.begun.wait(SECONDS)
    yield work
    work.done.set()


def ask(gate: HashingGate, priority: HashPriority, made: list[str], name: str) -> None:
    with gate.reserve(priority):
        gate.run(lambda: made.append(name))


class Asked:
    """Requests that wait for the gate, each in its own thread."""

    def __init__(self, gate: HashingGate, pool: ThreadPoolExecutor) -> None:
        self.gate, self.pool = gate, pool
        self.made: list[str] = []
        self.futures: list[Future[None]] = []

    def wait_in(self, priority: HashPriority, name: str) -> None:
        """Queues a request; returns once it is in the queue."""
        before = len(self.gate.jobs[priority])
        self.futures.append(self.pool.submit(ask, self.gate, priority, self.made, name))
        while len(self.gate.jobs[priority]) == before:
            assert not self.futures[-1].done()


def test_one_hash_is_made_at_a_time(gate: HashingGate, pool: ThreadPoolExecutor) -> None:
    work = LoneWork()
    list(pool.map(lambda _: gate.run(work), range(10)))
    assert work.was_alone == [True] * 10


def test_what_goes_wrong_is_raised_where_it_was_asked_for(gate: HashingGate) -> None:
    with pytest.raises(ZeroDivisionError):
        gate.run(lambda: 1 // 0)
    assert gate.run(lambda: "the next") == "the next"


def test_every_queue_has_its_turn(
    gate: HashingGate, pool: ThreadPoolExecutor, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hashing, "WAIT_SECONDS", SECONDS)
    asked = Asked(gate, pool)
    for number in range(10):
        asked.wait_in(HashPriority.STRANGERS, f"stranger {number}")
    asked.wait_in(HashPriority.KNOWN, "owner")
    asked.wait_in(HashPriority.VISITORS, "visitor")
    work.done.set()
    for future in asked.futures:
        future.result(SECONDS)
    assert asked.made.index("owner") <= 3
    assert asked.made.index("visitor") <= 3
    assert [name for name in asked.made if name.startswith("s")] == [f"stranger {n}" for n in range(10)]


def test_beyond_a_queues_places_nobody_waits(gate: HashingGate) -> None:
    with ExitStack() as taken:
        for _ in range(HashPriority.STRANGERS.places):
            gate.take_place(HashPriority.STRANGERS)
            taken.callback(gate.leave_place, HashPriority.STRANGERS)
        with pytest.raises(Busy), gate.reserve(HashPriority.STRANGERS):
            pytest.fail("there is no place")
        assert gate.run(lambda: "owner's") == "owner's"
    with gate.reserve(HashPriority.STRANGERS):
        assert gate.run(lambda: "stranger's") == "stranger's"


def test_what_does_not_begin_in_time_is_never_made(
    gate: HashingGate, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hashing, "WAIT_SECONDS", 0.01)
    made: list[str] = []
    with pytest.raises(Busy) as busy:
        ask(gate, HashPriority.KNOWN, made, "too late")
    assert busy.value.seconds == RETRY_SECONDS
    monkeypatch.setattr(hashing, "WAIT_SECONDS", SECONDS)
    work.done.set()
    ask(gate, HashPriority.KNOWN, made, "in time")
    assert made == ["in time"]


def test_what_has_begun_is_waited_for(
    gate: HashingGate, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hashing, "WAIT_SECONDS", 0.01)
    work = Work()
    found = pool.submit(gate.run, work)
    assert work.begun.wait(SECONDS)
    threading.Timer(0.1, work.done.set).start()
    assert found.result(SECONDS) == "a hash"


@pytest.mark.parametrize(
    ("cores", "names"),
    [
        (None, {"hashing-0.lock"}),
        (1, {"hashing-0.lock"}),
        (2, {"hashing-0.lock"}),
        (4, {"hashing-0.lock", "hashing-1.lock"}),
    ],
    ids=["unknown", "one core", "two cores", "four cores"],
)
def test_processes_take_turns_on_half_of_the_cores(
    cores: int | None, names: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    found = set()
    for pid in (1000, 1001, 1002):
        monkeypatch.setattr(os, "getpid", lambda pid=pid: pid)
        with hashing.turn_of_process(tmp_path):
            found |= {path.name for path in tmp_path.iterdir() if is_held(path)}
    assert found == names


def test_gates_of_two_processes_hash_one_after_the_other(tmp_path: Path, pool: ThreadPoolExecutor) -> None:
    work = LoneWork()
    gates = HashingGate(), HashingGate()
    for gate in gates:
        gate.turn = partial(wait_for_lock, tmp_path / "turn.lock")
    list(pool.map(lambda number: gates[number % 2].run(work), range(10)))
    assert work.was_alone == [True] * 10


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has a priority of its own on Linux alone")
def test_redirects_have_the_core_first(gate: HashingGate) -> None:
    def priority() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    assert gate.run(priority) == min(19, priority() + hashing.LOW_PRIORITY)


# ------------------------------------------------------------ the answer of each view


def is_busy(answer: TestResponse) -> bool:
    return (answer.status_code, answer.headers.get("Retry-After")) == (503, str(RETRY_SECONDS))


@pytest.fixture
def full() -> Iterator[Callable[[HashPriority], None]]:
    with ExitStack() as taken:
        yield lambda priority: fill(taken, priority)


class TestBusy:
    def test_the_sign_in_says_so_on_its_page_and_counts_no_try(
        self, client: FlaskClient, alice: User, full: Callable[[HashPriority], None]
    ) -> None:
        with ExitStack() as taken:
            fill(taken, HashPriority.STRANGERS)
            for _ in range(BY_ACCOUNT.amount + 1):
                answer = sign_in(client, password="a guess")
                assert is_busy(answer)
            assert "Too many passwords are being checked" in answer.text
            assert 'value="alice@example.com"' in answer.text
        assert sign_in(client).status_code == 303

    def test_a_hash_that_does_not_begin_is_no_try_at_the_sign_in(
        self, client: FlaskClient, alice: User
    ) -> None:
        with no_hash_begins():
            for _ in range(BY_ACCOUNT.amount + 1):
                assert is_busy(sign_in(client, password="a guess"))
        assert sign_in(client).status_code == 303

    def test_nor_is_it_one_in_a_session(self, desk: Desk) -> None:
        sent = {"current_password": PASSWORD, "password": "an even longer phrase"}
        with no_hash_begins():
            for _ in range(BY_SESSION.amount + 1):
                assert is_busy(desk.post("/account/password", sent))
        assert desk.post("/account/password", sent).status_code == 303

    @pytest.mark.parametrize(
        ("path", "sent"),
        [
            ("/account/password", {"current_password": PASSWORD, "password": "an even longer phrase"}),
            ("/account/email", {"own_password": PASSWORD, "new_email": "a@example.com"}),
            ("/account/two-factor/start", {"current_password": PASSWORD}),
            ("/account/delete", {"own_password": PASSWORD, "own_email": "alice@example.com"}),
        ],
    )
    def test_the_account_page_says_so_beside_the_field(
        self, desk: Desk, full: Callable[[HashPriority], None], path: str, sent: dict[str, str]
    ) -> None:
        full(HashPriority.KNOWN)
        answer = desk.post(path, sent)
        assert is_busy(answer)
        assert "Too many passwords are being checked" in answer.text

    def test_strangers_do_not_stop_owners(self, desk: Desk, full: Callable[[HashPriority], None]) -> None:
        full(HashPriority.STRANGERS)
        full(HashPriority.VISITORS)
        answer = desk.post(
            "/account/password", {"current_password": PASSWORD, "password": "an even longer phrase"}
        )
        assert answer.status_code == 303

    @pytest.mark.parametrize(
        ("path", "many"),
        [
            ("/links", {}),
            ("/links", {"is_bulk": "1", "location_urls": "https://example.com/"}),
            ("/links/{id}", {}),
        ],
        ids=["create", "create many", "update"],
    )
    def test_the_api_answers_a_problem(
        self,
        api: Api,
        make_link: Any,
        alice: User,
        full: Callable[[HashPriority], None],
        path: str,
        many: Any,
    ) -> None:
        link = make_link(alice)
        full(HashPriority.KNOWN)
        sent = {"location_url": "https://example.com/", "password": "open sesame", **many}
        answer = api.post(path.format(id=link.id), sent)
        problem(answer, 503)
        assert is_busy(answer)
        assert api.get("/links").json["meta"]["total"] == 1
        assert api.get(f"/links/{link.id}").json["data"]["settings"]["password"] is None

    def test_the_same_idempotency_key_may_be_sent_again(self, api: Api) -> None:
        key = {"Idempotency-Key": "once"}
        sent = {"location_url": "https://example.com/", "password": "open sesame"}
        with ExitStack() as taken:
            fill(taken, HashPriority.KNOWN)
            assert api.post("/links", sent, headers=key).status_code == 503
        assert api.post("/links", sent, headers=key).status_code == 201


def test_every_hash_of_the_application_goes_through_the_gate() -> None:
    """Among modules that serve requests only `passwords` imports the library, and calls it in the gate alone.

    Backups are made by commands, in processes of their own.
    """
    users = {named(path): path for path in MODULES if foreign(path, {"argon2"})}
    assert set(users) == {"app/accounts/passwords.py", "app/operations/backups/encryption.py"}
    tree = ast.parse(users["app/accounts/passwords.py"].read_text())
    gated = {
        id(part)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "GATE.run"
        for part in ast.walk(call)
    }
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute | ast.Name)
        and ast.unparse(node) in {"HASHER.hash", "HASHER.verify", "_hash_like"}
    ]
    assert len(calls) == 4
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "hash_secret"]
    assert len(used) == 1, "in _hash_like"
    assert all(id(call) in gated for call in calls)


def test_only_the_same_password_matches() -> None:
    stored = passwords.hash_password("plum tree")
    assert stored.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert passwords.check_password(stored, "plum tree")
    assert not passwords.check_password(stored, "plum tree ")
    assert not passwords.check_password(stored, "Plum tree")


def test_the_same_letters_typed_otherwise_are_the_same_password() -> None:
    assert passwords.check_password(passwords.hash_password("caf\u00e9 noir"), "cafe\u0301 noir")


def test_a_huge_or_unwritable_guess_is_only_wrong() -> None:
    stored = passwords.hash_password("plum tree")
    assert not passwords.check_password(stored, "x" * 5_000_000)
    assert not passwords.check_password(stored, "\ud800")
