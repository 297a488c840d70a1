"""Under which address do the owner's pages lie?"""

from __future__ import annotations

from flask import Blueprint

blueprint = Blueprint("dashboard", __name__, url_prefix="/dashboard")
