"""Is the house still built as its plan says? Who imports whom, who dials out, and how big is each room?"""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.config import ROOT

# lowest first; a room may import from those before its own
LAYERS = [
    "core",  # the single modules under app/: clock, errors, forms …
    "audit",
    "accounts",
    "projects domains ownership trash",
    "pixels",
    "notifications",
    "links",
    "journal",
    "visits",
    "clicks",
    "transfer departures",
    "edges",
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names.split()}
EDGES = {"__init__", "languages", "api", "dashboard", "public", "cli", "jobs", "migrations", "http_server"}
# single modules of the edges: what their requests have in common
EDGES |= {
    "bodies",
    "cookies",
    "domain_check",
    "trials",
    "error_pages",
    "failures",
    "headers",
    "logs",
    "media",
    "own_addresses",
    "sign_in_failures",
    "throttles",
    "trusted_hosts",
}

DOORS = {"socket", "ssl", "http.client", "urllib.request", "smtplib", "ftplib", "xmlrpc", "asyncio"}
DOORS |= {"httpcore", "httpx", "requests", "urllib3", "websockets", "aiohttp", "dns"}
# `dial` and `names` are the lower half of `outbound`; `serve` only asks whether its own port is free
MAY_DIAL = {f"app/notifications/{name}.py" for name in ("outbound", "dial", "names")}
# asks which of the process's sockets listens, and closes the door of that one
MAY_BIND = {f"app/cli/{name}.py": {"socket"} for name in ("serve", "lifetime", "draining")}
# looks at connections that were accepted, and runs on the event loop that granian serves with
MAY_BIND["app/http_server/connections.py"] = {"socket"}
MAY_BIND |= {
    f"app/http_server/{name}.py": {"asyncio"}
    for name in ("granian_worker", "dispatcher", "answers", "request_bodies", "body_inputs")
}
MAY_BIND["app/cli/web.py"] = {"asyncio"}
# speaks SMTP on a line that the door has made, and never gives smtplib a host to dial
MAY_BIND["app/notifications/smtp.py"] = {"smtplib"}

MODULES = [path for path in sorted(ROOT.glob("app/**/*.py")) if "versions" not in path.parts]
LINES, FUNCTION_LINES = 300, 40
# long tables of facts of the world, and nothing else
TABLES = {"app/places.py", "app/visits/known_apps.py"}


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def room(path: Path) -> str:
    """`app/links/forms.py` is in the room `links`, `app/clock.py` in `clock`."""
    return path.relative_to(ROOT / "app").with_suffix("").parts[0]


def level(name: str) -> int:
    return LEVEL["edges"] if name in EDGES else LEVEL.get(name, LEVEL["core"])


