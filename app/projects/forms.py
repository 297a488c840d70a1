"""1 VALIDATED: what may be said of a project?"""

from __future__ import annotations

from app.forms import PatternField, ResourceForm, TextField

COLOR = "#4263eb"


class ColorField(PatternField):
    """A colour as `#rrggbb`, kept in lower case."""

    def __init__(self, label: str = "", **options: object) -> None:
        hint = "a colour like #4263eb"
        super().__init__(label, pattern="#[0-9A-Fa-f]{6}", hint=hint, **options)  # type: ignore[arg-type]

    def parse(self, text: str) -> str:
        return super().parse(text).lower()


class ProjectForm(ResourceForm):
    """A project: a name and a colour to know it by."""

    name = TextField("Name", required=True, most=128)
    color = ColorField("Colour", clears_to=COLOR)
