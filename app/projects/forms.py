"""The form of a project."""

from __future__ import annotations

from app.i18n.messages import lazy_gettext as _l
from app.input.fields import ColorField
from app.input.forms import ResourceForm, TextField

COLOR = "#4263eb"


class ProjectForm(ResourceForm):
    """A project: a name and a colour."""

    name = TextField(_l("Name"), required=True, most=128)
    color = ColorField(_l("Colour"), clears_to=COLOR)
