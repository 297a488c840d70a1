"""The form of a project."""

from __future__ import annotations

from app.input.colors import ColorField
from app.input.forms import ResourceForm, TextField

COLOR = "#4263eb"


class ProjectForm(ResourceForm):
    """A project: a name and a colour."""

    name = TextField("Name", required=True, most=128)
    color = ColorField("Colour", clears_to=COLOR)
