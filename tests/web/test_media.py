"""Media: uploads are served safely, and no other files."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask.testing import FlaskClient

NAME = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def uploads(data_dir: Path) -> Path:
    directory = data_dir / "uploads"
    directory.mkdir()
    return directory


@pytest.mark.parametrize(
    ("suffix", "kind"), [("png", "image/png"), ("jpg", "image/jpeg"), ("webp", "image/webp")]
)
def test_a_picture(client: FlaskClient, uploads: Path, suffix: str, kind: str) -> None:
    (uploads / f"{NAME}.{suffix}").write_bytes(b"<script>")
    answer = client.get(f"/media/{NAME}.{suffix}")
    assert (answer.status_code, answer.data) == (200, b"<script>")
    assert answer.headers["Content-Type"] == kind
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert "Set-Cookie" not in answer.headers
    assert (
        client.get(f"/media/{NAME}.{suffix}", headers={"If-None-Match": answer.headers["ETag"]}).status_code
        == 304
    )


@pytest.mark.parametrize(
    "name",
    [
        "../main.db",
        "..%2Fmain.db",
        "%2e%2e/secret_key",
        f"{NAME}.svg",
        f"{NAME}.html",
        f".{NAME}.png",
        "x.png",
        f"{NAME}.png",
    ],
)
def test_nothing_else(client: FlaskClient, uploads: Path, name: str) -> None:
    for stray in (f"{NAME}.svg", f"{NAME}.html", f".{NAME}.png", "x.png"):
        (uploads / stray).write_bytes(b"no")
    assert client.get(f"/media/{name}").status_code == 404


def test_the_icon(client: FlaskClient) -> None:
    answer = client.get("/favicon.ico")
    assert (answer.status_code, answer.mimetype) == (200, "image/svg+xml")
