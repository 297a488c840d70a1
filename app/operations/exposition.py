"""Prometheus's text format: the table of all metrics, and how they are written.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf, isinf
from typing import NamedTuple

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
GAUGE, COUNTER, HISTOGRAM = "gauge", "counter", "histogram"


class MetricSample(NamedTuple):
    """One value of a metric. `part` is what a histogram's lines add to the name."""

    value: float
    labels: Mapping[str, str] = {}
    part: str = ""


class Metric(NamedTuple):
    """A metric: its name without the prefix, what kind it is, and what it says."""

    name: str
    kind: str
    help: str


METRICS = (
    Metric("build_info", GAUGE, "1, with the version of Waypost, of Python, and the kind of database."),
    Metric("processes", GAUGE, "Processes that run, by kind."),
    Metric("database_up", GAUGE, "1 if the database answers, else 0."),
    Metric("requests_total", COUNTER, "Answered requests, by class of the path and of the status."),
    Metric(
        "request_duration_seconds",
        HISTOGRAM,
        "Time from a request's arrival until its answer is handed over. Refused ones are left out.",
    ),
    Metric("link_cache_hits_total", COUNTER, "Visits of links that were in memory."),
    Metric("link_cache_misses_total", COUNTER, "Visits for which the database was asked for the link."),
    Metric("visits_dropped", GAUGE, "Visits that could not be written since this journal exists."),
    Metric("journal_age_seconds", GAUGE, "Age of the oldest visit that is in no counter yet."),
    Metric("journal_rows_age_seconds", GAUGE, "Age of the oldest visit that is in no statistics yet."),
    Metric("journal_waiting_bytes", GAUGE, "Bytes of the journal that are in no statistics yet."),
    Metric("journal_unknown_segments", GAUGE, "Files of the journal that this version can't read."),
    Metric("limited_waiting", GAUGE, "Visits of links with a click limit that are in no statistics yet."),
    Metric("limited_age_seconds", GAUGE, "Age of the oldest of these."),
    Metric("deliveries_waiting", GAUGE, "Notifications that are due and not sent."),
    Metric("deliveries_age_seconds", GAUGE, "For how long the oldest of these has been due."),
    Metric("delivery_attempts_total", COUNTER, "Attempts to deliver a notification, by result."),
    Metric("handlers_failing", GAUGE, "Notification handlers that are on and whose last attempt failed."),
    Metric("events_waiting", GAUGE, "Changes of links that have no place in the feed of events yet."),
    Metric("jobs_waiting", GAUGE, "Scheduled jobs that are due and that no worker runs."),
    Metric("jobs_age_seconds", GAUGE, "For how long the oldest of these has been due."),
    Metric("imports_waiting", GAUGE, "Imports that are checked or carried out, or wait for that."),
    Metric("worker_age_seconds", GAUGE, "Seconds since the worker's last pass; +Inf where none runs."),
    Metric("worker_errors_total", COUNTER, "Errors in each loop of the worker."),
    Metric("database_connections_in_use", GAUGE, "Connections of the pools that are in use."),
    Metric("database_connections_max", GAUGE, "Connections that the pools may open."),
    Metric("database_checkouts_total", COUNTER, "How often a connection was asked for."),
    Metric("database_wait_seconds_total", COUNTER, "Time until there was one, summed up."),
    Metric("database_timeouts_total", COUNTER, "How often there was none in time."),
    Metric(
        "database_errors_total",
        COUNTER,
        "Statements that failed: the database gave no answer (outage), or refused one (statement).",
    ),
    Metric("wal_bytes", GAUGE, "Size of SQLite's write-ahead log; 0 with PostgreSQL."),
    Metric("backup_succeeded_timestamp_seconds", GAUGE, "When the last good backup was made; 0: none yet."),
    Metric("backup_failing", GAUGE, "1 after a backup that failed."),
    Metric("backup_bytes", GAUGE, "Size of the last good backup."),
    Metric("backup_duration_seconds", GAUGE, "How long the last good backup took."),
    Metric("rehearsal_succeeded_timestamp_seconds", GAUGE, "When a backup was last restored for a trial."),
    Metric("rehearsal_failing", GAUGE, "1 after a trial that failed."),
)
PREFIX = "waypost_"
Samples = dict[str, list[MetricSample]]


def render(samples: Samples) -> str:
    """All metrics of which there are samples, in the order of the table."""
    lines = [line for metric in METRICS if metric.name in samples for line in lines_of(metric, samples)]
    return "".join(f"{line}\n" for line in lines)


def lines_of(metric: Metric, samples: Samples) -> Iterable[str]:
    name = PREFIX + metric.name
    yield f"# HELP {name} {metric.help}"
    yield f"# TYPE {name} {metric.kind}"
    for sample in samples[metric.name]:
        yield f"{name}{sample.part}{format_labels(sample.labels)} {format_value(sample.value)}"


def format_labels(labels: Mapping[str, str]) -> str:
    pairs = ",".join(f'{name}="{escape_label(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def escape_label(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def format_value(value: float) -> str:
    """The value with all of its digits: a counter must not be rounded."""
    if isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(float(value))


def histogram(
    counts: Iterable[int], total: float, bounds: Iterable[float], labels: Mapping[str, str]
) -> list[MetricSample]:
    """The samples of a histogram. `counts`: how many are in each class, the last one beyond all bounds."""
    found, reached = [], 0
    for bound, count in zip((*bounds, inf), counts, strict=True):
        reached += count
        le = "+Inf" if isinf(bound) else repr(bound)
        found.append(MetricSample(reached, {**labels, "le": le}, "_bucket"))
    return [*found, MetricSample(total, labels, "_sum"), MetricSample(reached, labels, "_count")]
