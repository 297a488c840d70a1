"""Reads the figures, tables and charts that a statistics page shows in the browser."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect


class Shown:
    """A statistics page in the browser."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def part(self, name: str) -> Locator:
        """A part of the page, once it is loaded. Scrolls to it: parts load only when they are in view."""
        part = self.page.locator(f"#panel-{name}")
        part.wait_for(state="attached")
        self.page.evaluate("name => document.getElementById(`panel-${name}`).scrollIntoView()", name)
        expect(part.locator(".skeleton")).to_have_count(0)
        return part

    def total(self, title: str = "Clicks") -> Locator:
        return (
            self.part("overview")
            .locator(".total", has=self.page.get_by_text(title, exact=True))
            .locator(".value")
        )

    def days(self) -> list[tuple[int, int]]:
        """Clicks and visitors of the table's rows."""
        rows = self.part("overview").locator("tbody tr").all()
        return [
            (int(cells[0]), int(cells[1]))
            for cells in (row.locator("td").all_text_contents() for row in rows)
        ]

    def list(self, name: str) -> dict[str, int]:
        rows = self.part(name).locator("tbody tr").all()
        return {row.locator(".word").inner_text(): int(row.locator("td").last.inner_text()) for row in rows}

    def row(self, name: str, word: str) -> Locator:
        return self.part(name).get_by_role("link", name=word, exact=True)

    def chips(self) -> list[str]:
        return self.page.locator(".applied .chip > span:first-child").all_inner_texts()

    def picture(self) -> str:
        """The chart as it is drawn on the page."""
        return str(self.part("overview").locator("canvas").evaluate("canvas => canvas.toDataURL()"))
