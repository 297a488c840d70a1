"""Charts of docs/scaling.md, drawn from the figures in bench/growth.csv: `make charts`

Each line of that file is one figure of one run of a benchmark. Drawn are the newest of each size.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt  # the backend is chosen first

FIGURES = Path("bench/growth.csv")
PICTURES = Path("docs/images")
# the same in each run, so that only a new figure changes a file; text stays text, which is small
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "waypost",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.grid": True,
    "grid.color": "#d5dbda",
    "axes.spines.top": False,
    "axes.spines.right": False,
}
COLORS = ("#0b7268", "#b3541e", "#3d5a9e", "#8a5a9e", "#6b7d1f", "#a8324a")


class Chart(NamedTuple):
    """One picture. `lines`: the figures' names in bench/growth.csv, with their legends."""

    file: str
    title: str
    sizes: str
    values: str
    lines: dict[str, str]
    limits: dict[str, float]


CHARTS = (
    Chart(
        "growth-list.svg",
        "A page of the list of links (SQLite)",
        "links of one owner",
        "milliseconds, 19 of 20 requests",
        {
            "list_page": "any page, in the list's own order",
            "list_by_date": "any page by the date of creation",
        },
        {"limit: 200 ms": 200},
    ),
    Chart(
        "growth-start.svg",
        "Start, and a link that no process has in memory (SQLite)",
        "links",
        "milliseconds",
        {"start": "from the command to the first redirect", "cold_link": "first visit of a link"},
        {"limit of a start: 3 s": 3000, "limit of a first visit: 5 ms": 5},
    ),
    Chart(
        "growth-year.svg",
        "A year's statistics, all single clicks kept",
        "clicks of the year",
        "milliseconds of processor time",
        {
            "year_sqlite": "overview, SQLite",
            "year_filter_sqlite": "slowest filter, SQLite",
            "year_postgresql": "overview, PostgreSQL",
            "year_filter_postgresql": "slowest filter, PostgreSQL",
            "year_clickhouse": "overview, ClickHouse",
            "year_filter_clickhouse": "slowest filter, ClickHouse",
        },
        {"limit of an overview: 100 ms": 100, "limit of a filter: 250 ms": 250},
    ),
)

Points = dict[int, float]


def read_figures(path: Path = FIGURES) -> dict[str, Points]:
    """The newest value of each figure and size; lines are in the order in which they were measured."""
    found: dict[str, Points] = defaultdict(dict)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            found[row["figure"]][int(row["size"])] = float(row["value"])
    return found


def draw(chart: Chart, figures: dict[str, Points], folder: Path = PICTURES) -> Path:
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(7.2, 3.6))
        for color, (name, legend) in zip(COLORS, chart.lines.items(), strict=False):
            sizes = sorted(figures[name])
            axes.plot(sizes, [figures[name][size] for size in sizes], "o-", color=color, label=legend)
        for legend, limit in chart.limits.items():
            axes.axhline(limit, color="#8a8f8e", linestyle=":", linewidth=1)
            axes.annotate(legend, (1, limit), xycoords=("axes fraction", "data"), ha="right", va="bottom")
        axes.set(xscale="log", yscale="log", title=chart.title, xlabel=chart.sizes, ylabel=chart.values)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.yaxis.set_major_formatter("{x:,g}")
        axes.legend(frameon=False, fontsize=9)
        path = folder / chart.file
        # the file's date would change it in each run
        figure.savefig(path, bbox_inches="tight", metadata={"Date": None, "Title": chart.title})
        plt.close(figure)
    return path


def main(charts: Sequence[Chart] = CHARTS) -> None:
    figures = read_figures()
    for chart in charts:
        print(draw(chart, figures))


if __name__ == "__main__":
    main()
