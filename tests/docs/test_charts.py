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
