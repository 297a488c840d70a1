"""The charts of docs/scaling.md show what bench/growth.csv says."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import charts


@pytest.mark.parametrize("chart", charts.CHARTS, ids=lambda chart: chart.file)
def test_each_is_drawn_from_the_figures_of_today(chart: charts.Chart, tmp_path: Path) -> None:
    drawn = charts.draw(chart, charts.read_figures(), tmp_path).read_bytes()
    assert drawn == (charts.PICTURES / chart.file).read_bytes(), "run `make charts`"


@pytest.mark.parametrize("chart", charts.CHARTS, ids=lambda chart: chart.file)
def test_each_is_shown(chart: charts.Chart) -> None:
    assert f"images/{chart.file}" in Path("docs/scaling.md").read_text()


def test_the_newest_figure_of_a_size_counts(tmp_path: Path) -> None:
    path = tmp_path / "growth.csv"
    path.write_text("figure,size,value,date\nstart,1000,900,2026-01-01\nstart,1000,800,2026-02-01\n")
    assert charts.read_figures(path) == {"start": {1000: 800.0}}
