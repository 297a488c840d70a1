"""Architecture rules: allowed imports, one module for outbound requests, sizes, and class names."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Collection, Iterator
from functools import cache
from pathlib import Path

import pytest
from flask import Flask

from app.core.folders import ROOT
from app.dashboard.shared.workspace import NAME

# lowest layer first; a package may import from earlier layers and from its own
LAYERS = [
    "i18n",  # imports nothing of the application: every layer words its own messages
    "core",
    "input web net geo rate_limit audit events",
    "accounts",
    "projects domains trash",
    "pixels",
    "notifications",
    "links",
    "journal",
    "redirects",
    "analytics",
    "events.feed",  # reads what many packages have written
    "events.push events.subscriptions",
    "import_export jobs accounts.deletion",  # an account's data is spread over all earlier packages
    "operations openapi",
    "api dashboard public cli http_server migrations __init__",
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names.split()}
EDGES = {"api", "dashboard", "public", "cli"}
KNOW_FLASK = EDGES | {"web", "http_server", "migrations", "__init__"}
ROOMS = 29  # the most packages, counting single modules under app/

# modules that may break the rule, and why
FLASK_EXEMPT = {
    "app/i18n/__init__.py": "gives templates their functions",
    "app/i18n/languages.py": "a language is kept in an application context, which the worker's threads lack",
}

DOORS = {"socket", "ssl", "http.client", "urllib.request", "smtplib", "ftplib", "xmlrpc", "asyncio"}
DOORS |= {
    "httpcore",
    "httpx",
    "requests",
    "urllib3",
    "websockets",
    "aiohttp",
    "dns",
    "opentelemetry.exporter",
}
# `dial` and `dns` are the lower half of `http`
MAY_DIAL = {f"app/net/{name}.py" for name in ("http", "dial", "dns")}
# make the sockets that `serve` listens on and stop accepting on them, and tell the service manager that it is ready
MAY_BIND = {f"app/operations/{name}.py": {"socket"} for name in ("listening", "processes")}
# run on granian's event loop
MAY_BIND |= {
    f"app/http_server/{name}.py": {"asyncio"}
    for name in ("granian_worker", "dispatcher", "answers", "pauses", "request_bodies")
}
MAY_BIND["app/cli/web.py"] = {"asyncio", "socket"}
# ends connections of answers that break off
MAY_BIND["app/http_server/answers.py"] |= {"socket"}
# speaks SMTP on a connection that app/net made, and never gives smtplib a host to dial
MAY_BIND["app/notifications/smtp.py"] = {"smtplib"}
# the one exception: spans go to the collector that the operator names by variables of OpenTelemetry
MAY_BIND["app/core/tracing.py"] = {"opentelemetry.exporter"}

MODULES = [path for path in sorted(ROOT.glob("app/**/*.py")) if "versions" not in path.parts]
LINES, FUNCTION_LINES, SLIVER_LINES = 500, 60, 60
# each imports one module a resource, a page or a command, which is registered by that
REGISTERING = {"app.api", "app.dashboard", "app.cli", "app.public"}
# modules of few lines that one other module imports: this number may only fall
SLIVERS = 0


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def room(path: Path) -> str:
    """`app/links/forms.py` is in the package `links`; a subpackage may have a level of its own."""
    parts = path.relative_to(ROOT / "app").with_suffix("").parts
    inner = ".".join(parts[:2])
    return inner if inner in LEVEL else parts[0]


def level(name: str) -> int:
    return LEVEL[name]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Every node of a module."""
    return list(ast.walk(parsed(path)))


