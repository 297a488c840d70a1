"""Flask extensions of the application. They are made here and bound in `create_app`."""

from __future__ import annotations

import hashlib

import itsdangerous
from flask_login import LoginManager
from flask_migrate import Migrate
from flask_sqlalchemy import SQLAlchemy
from flask_wtf import CSRFProtect

from app.core.database import Base
from app.core.folders import ROOT

# Flask-WTF signs its tokens with these; the library's own defaults use SHA-1
itsdangerous.Signer.default_digest_method = staticmethod(hashlib.sha256)
itsdangerous.Signer.default_key_derivation = "hmac"

db = SQLAlchemy(model_class=Base)
migrate = Migrate(directory=str(ROOT / "app" / "migrations"), render_as_batch=True)
login = LoginManager()
csrf = CSRFProtect()
