"""1 VALIDATED: what may be said of a project?"""

from __future__ import annotations

from app.colors import ColorField
from app.forms import ResourceForm, TextField

COLOR = "#4263eb"


class ProjectForm(ResourceForm):
    """A project: a name and a colour to know it by."""

    name = TextField("Name", required=True, most=128)
    color = ColorField("Colour", clears_to=COLOR)