def imports(path: Path) -> Iterator[str]:
    """Full names of all that a module imports, wherever in it; `from a import b` as `a.b`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names)


def foreign(path: Path, modules: set[str]) -> list[str]:
    """Which of these modules, or of what is in them, does `path` import?"""
    return [name for name in imports(path) if any(f"{name}.".startswith(f"{module}.") for module in modules)]


def offenders(found: Callable[[Path], object]) -> dict[str, object]:
    return {named(path): what for path in MODULES if (what := found(path))}


def test_imports_go_down_only() -> None:
    def upward(path: Path) -> list[str]:
        mine = room(path)
        rooms = {name: name.split(".")[1] for name in foreign(path, {"app"}) if name != "app"}
        return [name for name, other in rooms.items() if other != mine and level(known(other)) > level(mine)]

    assert not offenders(upward)


def known(name: str) -> str:
    """`from app import create_app` names a thing of `app/__init__.py`, not a module."""
    return name if any(room(path) == name for path in MODULES) else "__init__"


def test_nobody_imports_by_dots() -> None:
    assert not offenders(lambda path: [name for name in imports(path) if name.startswith(".")])


def test_only_edges_know_flask() -> None:
    assert not offenders(lambda path: room(path) not in EDGES | {"extensions"} and foreign(path, {"flask"}))


def test_there_is_one_door_out() -> None:
    def doors(path: Path) -> list[str]:
        return foreign(path, set() if named(path) in MAY_DIAL else DOORS - MAY_BIND.get(named(path), set()))

    assert not offenders(doors)


def test_smtp_is_spoken_on_the_doors_line_only() -> None:
    """smtplib dials where it is given a host, or asked to connect."""
    tree = ast.parse((ROOT / "app/notifications/smtp.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    clients = [call for call in calls if ast.unparse(call.func).startswith("smtplib.SMTP")]
    plain = [call for call in clients if not call.args and all(one.arg != "host" for one in call.keywords)]
    assert [ast.unparse(call.func) for call in plain] == ["smtplib.SMTP"]
    assert all(
        ast.unparse(call.func) == "smtplib.SMTPServerDisconnected" for call in clients if call not in plain
    )
    assert not [call for call in calls if ast.unparse(call.func).endswith(".connect")]


def test_bodies_are_read_in_one_place() -> None:
    """The framework's own parser lets through what app/bodies.py refuses, and would parse a body once more."""
    readers = {"app/bodies.py", "app/dashboard/receiving.py"}
    parsed = re.compile(r"\brequest\.(?:form|files|values|data|json|get_json|get_data|stream)\b")
    assert not offenders(lambda path: named(path) not in readers and parsed.findall(path.read_text()))


def test_a_module_says_which_question_it_answers() -> None:
    def silent(path: Path) -> bool:
        tree = ast.parse(path.read_text())
        return bool(tree.body) and not ast.get_docstring(tree)

    assert not offenders(silent)


def test_rooms_stay_small() -> None:
    def long(path: Path) -> str:
        lines = path.read_text().count("\n")
        return f"{lines} lines" if lines > LINES and named(path) not in TABLES else ""

    assert not offenders(long)


def test_functions_stay_small() -> None:
    def long(path: Path) -> list[str]:
        functions = [
            node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)
        ]
        return [f.name for f in functions if f.end_lineno and f.end_lineno - f.lineno >= FUNCTION_LINES]

    assert not offenders(long)


def test_no_room_is_named_for_nothing() -> None:
    nothing = re.compile(r"(?:^|_)(?:utils?|helpers?|common|managers?)(?:_|$)")
    assert not [named(path) for path in MODULES if nothing.search(path.stem)]


def test_what_is_imported_is_required() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    required = {normal(re.split(r"[\[<>=;~! ]", line)[0]) for line in project}
    owners = importlib.metadata.packages_distributions()
    used = {name.split(".")[0] for path in [*MODULES, ROOT / "wsgi.py"] for name in imports(path)}
    used -= sys.stdlib_module_names | {"app", "_typeshed"}  # the last is the type checker's own
    assert not [
        name for name in sorted(used) if not required & {normal(owner) for owner in owners.get(name, ())}
    ]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_one_module_writes_csv() -> None:
    """Its cells are escaped there; `csv` beside it is for reading."""

    def writers(path: Path) -> list[str]:
        used = [
            ast.unparse(node)
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Attribute)
        ]
        names = {"csv.writer", "csv.DictWriter"}
        return [name for name in (*used, *imports(path)) if name in names]

    assert list(offenders(writers)) == ["app/csv_files.py"]


def test_committed_files_name_no_machine_and_no_registry() -> None:
    hosts = [
        "pypi" + ".org",
        "pythonhosted" + ".org",
        "npmjs" + ".org",
        "npmjs" + ".com",
        "registry" + ".yarnpkg",
    ]
    paths = ["/" + "root/", "/" + "home/", "/" + "Users/", "/tmp/" + "w/", "/work/" + "main"]
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone: nothing says which files are committed")
    wanted = re.compile("|".join(map(re.escape, hosts + paths)).encode())
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    files = [ROOT / name.decode() for name in listed.split(b"\0") if name]
    assert not [named(path) for path in files if path.is_file() and wanted.search(path.read_bytes())]
