"""Fixtures of all tests: settings, a migrated application, clients, rows and a real server.

- `@pytest.mark.databases` runs a test once on SQLite and once on PostgreSQL; the others use SQLite.
- `@pytest.mark.settings(BASE_URL="https://go.example")` changes settings for a test.
- `@pytest.mark.browser` needs Chromium, and is skipped with a message where there is none.
- `@pytest.mark.full` is a long test, or one of all combinations: it runs only with `--full`.
"""

from __future__ import annotations

import gc
import os
import resource
import shutil
import signal
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import hypothesis
import pytest
from argon2 import PasswordHasher
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import HealthCheck
from jinja2 import FileSystemBytecodeCache
from sqlalchemy.orm import Session, scoped_session

from app.accounts import passwords
from app.accounts.models import ApiKey, User
from app.core.config import Settings, load_settings
from app.core.error_boundary import boundaries
from app.core.extensions import db
from app.core.folders import ROOT
from app.core.secret_keys.ring import SecretKeys, use_keys
from tests import postgres, speed
from tests.applications import application
from tests.clients import ApartClient, Api
from tests.factories import Factory
from tests.migrations import environ, migrate
from tests.notifications.peers import Peers
from tests.past import Past, make_past
from tests.pgbouncer import PgBouncer
from tests.postgres_server import PostgresServer
from tests.redis_server import RedisServer
from tests.s3_server import S3Server
from tests.server import Server

MARKS = {
    "databases": "runs on SQLite and on PostgreSQL",
    "settings(**values)": "settings of the environment, without their prefix",
    "browser": "needs Chromium",
    "real_hashing": "hashes passwords with the parameters of production",
    "full": "kills, attacks on real servers, every page in a browser, every combination; runs with `--full`",
}
NO_CHROMIUM = "no Chromium found: install the package `chromium`, or name a binary in CHROMIUM"
TEMPLATE = "waypost_template"
LONGEST = (
    "test_python_client.py",
    "rights/test_rights.py",
    "analytics/clickhouse/test_rolling.py",
    "analytics/contract/test_copying.py",
    "i18n/test_templates.py",
    "test_hostile_parameters.py",
    "wholeness/test_rounds.py",
)


gc.disable()  # until `speed.spare_collections`
speed.use_memory_for_files()
speed.keep_priority()
speed.share_bound_routes()
speed.cache_compiled_reads()
Server.is_forked = True


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the long tests too (`make test-full`)")


def pytest_configure(config: pytest.Config) -> None:
    for mark, meaning in MARKS.items():
        config.addinivalue_line("markers", f"{mark}: {meaning}")
    # no test fails on a busy machine, and without the long tests each tries fewer examples
    examples = 500 if config.option.full else 30
    hypothesis.settings.register_profile(
        "tests", deadline=None, max_examples=examples, suppress_health_check=[HealthCheck.too_slow]
    )
    hypothesis.settings.load_profile("tests")
    if not hasattr(config, "workerinput"):
        time_of_tests = ExitStack()
        time_of_tests.enter_context(postgres.session())
        config.add_cleanup(time_of_tests.close)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.definition.get_closest_marker("databases") and "database" in metafunc.fixturenames:
        metafunc.parametrize("database", ["sqlite", "postgresql"], indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.option.full:
        long = [item for item in items if item.get_closest_marker("full")]
        items[:] = [item for item in items if not item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=long)
    if chromium() is None:
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(pytest.mark.skip(reason=NO_CHROMIUM))
    if hasattr(config, "workerinput"):
        begin_with_the_longest(items)


def begin_with_the_longest(items: list[pytest.Item]) -> None:
    """Else a worker could begin a file of a minute when the others are done. A worker takes one file at a time."""
    files = Counter(item.path for item in items)
    longest = [ROOT / "tests" / name for name in LONGEST]
    items.sort(key=lambda item: (item.path not in longest, -files[item.path]))


def pytest_collection_finish() -> None:
    speed.spare_collections()


def chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    return {**browser_type_launch_args, "executable_path": chromium(), "args": arguments}


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with both database files, migrated, empty and closed: they need no `-wal` beside them."""
    directory = tmp_path_factory.mktemp("template")
    migrate(directory)
    return directory


@pytest.fixture(scope="session")
def postgres_template(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a migrated, empty database. The first test worker creates it."""
    with postgres.started(), postgres.connect() as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [TEMPLATE]).fetchone():
            connection.execute("CREATE DATABASE half_made")
            migrate(tmp_path_factory.mktemp("template-pg"), postgres.address("half_made"))
            connection.execute(f"ALTER DATABASE half_made RENAME TO {TEMPLATE}")
    return TEMPLATE


@pytest.fixture(autouse=True)
def hashing_has_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait longer for a hash to begin, so that no test fails on a busy machine."""
    monkeypatch.setattr("app.accounts.hashing.WAIT_SECONDS", 60)


@pytest.fixture(autouse=True)
def forget_errors() -> None:
    """Forget the errors of earlier tests: rows have the same ids, and would be backed off."""
    for boundary in list(boundaries):
        boundary.forget()


@pytest.fixture(autouse=True)
def process_is_left_as_found() -> Iterator[None]:
    """Check that a test has restored the process's limits, priority, SIGTERM handler and directory."""
    kinds = (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_DATA, resource.RLIMIT_NOFILE)

    def found() -> list[object]:
        priority = os.getpriority(os.PRIO_PROCESS, 0)
        return [*map(resource.getrlimit, kinds), priority, signal.getsignal(signal.SIGTERM), Path.cwd()]

    before = found()
    yield
    assert found() == before


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """`sqlite` or `postgresql`."""
    return getattr(request, "param", "sqlite")


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    directory = tmp_path / "data"
    directory.mkdir()
    return directory


