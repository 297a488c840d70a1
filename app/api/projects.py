"""What does the API do with projects?"""

from __future__ import annotations

from app.api import present
from app.api.resource import Resource
from app.projects import services
from app.projects.forms import ProjectForm
from app.projects.lists import LISTING
from app.projects.models import Project

PROJECTS = Resource(
    path="/projects",
    model=Project,
    form=ProjectForm,
    create=services.create,
    services=services,
    listing=LISTING,
    present=present.projects,
)
