"""Runs commands of the application, and `serve`, in forks of a process that has imported it already.

The import takes 2 s of a command's time, and is the same for all of them. A fork is a process with an environment
of its own, as the command's own process is; `tests/cli/` starts that where it is the subject.
"""

from __future__ import annotations

import contextvars
import ctypes
import os
import signal
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired

from click.testing import Result

from app import create_app
from app.core.config import load_settings
from app.core.extensions import db

PR_SET_PDEATHSIG = 1
PRELOADED = ["app", "flask.cli", "tests.commands"]


@cache
def imported() -> ForkServerContext:
    """The process that has imported the application: started by the first command, ends with this process."""
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


class Command:
    """A started command, with the part of `subprocess.Popen` that tests use."""

    def __init__(
        self, arguments: tuple[str, ...], directory: Path, environ: dict[str, str], files: list[Path]
    ) -> None:
        """`files`: the standard streams. Outputs are appended to them."""
        self.arguments = arguments
        become = (arguments, directory, environ, files)
        self.fork = imported().Process(target=become_command, args=become)
        self.fork.start()
        assert self.fork.pid
        self.pid = self.fork.pid
        with suppress(ProcessLookupError):
            while os.getpgid(self.pid) != self.pid:  # it is a group of its own before anybody signals that
                time.sleep(0.001)

    @property
    def returncode(self) -> int | None:
        return self.fork.exitcode

    def poll(self) -> int | None:
        return self.fork.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self.fork.join(timeout)
        if self.fork.exitcode is None:
            raise TimeoutExpired(self.arguments, timeout or 0)
        return self.fork.exitcode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


def run_command(
    arguments: tuple[str, ...], directory: Path, environ: dict[str, str], stdin: bytes = b""
) -> CompletedProcess[bytes]:
    """Run `flask --app wsgi` with these arguments in the directory, as `subprocess.run` would."""
    with tempfile.TemporaryDirectory() as made:
        files = [Path(made) / name for name in ("stdin", "stdout", "stderr")]
        files[0].write_bytes(stdin)
        code = Command(arguments, directory, environ, files).wait()
        out, err = (path.read_bytes() if path.exists() else b"" for path in files[1:])
        return CompletedProcess(arguments, code, out, err)


def end_with_tests() -> None:
    """Let a signal end this process once its parent is gone, which ends with the tests, however they end."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def become_command(
    arguments: tuple[str, ...], directory: Path, environ: dict[str, str], files: list[Path]
) -> None:
    """In the fork: take over the environment, the directory and the standard streams, and run the command."""
    os.setsid()
    end_with_tests()
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(directory)
    for number, path in enumerate(files):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND if number else os.O_RDONLY)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", 1)
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
