"""What the schema says of one setting of a link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# who reads a setting for a visitor: every redirect, so that the compiled link has it, or only pages
REDIRECT, PAGE = "redirect", "page"
# a section of the form shows the field's own value in its summary, and no fixed word
VALUE = "value"


@dataclass(frozen=True, kw_only=True)
class LinkSetting:
    """One setting, by the name of its column and of its key in the API.

    `field`: its form field, with its label. None: no form sends it, and `title` is its label.
    `answer`: the word for its type in the API's answers (see `openapi.objects`); "": they do not have it.
    `headings`: other headings of its column in tables to import, the surest first; None: tables have no such
    column. Where they have one, exports write it.
    `read_by`: REDIRECT, PAGE, or "" where no visitor's request reads it.
    `is_recorded`: whether the history has its changes; `is_secret`: without its values.
    `is_previewed`: whether the preview gets it while it is typed.
    `section`: that of the form that has its control; `summary`: the word that the closed section shows while
    it is on, VALUE, or "" for none.
    `rule`: the name of the list's filter for links that have it on.
    """

    field: Any = None
    title: str = ""
    answer: str = ""
    headings: tuple[str, ...] | None = None
    read_by: str = ""
    is_recorded: bool = True
    is_secret: bool = False
    is_previewed: bool = True
    section: str = ""
    summary: str = ""
    rule: str = ""

    @property
    def label(self) -> str:
        return str(self.field.args[0] if self.field else self.title)

    @property
    def choices(self) -> Mapping[Any, str]:
        """The words for its values, if it is one of a closed set."""
        found: Mapping[Any, str] = self.field.kwargs.get("choices", {}) if self.field else {}
        return found