@pytest.fixture
def database_url(database: str, data_dir: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a migrated, empty database of this test's own."""
    if database == "sqlite":
        shutil.copytree(request.getfixturevalue("sqlite_template"), data_dir, dirs_exist_ok=True)
        yield f"sqlite:///{data_dir / 'main.db'}"
        return
    name = f"test_{uuid.uuid4().hex}"
    template = request.getfixturevalue("postgres_template")
    with postgres.connect() as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        yield postgres.address(name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def programs_of_postgres(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put `pg_dump` and `psql` of the tests' PostgreSQL before those of the machine, which may be older."""
    folders = [str(each) for each in postgres.bin_directories() if (each / "pg_dump").exists()]
    monkeypatch.setenv("PATH", os.pathsep.join([*folders[:1], os.environ["PATH"]]))


@pytest.fixture
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL of this test's own, which can be frozen."""
    server = PostgresServer()
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.fixture
def redis_server() -> Iterator[RedisServer]:
    server = RedisServer()
    yield server.start()
    server.stop()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """A real S3-compatible server. Each test makes a bucket of its own."""
    server = S3Server()
    yield server.start()
    server.stop()


@pytest.fixture
def pgbouncer(tmp_path: Path) -> Iterator[PgBouncer]:
    with postgres.started():
        pooler = PgBouncer(tmp_path)
    yield pooler.start()
    pooler.stop()


@pytest.fixture
def settings(data_dir: Path, database_url: str, request: pytest.FixtureRequest) -> Settings:
    marks = [mark.kwargs for mark in reversed([*request.node.iter_markers("settings")])]
    values = {k: v for mark in marks for k, v in mark.items()}
    found = load_settings(environ(data_dir, database_url, **values))
    use_keys(SecretKeys(found.secret_key, found.secret_key_old, found.secret_key_dir))
    return found


@pytest.fixture(autouse=True)
def cheap_hashing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords are hashed in microseconds instead of 26 ms, except under `@pytest.mark.real_hashing`."""
    if request.node.get_closest_marker("real_hashing"):
        passwords._nobodys.cache_clear()  # hashed cheaply by an earlier test
    else:
        cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
        monkeypatch.setattr("app.accounts.passwords.HASHER", cheap)


@pytest.fixture(scope="session")
def compiled_templates(tmp_path_factory: pytest.TempPathFactory) -> FileSystemBytecodeCache:
    """Each template is compiled once for the applications of all workers."""
    base = tmp_path_factory.getbasetemp()
    directory = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "templates"
    directory.mkdir(exist_ok=True)
    return FileSystemBytecodeCache(str(directory))


@pytest.fixture
def app(settings: Settings, compiled_templates: FileSystemBytecodeCache) -> Iterator[Flask]:
    with application(settings) as app:
        app.testing = True
        app.jinja_env.bytecode_cache = compiled_templates
        app.test_client_class = ApartClient
        with app.app_context():
            speed.share_compiled_statements(db.engine)
        yield app


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def session(app: Flask) -> Iterator[scoped_session[Session]]:
    """`db.session`, in an application context that the clients' requests do not share."""
    with app.app_context():
        yield cast("scoped_session[Session]", db.session)


@pytest.fixture
def factory(session: scoped_session[Session]) -> Factory:
    return Factory(session)


@pytest.fixture
def make_user(factory: Factory) -> Callable[..., User]:
    return factory.user


@pytest.fixture
def make_key(factory: Factory) -> Callable[..., tuple[ApiKey, str]]:
    return factory.key


@pytest.fixture
def make_link(factory: Factory) -> Callable[..., Any]:
    return factory.link


@pytest.fixture
def make_pixel(factory: Factory) -> Callable[..., Any]:
    return factory.pixel


@pytest.fixture
def make_handler(factory: Factory) -> Callable[..., Any]:
    return factory.handler


@pytest.fixture
def make_project(factory: Factory) -> Callable[..., Any]:
    return factory.project


@pytest.fixture
def make_domain(factory: Factory) -> Callable[..., Any]:
    return factory.domain


@pytest.fixture
def alice(make_user: Callable[..., User]) -> User:
    """The owner (and, as the first, the admin)."""
    return make_user("alice@example.com")


@pytest.fixture
def bob(alice: User, make_user: Callable[..., User]) -> User:
    """Another user, who shares nothing with alice."""
    return make_user("bob@example.com")


@pytest.fixture
def past(settings: Settings, alice: User, factory: Factory) -> Past:
    """Alice's two links, the first in her project, and their visits until yesterday."""
    return make_past(settings, alice, factory)


@pytest.fixture
def make_api(client: FlaskClient, make_key: Callable[..., tuple[ApiKey, str]]) -> Callable[..., Api]:
    """`make_api(bob, "read")`: a client of the API with a new key of that user."""
    return lambda user, scope="write", **columns: Api(client, make_key(user, scope, **columns)[1])


@pytest.fixture
def api(make_api: Callable[..., Api], alice: User) -> Api:
    """A client of the API with a key of alice that may write."""
    return make_api(alice)


@pytest.fixture
def make_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """`make_server(BASE_URL=…)`: the real server, started and ready; ended after the test."""
    with ExitStack() as started:

        def make(**values: str) -> Server:
            server = Server(tmp_path / f"server-{uuid.uuid4().hex[:8]}", **values)
            started.callback(server.stop)
            return server.start()

        yield make


@pytest.fixture(scope="module")
def live_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One real server for all tests of a module, with an empty data directory at first."""
    server = Server(tmp_path_factory.mktemp("server") / "data").start()
    yield server
    server.stop()


@pytest.fixture
def peers() -> Iterator[Peers]:
    """Servers of other people on the loopback interface."""
    found = Peers()
    yield found
    found.close()
