"""Blueprint of the owner's pages under `/dashboard`."""

from __future__ import annotations

from flask import Blueprint

blueprint = Blueprint("dashboard", __name__, url_prefix="/dashboard")