@pytest.fixture(scope="module", autouse=True)
def forget_trees() -> Iterator[None]:
    """A million nodes: each garbage collection of a later test would look at them."""
    yield
    parsed.cache_clear()
    nodes.cache_clear()


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Full names of all that a module imports, wherever in it; `from a import b` as `a.b`."""
    return tuple(find_imports(path))


def find_imports(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names)


def foreign(path: Path, modules: set[str]) -> list[str]:
    """The names that `path` imports from these modules."""
    return [name for name in imports(path) if any(f"{name}.".startswith(f"{module}.") for module in modules)]


def offenders(found: Callable[[Path], object]) -> dict[str, object]:
    return {named(path): what for path in MODULES if (what := found(path))}


def test_imports_go_down_only() -> None:
    def upward(path: Path) -> list[str]:
        mine = room(path)
        rooms = {name: room_of(name) for name in foreign(path, {"app"}) if name != "app"}
        return [name for name, other in rooms.items() if other != mine and level(other) > level(mine)]

    assert not offenders(upward)


@cache
def room_of(name: str) -> str:
    """The package of `app.links.forms`. `from app import create_app` imports from `app/__init__.py`."""
    first, second = [*name.split("."), ""][1:3]
    if f"{first}.{second}" in LEVEL:
        return f"{first}.{second}"
    return first if any(room(path).split(".")[0] == first for path in MODULES) else "__init__"


def test_no_edge_imports_another() -> None:
    def sideways(path: Path) -> list[str]:
        mine = room(path)
        return foreign(path, {f"app.{edge}" for edge in EDGES - {mine}}) if mine in EDGES else []

    assert not offenders(sideways)


def test_no_modules_import_each_other() -> None:
    """Neither directly nor in a circle, whether at the top, in a function or for types alone."""
    names = {module_name(path): path for path in MODULES}
    needs = {name: set(imported_modules(path, names)) - {name} for name, path in names.items()}
    while free := {name for name, needed in needs.items() if not needed & needs.keys()}:
        needs = {name: needed for name, needed in needs.items() if name not in free}
    assert not needs


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported_modules(path: Path, names: Collection[str]) -> Iterator[str]:
    """The modules of ours that a module imports. `from app.links import qr` is one, `… import Link` none."""
    for name in imports(path):
        while name and name not in names:
            name = name.rpartition(".")[0]
        if name:
            yield name


def test_the_rooms_can_be_counted() -> None:
    rooms = {room(path).split(".")[0] for path in MODULES} - {"__init__"}
    assert len(rooms) <= ROOMS, sorted(rooms)
    assert rooms <= LEVEL.keys(), "a room that LAYERS does not name"


def test_nobody_imports_by_dots() -> None:
    assert not offenders(lambda path: [name for name in imports(path) if name.startswith(".")])


def test_only_edges_know_flask() -> None:
    assert not offenders(
        lambda path: (
            room(path) not in KNOW_FLASK and named(path) not in FLASK_EXEMPT and foreign(path, {"flask"})
        )
    )


def test_there_is_one_poll_loop() -> None:
    # these wait for something else: the end of a process, the lock of the worker, a disk that takes lines again
    others = {"app/operations/processes.py", "app/jobs/worker.py", "app/journal/writer.py"}
    polls = re.compile(r"while not (?:self\.)?\w+\.(?:wait|is_set)\(")
    loops = {"app/core/poll_loop.py", *others}
    assert offenders(lambda path: polls.findall(path.read_text())).keys() == loops


def test_there_is_one_door_out() -> None:
    def doors(path: Path) -> list[str]:
        return foreign(path, set() if named(path) in MAY_DIAL else DOORS - MAY_BIND.get(named(path), set()))

    assert not offenders(doors)


def test_smtp_is_spoken_on_the_doors_line_only() -> None:
    """smtplib dials by itself when it is given a host or told to connect."""
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
    """The framework's own parser accepts bodies that app/web/body.py refuses, and would parse them again."""
    readers = {"app/web/body.py", "app/dashboard/imports/upload.py"}
    parsed = re.compile(r"\brequest\.(?:form|files|values|data|json|get_json|get_data|stream)\b")
    assert not offenders(lambda path: named(path) not in readers and parsed.findall(path.read_text()))


