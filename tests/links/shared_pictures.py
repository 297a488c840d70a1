"""What holds wherever the contents of pictures are kept that several machines share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from flask.testing import FlaskClient

from app import create_app
from app.core.config import Settings
from app.core.database import begin_write
from app.core.extensions import db
from app.links import services
from app.links.models import Link


def check_every_machine(
    client: FlaskClient, settings: Settings, link: Link, content: bytes, tmp_path: Path
) -> None:
    """The icon of a link is served by this machine and by another one, until the link is deleted."""
    path = f"/media/{link.cloaking_favicon}"
    (tmp_path / "other").mkdir()
    other = create_app(replace(settings, data_dir=tmp_path / "other"))
    machines = (client, other.test_client())
    for each in machines:
        with each.get(path) as answer:
            assert (answer.status_code, answer.data) == (200, content)
            assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
            assert answer.headers["Content-Type"] == "image/png"
    begin_write(db.session)
    services.delete(link)
    db.session.commit()
    assert [each.get(path).status_code for each in machines] == [404, 404]
    for part in ("visits", "rate_limiter", "audit_failures"):
        other.extensions[part].close()
    with other.app_context():
        db.engine.dispose()
