"""One look at files for many loops, which else would each look as often, and find nothing."""

# see docs/decisions/2026-11-25-idle.md
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from math import inf
from pathlib import Path

from app.core.error_boundary import ErrorBoundary
from app.core.poll_loop import PollLoop, Quiet


class FileWatch(PollLoop):
    """Thread that looks at the files of loops, and wakes those that wait for something to be written there.

    A loop that is woken looks itself, and takes its turn. Those that know no files are left alone.
    """

    def __init__(self, seconds: float, loops: Iterable[PollLoop]) -> None:
        super().__init__("file watch", seconds, ErrorBoundary("file watch", max_outages=inf))
        self.loops: defaultdict[tuple[Path, ...], list[PollLoop]] = defaultdict(list)
        for loop in loops:
            if loop.quiet is not None:
                loop.is_watched = True
                self.loops[tuple(loop.quiet.files())].append(loop)
        self.looks = {files: Quiet(partial(tuple, files), inf) for files in self.loops}

    def start(self) -> None:
        if self.looks:
            super().start()

    def turn(self) -> None:
        for files, look in self.looks.items():
            if not look.is_quiet():
                for loop in self.loops[files]:
                    loop.hear_news()