def test_queries_are_read_in_one_place() -> None:
    """By `read_query`, which is as strict as the reader of bodies, and from there by `ParamReader` alone."""
    # the second passes the raw query of a visitor on to the destination
    readers = {"app/web/body.py", "app/redirects/request_context.py"}
    parsed = re.compile(r"\brequest\.(?:args|query_string|values)\b|\bparse_qsl?\b|\(ParamReader\b")
    assert not offenders(lambda path: named(path) not in readers and parsed.findall(path.read_text()))


def test_a_modules_docstring_begins_with_a_statement() -> None:
    def begins_otherwise(path: Path) -> bool:
        tree = parsed(path)
        first = (ast.get_docstring(tree) or "").partition("\n\n")[0]
        return bool(tree.body) and not first.endswith((".", ":"))

    assert not offenders(begins_otherwise)


def test_few_lines_of_one_importer_stand_in_its_module() -> None:
    names = {module_name(path): path for path in MODULES}
    importers: dict[str, set[str]] = {}
    for name, path in names.items():
        for other in imported_modules(path, names):
            importers.setdefault(other, set()).add(name)
    slivers = []
    for name, path in names.items():
        others = importers.get(name, set()) - {name}
        if path.name not in {"__init__.py", "models.py"} and len(others) == 1 and not others <= REGISTERING:
            lines = sum(bool(line.strip()) for line in path.read_text().splitlines())
            slivers += [f"{name} ({lines}) of {min(others)}"] if lines < SLIVER_LINES else []
    assert len(slivers) <= SLIVERS, sorted(slivers)


def test_rooms_stay_small() -> None:
    def long(path: Path) -> str:
        lines = path.read_text().count("\n")
        return f"{lines} lines" if lines > LINES else ""

    assert not offenders(long)


def test_a_class_name_has_one_meaning() -> None:
    found: dict[str, list[str]] = {}
    for path in MODULES:
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(named(path))
    twice = {name: paths for name, paths in found.items() if len(paths) > 1}
    assert not twice


def test_functions_stay_small() -> None:
    def long(path: Path) -> list[str]:
        functions = [node for node in nodes(path) if isinstance(node, ast.FunctionDef)]
        return [f.name for f in functions if f.end_lineno and f.end_lineno - f.lineno >= FUNCTION_LINES]

    assert not offenders(long)


def test_no_room_is_named_for_nothing() -> None:
    nothing = re.compile(r"(?:^|_)(?:utils?|helpers?|common|managers?)(?:_|$)")
    assert not [named(path) for path in MODULES if nothing.search(path.stem)]


def test_what_is_imported_is_required() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = [line for lines in project["optional-dependencies"].values() for line in lines]
    lines = [*project["dependencies"], *optional]
    required = {normal(re.split(r"[\[<>=;~! ]", line)[0]) for line in lines}
    owners = importlib.metadata.packages_distributions()
    used = {name.split(".")[0] for path in [*MODULES, ROOT / "wsgi.py"] for name in imports(path)}
    used -= sys.stdlib_module_names | {"app", "_typeshed"}  # the last is the type checker's own
    assert not [
        name for name in sorted(used) if not required & {normal(owner) for owner in owners.get(name, ())}
    ]


# used without an import, and for what
NOT_IMPORTED = {"tzdata": "read by zoneinfo"}


def test_what_is_required_is_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    required = {normal(re.split(r"[\[<>=;~! ]", line)[0]) for line in project}
    owners = importlib.metadata.packages_distributions()
    imported = {name.split(".")[0] for path in [*MODULES, ROOT / "wsgi.py"] for name in imports(path)}
    used = {normal(owner) for name in imported for owner in owners.get(name, ())}
    assert required - used == NOT_IMPORTED.keys()


