"""Runs commands of the application in forks of a process that has imported it already.

The import takes 2 s of a command's time, and is the same for all of them. A fork is a process with an environment
of its own, as the command's own process is; `tests/cli/` starts that where it is the subject.
"""

from __future__ import annotations

import contextvars
import os
import sys
import tempfile
from functools import cache
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from pathlib import Path
from subprocess import CompletedProcess

from click.testing import Result

from app import create_app
from app.core.config import load_settings
from app.core.extensions import db

PRELOADED = ["app", "flask.cli", "tests.commands"]


@cache
def imported() -> ForkServerContext:
    """The process that has imported the application: started by the first command, ends with this process."""
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


def run_command(
    arguments: tuple[str, ...], directory: Path, environ: dict[str, str], stdin: bytes = b""
) -> CompletedProcess[bytes]:
    """Run `flask --app wsgi` with these arguments in the directory, as `subprocess.run` would."""
    with tempfile.TemporaryDirectory() as made:
        files = [Path(made) / name for name in ("stdin", "stdout", "stderr")]
        files[0].write_bytes(stdin)
        process = imported().Process(target=become_command, args=(arguments, directory, environ, files))
        process.start()
        process.join()
        assert process.exitcode is not None
        out, err = (path.read_bytes() if path.exists() else b"" for path in files[1:])
        return CompletedProcess(arguments, process.exitcode, out, err)


def become_command(
    arguments: tuple[str, ...], directory: Path, environ: dict[str, str], files: list[Path]
) -> None:
    """In the fork: take over the environment, the directory and the standard streams, and run the command."""
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(directory)
    for number, path in enumerate(files):
        opened = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in enumerate("rww"))
    sys.argv = ["flask", "--app", "wsgi", *arguments]
    from flask.cli import main

    main()


def run_in_own_application(data_dir: Path, *arguments: object, stdin: str = "", **settings: str) -> Result:
    """Run a command in this process, with an application and contexts of its own, as a new process would."""
    environ = {"DATA_DIR": str(data_dir), **settings}
    app = create_app(load_settings({f"WAYPOST_{name}": text for name, text in environ.items()}))
    given = [str(each) for each in arguments]
    done = contextvars.Context().run(app.test_cli_runner().invoke, args=given, input=stdin)
    with app.app_context():
        db.engine.dispose()
    app.extensions["rate_limiter"].close()
    return done
