"""Hooks of the documentation site (mkdocs.yml): what reads well on a code host also does as a site.

Pages of the root folder that readers need become pages of the site, and links to them follow. Lists are
indented as GitHub reads them, while Python-Markdown wants four spaces and an empty line before.
"""

# see docs/decisions/2026-11-25-documentation-site.md
from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FROM_ROOT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
# links to what is no page of the site: where they lead instead
INSTEAD = {
    "README.md#settings": "configure.md",
    "README.md#code-map": "architecture.md",
    "README.md": "README.md",
}
LINK = re.compile(r"(!?\[[^\]]*\]\()(?!https?://|mailto:|#)([^)\s]+)(\))")
ITEM = re.compile(r"^(\s*)(\d+\.|[-*])(\s+)")
FENCE = re.compile(r"^\s*(```|~~~)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the root folder."""
    from mkdocs.structure.files import File

    for name in FROM_ROOT:
        files.append(File.generated(config, name, content=(ROOT / name).read_text()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    return fit_lists(fit_links(markdown, page.file.src_uri))


def fit_links(markdown: str, source: str) -> str:
    """The page with links that lead to pages of the site."""
    is_of_root = source in FROM_ROOT
    folder = "" if is_of_root else posixpath.join("docs", posixpath.dirname(source))

    def fit(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[2]))
        return f"{match[1]}{relative(target, source) or match[2]}{match[3]}"

    return LINK.sub(fit, markdown)


def relative(target: str, source: str) -> str | None:
    """The link from one page of the site to another; None where the target is no page of it."""
    path, mark, anchor = target.partition("#")
    target = INSTEAD.get(target) or INSTEAD.get(path) or target
    path, mark, anchor = target.partition("#")
    if path.startswith("docs/"):
        path = path.removeprefix("docs/")
    elif path not in FROM_ROOT and path not in INSTEAD.values():
        return None
    return posixpath.relpath(path, posixpath.dirname(source) or ".") + mark + anchor


def fit_lists(markdown: str) -> str:
    """The page with an empty line before each list, and what belongs to an item indented by four."""
    lines: list[str] = []
    widths: list[tuple[int, int]] = []  # of each open item: where its text begins, there and here
    is_fenced = False
    for line in markdown.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        item = None if is_fenced else ITEM.match(line)
        if line.strip() and not is_fenced:
            while widths and indent < widths[-1][0]:
                widths.pop()
        if (
            item
            and not widths
            and lines
            and lines[-1].strip()
            and not ITEM.match(lines[-1])
            and not was_item(lines)
        ):
            lines.append("")
        there, here = widths[-1] if widths else (0, 0)
        moved = " " * here + line[there:] if line.strip() and indent >= there else line
        lines.append(moved)
        if item:
            widths.append((item.end(), here + 4))
        if FENCE.match(line):
            is_fenced = not is_fenced
    return "\n".join(lines)


def was_item(lines: list[str]) -> bool:
    """Whether the lines end inside of a list, so that no empty line is needed before its next item."""
    for line in reversed(lines):
        if not line.strip():
            return False
        if ITEM.match(line):
            return True
    return False