def test_no_library_adds_a_command() -> None:
    """Flask shows what installed packages bring; `waypost --help` lists Waypost's own and `db` alone."""
    pinned = {line.split("==")[0] for line in (ROOT / "requirements.txt").read_text().splitlines()}
    commands = importlib.metadata.entry_points(group="flask.commands")
    assert not [entry.name for entry in commands if entry.dist and normal(entry.dist.name) in pinned]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


# names that a library calls, beside `validate_<field>` of forms
CALLED_BY_LIBRARIES = {
    *("process_bind_param", "process_result_value"),  # SQLAlchemy's types
    "raise_for_status",  # Authlib's client
    "bind_field",  # WTForms' forms
    "process_formdata",  # WTForms' fields
    *("preprocess", "to_python"),  # an extension of Jinja, a converter of Werkzeug
    *("get_cookie_domain", "get_cookie_name", "get_cookie_path", "get_cookie_secure", "should_set_cookie"),
    *("acquire_entry", "get_moving_window", "incr"),  # the storage of limits
    *("handle_starttag", "handle_endtag", "handle_data"),  # the HTML parser
    *("_init_shared_socket", "signal_handler_reload"),  # granian's server
    "writable",  # a raw stream of what the standard library or a bucket takes
    "ensure_sync",  # Flask
    *("readinto", "_last_partial_boundary_index"),  # a raw stream, Werkzeug's decoder
}
PLAIN_DECORATORS = {"property", "staticmethod", "classmethod", "contextmanager", "cache", "cached_property"}


def test_nothing_is_for_tests_alone() -> None:
    """Every name that a module defines is used somewhere in app/, by code or by a template."""
    trees = {path: parsed(path) for path in [*MODULES, ROOT / "wsgi.py"]}
    used = {name for tree in trees.values() for name in used_names(tree)}
    for path in ROOT.glob("app/templates/**/*.*"):
        used |= set(re.findall(r"[A-Za-z_]\w*", path.read_text()))
    used |= CALLED_BY_LIBRARIES
    defined = {f"{named(path)}: {name}": name for path, tree in trees.items() for name in defined_names(tree)}
    assert not [
        place
        for place, name in defined.items()
        if name not in used and not name.startswith(("__", "validate_"))
    ]


def used_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.alias(name=name, asname=str()):  # `gettext as _`: ruff says where that is unused
                yield name
            case ast.Constant(value=str(name)) if name.isidentifier():
                yield name


