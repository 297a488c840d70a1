"""Child processes for tests: run a call in a process of its own, which the test may kill at any moment."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable

import pytest

# newer versions of Python warn of forks with threads, which are tested here
forks = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


class Child:
    """A forked process that makes one call. Its exit status is 0 if the call returned."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.pid = os.fork()
        if self.pid == 0:
            run(call)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        assert self.wait() == -signal.SIGKILL, "it ended before it was killed"

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def run(call: Callable[[], object]) -> None:
    """Make the call and exit. The child must not return into the test, whatever happens."""
    status = 1
    try:
        call()
        status = 0
    except BaseException:  # noqa: BLE001  shown, and told by the status
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)
