"""The second run of a few failed tests, one after the other: which of them failed only among all others.

A plugin for `pytest --last-failed -p tests.second_run`. `.ci/run` begins that run when at most `MOST` tests have
failed. A test that passes now depends on how busy the machine is, which is a fault to mend: the report names it.
"""

from __future__ import annotations

import pytest

MOST = 10
HEADING = "passed only when run alone"


def pytest_collection_finish(session: pytest.Session) -> None:
    if len(session.items) > MOST:
        pytest.exit(f"{len(session.items)} tests failed: too many to run again", pytest.ExitCode.TESTS_FAILED)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name them right before pytest's closing line."""
    found = terminalreporter.stats
    again = {report.nodeid for kind in ("failed", "error") for report in found.get(kind, [])}
    passed = [report.nodeid for report in found.get("passed", []) if report.nodeid not in again]
    if passed:
        terminalreporter.section(HEADING)
        for name in passed:
            terminalreporter.line(name)
