"""Statistics on paper and as pictures: A4 without anything cut, and PNG files of the chart and the map."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Download, Page, expect

from tests.past import Past

pytestmark = [pytest.mark.browser, pytest.mark.full]
A4 = (595, 842)  # points
PAPER = {"width": 703, "height": 1020}  # what the margins leave, in pixels
LUMINANCE = """e => {
    const [r, g, b] = getComputedStyle(e).color.match(/[\\d.]+/g).map(Number);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}"""


def address(site: str, past: Past, scope: str) -> str:
    where = {
        "a link": f"links/{past.first.id}/statistics/",
        "a project": f"projects/{past.project.id}/statistics/",
        "all links": "statistics/",
    }[scope]
    return f"{site}/dashboard/{where}"


def note_printing(page: Page) -> None:
    """Instead of the browser's dialog: note on the page whether all of its parts are there."""
    page.evaluate(
        """void (window.print = () => {
            const isWhole = document.querySelectorAll("#statistics .skeleton").length === 0;
            document.documentElement.dataset.printed = isWhole ? "whole" : "in parts";
        })"""
    )


def expect_printed_whole(page: Page) -> None:
    expect(page.locator("html")).to_have_attribute("data-printed", "whole")


@pytest.mark.parametrize(
    ("scope", "theme"), [("a link", "light"), ("a project", "dark"), ("all links", "light")]
)
def test_all_parts_fit_on_a4(theme: Any, scope: str, desk: Page, site: str, past: Past) -> None:
    """From the menu, in dark colours too: every part is there, nothing is wider than the paper, and texts are
    dark on white."""
    desk.emulate_media(color_scheme=theme)
    desk.goto(address(site, past, scope))
    expect(desk.locator("[data-chart] canvas")).to_be_visible()
    note_printing(desk)
    desk.locator("#share > summary").click()
    desk.get_by_role("button", name="Print").click()
    expect_printed_whole(desk)
    paper = desk.pdf(format="A4")
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", paper)
    assert len(boxes) >= 2
    assert {(round(float(width)), round(float(height))) for width, height in boxes} <= {A4, (596, 843)}
    desk.set_viewport_size(PAPER)  # type: ignore[arg-type]
    desk.evaluate("dispatchEvent(new Event('beforeprint'))")
    desk.emulate_media(media="print", color_scheme=theme)
    assert desk.evaluate("document.documentElement.scrollWidth") <= PAPER["width"]
    wide = """() => [...document.querySelectorAll("#main *:not(svg *)")].filter(e => e.getBoundingClientRect().width
        && !e.closest(".sr") && (e.getBoundingClientRect().right > innerWidth + 1 || e.getBoundingClientRect().left < -1))
        .map(e => e.outerHTML.slice(0, 120))"""
    assert desk.evaluate(wide) == []
    for hidden in (".side", ".stat-bar", "#share", ".tools-of", ".skip"):
        for each in desk.locator(hidden).all():
            expect(each).to_be_hidden()
    heading = desk.locator(".print-only")
    expect(heading).to_contain_text("Last 30 days")
    expect(heading).to_contain_text("Asia/Kolkata")
    expect(heading).to_contain_text("As of")
    for selector in ("h1", ".total .value", ".panel-latest .first b", ".figures th, .top th"):
        assert desk.locator(selector).first.evaluate(LUMINANCE) < 60, selector
    background = desk.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(255, 255, 255)"
    assert average_of_chart(desk) > 200  # it is drawn on white
    if desk.locator("[data-world] svg").count():
        expect_whole_map(desk)


def expect_whole_map(page: Page) -> None:
    """As high as the world is, not as its box on the screen, and with its scale inside of the panel."""
    svg, panel, scale = (
        page.locator(selector).bounding_box()
        for selector in ("[data-world] svg", ".panel-map", ".panel-map .scale")
    )
    assert svg
    assert panel
    assert scale
    assert 1.8 < svg["width"] / svg["height"] < 2.4
    assert svg["y"] + svg["height"] <= scale["y"] + 1
    assert scale["y"] + scale["height"] <= panel["y"] + panel["height"]


def average_of_chart(page: Page) -> float:
    """The mean brightness of the chart's opaque pixels and the paper below them."""
    return float(
        page.locator("[data-chart] canvas").evaluate(
            """canvas => {
                const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
                let sum = 0;
                for (let i = 0; i < data.length; i += 4) {
                    const part = data[i + 3] / 255;
                    sum += ((data[i] + data[i + 1] + data[i + 2]) / 3) * part + 255 * (1 - part);
                }
                return sum / (data.length / 4);
            }"""
        )
    )


def size_of(download: Download, path: Path) -> tuple[int, int]:
    download.save_as(path)
    head = path.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", head[16:24])
    return width, height


@pytest.mark.parametrize("width", [1280, 390])
def test_the_chart_is_saved_as_a_picture(
    width: int, desk: Page, site: str, past: Past, tmp_path: Path
) -> None:
    desk.set_viewport_size({"width": width, "height": 800})
    desk.goto(address(site, past, "a link"))
    expect(desk.locator("[data-chart] canvas")).to_be_visible()
    with desk.expect_download() as saved:
        desk.locator(".tools-of").get_by_role("button", name="Chart as PNG").click()
    name = saved.value.suggested_filename
    assert re.fullmatch(r"waypost-127\.0\.0\.1-\d+-first-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.png", name), name
    assert size_of(saved.value, tmp_path / "chart.png") == (1920, 920)  # whatever the screen: twice 960 × 460
