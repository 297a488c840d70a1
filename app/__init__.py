"""Waypost: how is the application put together?"""

from __future__ import annotations

from flask import Flask

from app import sealing
from app.config import Settings, load_settings
from app.database import engine_options, prepare_engine
from app.extensions import csrf, db, limiter, login, migrate


def create_app(settings: Settings | None = None) -> Flask:
    """Settings, extensions, blueprints, errors and commands; nothing else."""
    settings = settings or load_settings()
    app = Flask(__name__, instance_path=str(settings.data_dir))
    configure(app, settings)
    sealing.use_key(settings.secret_key)
    for extension in (db, migrate, login, csrf, limiter):
        extension.init_app(app, **({"db": db} if extension is migrate else {}))
    with app.app_context():
        prepare_engine(db.engine, settings)
    return app


def configure(app: Flask, settings: Settings) -> None:
    app.config.update(
        WAYPOST=settings,
        SECRET_KEY=settings.secret_key,
        SQLALCHEMY_DATABASE_URI=settings.database_url,
        SQLALCHEMY_ENGINE_OPTIONS=engine_options(settings),
        MAX_CONTENT_LENGTH=10 * 1024 * 1024,
        MAX_FORM_PARTS=1000,
        RATELIMIT_STORAGE_URI=settings.redis_url or "memory://",
    )
