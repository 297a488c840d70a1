"""Waypost: the application factory."""

from __future__ import annotations

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

from app import api, cli, dashboard, i18n, public
from app.core.config import Settings, load_settings
from app.core.database import engine_options, prepare_engine
from app.core.extensions import csrf, db, login, migrate
from app.core.secret_keys.ring import SecretKeys, flask_settings, use_keys
from app.core.wakeups import use_wakeups
from app.links import pictures, uploads
from app.web import (
    application,
    error_pages,
    locale,
    media,
    request_log,
    security_headers,
)

PARTS = (
    request_log,
    application,
    security_headers,
    locale,
    i18n,
    error_pages,
    public,
    api,
    media,
    dashboard,
)


def create_app(settings: Settings | None = None) -> Flask:
    """Assembles the application: settings, extensions, blueprints, errors and commands; nothing else."""
    settings = settings or load_settings()
    app = application.Application(__name__, instance_path=str(settings.data_dir))
    configure(app, settings)
    use_keys(SecretKeys(settings.secret_key, settings.secret_key_old, settings.secret_key_dir))
    app.config.update(flask_settings())
    uploads.use_directory(settings.data_dir / uploads.FOLDER, is_in_database=not settings.is_sqlite)
    pictures.use_lock_directory(settings.data_dir)
    for extension in (db, migrate, login, csrf):
        extension.init_app(app, **({"db": db} if extension is migrate else {}))
    with app.app_context():
        prepare_engine(db.engine, settings)
    use_wakeups(settings)
    for part in PARTS:
        part.init_app(app)
    cli.register(app, create_app)
    return app


def configure(app: Flask, settings: Settings) -> None:
    app.url_map.merge_slashes = False  # `//` in a path stays: no redirect to a path with single slashes
    app.config.update(
        WAYPOST=settings,
        SQLALCHEMY_DATABASE_URI=settings.database_url,
        SQLALCHEMY_ENGINE_OPTIONS=engine_options(settings),
        MAX_CONTENT_LENGTH=10 * 1024 * 1024,
        MAX_FORM_PARTS=1000,
        PROVIDE_AUTOMATIC_OPTIONS=False,
    )
    if settings.trusted_proxies:
        # each proxy on the way appends an address; scheme and host come from the nearest proxy alone
        proxied = ProxyFix(app.wsgi_app, x_for=settings.trusted_proxies, x_proto=1, x_host=1)
        app.wsgi_app = proxied  # type: ignore[method-assign]