def defined_names(tree: ast.Module) -> Iterator[str]:
    """Constants of the module, and all its functions and classes that no decorator registers anywhere."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=[ast.Tuple(elts=names)]):
                yield from (one.id for one in names if isinstance(one, ast.Name))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            decorators = {ast.unparse(one).partition("(")[0] for one in node.decorator_list}
            if decorators <= PLAIN_DECORATORS | {"dataclass"}:
                yield node.name


def test_one_module_writes_csv() -> None:
    """Its cells are escaped there; `csv` beside it is for reading."""

    def writers(path: Path) -> list[str]:
        used = [ast.unparse(node) for node in nodes(path) if isinstance(node, ast.Attribute)]
        names = {"csv.writer", "csv.DictWriter"}
        return [name for name in (*used, *imports(path)) if name in names]

    assert list(offenders(writers)) == ["app/core/csv_files.py"]


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


def test_a_url_is_found_where_it_is_served(app: Flask) -> None:
    """The path of each rule is written out, so that searching it finds the code."""
    written = {path for module in MODULES for path in decorated_paths(module)}
    rules = [rule for rule in app.url_map.iter_rules() if rule.endpoint != "static"]  # Flask's own
    # pages of a workspace have a second address, made of the first (app/dashboard/shared/workspace.py)
    paths = {rule.rule.replace(f"/w/<int:{NAME}>", ""): rule.endpoint for rule in rules}
    served = {path.removeprefix(prefix_of(app, endpoint)) for path, endpoint in paths.items()}
    assert not served - written


def decorated_paths(path: Path) -> Iterator[str]:
    """Paths in decorators, `@blueprint.get("/links/<int:id>/qr")`, and of forms, `add_form("/capture", …)`."""
    for node in nodes(path):
        is_form = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "add_form"
        if is_form or isinstance(node, ast.FunctionDef | ast.ClassDef):
            found = [node] if is_form else node.decorator_list
            calls = [call for call in found if isinstance(call, ast.Call)]
            arguments = [each.value for call in calls for each in call.args if isinstance(each, ast.Constant)]
            yield from (each for each in arguments if isinstance(each, str) and each.startswith("/"))


def prefix_of(app: Flask, endpoint: str) -> str:
    blueprint = app.blueprints.get(endpoint.rpartition(".")[0])
    return (blueprint and blueprint.url_prefix) or ""


# A process gives up all its record locks on a file when it closes any descriptor of it, and SQLite's databases
# are then unlocked in the middle of transactions. So descriptors are copied in these modules alone, none of
# which can be a database's, and why
COPY_DESCRIPTORS = {
    "app/cli/web.py": "a copy of the listening socket, for the server to close",
    "app/core/durable_files.py": "a new file of its own",
    "app/import_export/archives.py": "a new file of its own",
    "app/import_export/files.py": "a new file of its own",
    "app/journal/writer.py": "the next segment takes the number of the one before",
    "app/operations/listening.py": "sockets by their numbers, of which it closes none but the service manager's",
    "app/operations/processes.py": "a new child closes what it has inherited, and has no locks yet",
}
COPYING = {"dup", "dup2", "closerange", "fromfd", "fdopen"}


def test_few_modules_copy_descriptors() -> None:
    def copies(path: Path) -> list[str]:
        return [
            ast.unparse(call)
            for call in calls_in(path)
            if called(call) in COPYING or "fileno" in {one.arg for one in call.keywords}
        ]

    assert offenders(copies).keys() <= COPY_DESCRIPTORS.keys()


# modules that name a file of SQLite's and open files, and which other ones these are
NAME_DATABASES = {
    "app/operations/database_copy.py": "pictures",
    "app/core/config.py": "files with values of settings",
    "app/jobs/maintenance.py": "the heartbeat",
    "app/operations/backups/restoring.py": "databases of an instance that is stopped, while SQLite has none open",
    "app/operations/backups/snapshot.py": "the journal and pictures",
    "app/operations/checks/files.py": "files without a name",
    "app/operations/owner.py": "files of the program",
}
OF_SQLITE = re.compile(r"(\.db|-wal|-shm|-journal)$")
OPENING = {"open", "read_bytes", "read_text", "write_bytes", "write_text", "touch"}
OPENING |= {"copyfile", "copy", "copy2", "move"}


def test_files_of_sqlite_are_opened_by_sqlite_alone() -> None:
    def opens(path: Path) -> list[str]:
        return [ast.unparse(call) for call in calls_in(path) if called(call) in OPENING]

    found = offenders(lambda path: names_database(path) and opens(path))
    assert found.keys() <= NAME_DATABASES.keys(), found


def names_database(path: Path) -> bool:
    """Whether a module has the name or the path of a database, or of a file beside it."""
    for node in nodes(path):
        match node:
            case ast.Constant(value=str(text)) if OF_SQLITE.search(text):
                return True
            case ast.Name(id="clicks_path") | ast.Attribute(attr="database", value=ast.Attribute(attr="url")):
                return True
            case ast.Attribute(attr="database", value=ast.Call(func=ast.Name(id="make_url"))):
                return True
    return False


def calls_in(path: Path) -> list[ast.Call]:
    return [node for node in nodes(path) if isinstance(node, ast.Call)]


def called(call: ast.Call) -> str:
    """The last part of the name of what is called."""
    return ast.unparse(call.func).rpartition(".")[2]
