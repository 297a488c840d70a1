"""Begins and ends the traces of a process. OpenTelemetry is imported only where there is a collector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.core.config import Settings
from app.core.tracing import tracing

if TYPE_CHECKING:
    from app.net.otlp import Traces

_running: list[Traces] = []


def start_traces(settings: Settings, process: str) -> None:
    """Sends traces from now on, if there is a collector. A fork does not have the thread that sends."""
    if settings.traces_url is None:
        return
    from app.net.otlp import Traces  # 20 MB and a quarter of a second

    stop_traces()
    _running.append(Traces(settings, process))
    tracing.start = _running[0].start


def stop_traces() -> None:
    """Sends what waits, for a moment at most."""
    tracing.start = None
    while _running:
        _running.pop().stop()
