"""Which Flask extensions does the application use? (Made here, bound in `create_app`.)"""

from __future__ import annotations

import hashlib

import itsdangerous
from flask_login import LoginManager
from flask_migrate import Migrate
from flask_sqlalchemy import SQLAlchemy
from flask_wtf import CSRFProtect

from app.config import ROOT
from app.database import Base

# what Flask-WTF signs its tokens with; the library's own defaults are SHA-1
itsdangerous.Signer.default_digest_method = staticmethod(hashlib.sha256)
itsdangerous.Signer.default_key_derivation = "hmac"

db = SQLAlchemy(model_class=Base)
migrate = Migrate(directory=str(ROOT / "app" / "migrations"), render_as_batch=True)
login = LoginManager()
csrf = CSRFProtect()
