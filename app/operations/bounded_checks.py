"""Runs checks in threads of their own, so that whoever asks has an answer in time, whatever hangs.

A check that waits for a frozen server can't be ended from outside. So it goes on waiting in its thread, of
which there is one for each group of checks and no more, and is reported as unanswered meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

Found = dict[str, Any]
Group = Callable[[Found], None]

ANSWER_SECONDS = 1.2  # of the two seconds in which `/readyz` answers


class CheckRun(threading.Thread):
    """One run of a group. `found` fills as its checks end. An error that a check does not report is logged by
    the thread, and leaves it and the rest of its group without a result."""

    def __init__(self, name: str, group: Group) -> None:
        super().__init__(name=f"checks: {name}", daemon=True)
        self.group = group
        self.found: Found = {}
        self.began = time.monotonic()

    def run(self) -> None:
        self.group(self.found)

    def wait(self) -> Found:
        """What is found until ANSWER_SECONDS after the begin of this run."""
        self.join(max(0.0, self.began + ANSWER_SECONDS - time.monotonic()))
        return dict(self.found)


class BoundedChecks:
    """Groups of checks by name. Those that ask while a run is under way share it. Thread-safe."""

    def __init__(self, groups: Mapping[str, Group]) -> None:
        self.groups = groups
        self.runs: dict[str, CheckRun] = {}
        self.lock = threading.Lock()

    def results(self) -> Found:
        """The results of all groups; without those that have not come in time."""
        runs = [self.begin(name) for name in self.groups]
        return {name: result for run in runs for name, result in run.wait().items()}

    def begin(self, name: str) -> CheckRun:
        with self.lock:
            run = self.runs.get(name)
            if run is None or not run.is_alive():
                run = self.runs[name] = CheckRun(name, self.groups[name])
                run.start()
            return run
