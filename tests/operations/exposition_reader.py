"""A strict reader of Prometheus's text format, for tests. It raises ValueError where Prometheus would refuse."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

NAME, LABEL = r"[a-zA-Z_:][a-zA-Z0-9_:]*", r"[a-zA-Z_][a-zA-Z0-9_]*"
PAIR = rf'({LABEL})="((?:[^"\\\n]|\\["\\n])*)"'
LINE = re.compile(rf"({NAME})(?:\{{((?:{PAIR},?)*)\}})? (\S+)")
PARTS = {"histogram": ("_bucket", "_sum", "_count")}


@dataclass
class Family:
    """One metric with its samples: name of the line and labels → value."""

    kind: str = ""
    help: str = ""
    samples: dict[tuple[str, frozenset[tuple[str, str]]], float] = field(default_factory=dict)


def read(text: str) -> dict[str, Family]:
    if not text.endswith("\n"):
        raise ValueError("the last line has no end")
    families: dict[str, Family] = {}
    current = ""
    for line in text.splitlines():
        if match := re.fullmatch(rf"# (HELP|TYPE) ({NAME}) (.+)", line):
            what, name, said = match.groups()
            if name != current and name in families:
                raise ValueError(f"{name} stands in two places")
            current = name
            family = families.setdefault(name, Family())
            setattr(family, {"HELP": "help", "TYPE": "kind"}[what], said)
            continue
        add_sample(line, current, families[current])
    for name, family in families.items():
        check_family(name, family)
    return families


def add_sample(line: str, name: str, family: Family) -> None:
    match = LINE.fullmatch(line)
    if not match:
        raise ValueError(f"no line of the format: {line!r}")
    written, labels, value = match.group(1), match.group(2) or "", match.groups()[-1]
    allowed = [name + part for part in PARTS.get(family.kind, ("",))]
    if written not in allowed:
        raise ValueError(f"{written} stands below {name}")
    key = written, frozenset(re.findall(PAIR, labels))
    if key in family.samples:
        raise ValueError(f"{line!r} comes twice")
    family.samples[key] = float(value)


def check_family(name: str, family: Family) -> None:
    if not family.help or family.kind not in {"gauge", "counter", "histogram"}:
        raise ValueError(f"{name} has no help or no type")
    if (family.kind == "counter") != name.endswith("_total"):
        raise ValueError(f"{name}: counters, and they alone, end in _total")
    if family.kind == "histogram":
        check_histogram(name, family)


def check_histogram(name: str, family: Family) -> None:
    buckets: dict[Any, list[tuple[float, float]]] = {}
    for (written, labels), value in family.samples.items():
        if written == f"{name}_bucket":
            bound = float(dict(labels)["le"])
            rest = frozenset(pair for pair in labels if pair[0] != "le")
            buckets.setdefault(rest, []).append((bound, value))
    for rest, found in buckets.items():
        counts = [count for _, count in sorted(found)]
        if counts != sorted(counts) or max(found)[0] != float("inf"):
            raise ValueError(f"{name}: buckets add up, and the last is +Inf")
        if counts[-1] != family.samples[f"{name}_count", rest]:
            raise ValueError(f"{name}: the last bucket is the count")
