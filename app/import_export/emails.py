"""Mails to owners about their imports, where a mail server is set."""

from __future__ import annotations

import datetime as dt

from app.accounts.models import User
from app.core.clock import now
from app.core.config import Settings
from app.core.database import AnySession
from app.import_export.models import LinkImport
from app.notifications import system_email
from app.notifications.i18n import digits, said, speaking
from app.notifications.site import site_of

ENDED = "The import of {name} ended after {rows} rows."
WHAT_NOW = "Links that were made stay. The import's page says what to do."
RETRY_PERIOD = dt.timedelta(days=1)


def tell_failed(session: AnySession, job: LinkImport, settings: Settings) -> None:
    """Write the mail that an import has failed; the worker sends it. The caller commits."""
    user = session.get_one(User, job.user_id)
    if not settings.smtp_url:
        return
    with speaking(user.language):
        content = system_email.Content(
            title=said("An import has failed"),
            text=f"{said(ENDED, name=job.name, rows=digits(job.position))} {said(WHAT_NOW)}",
            url=f"{site_of(settings).owners}/dashboard/imports/{job.id}",
            button=said("See the import"),
            note="because it is about your account.",
            language=user.language,
        )
    system_email.post(session, user.id, f"import:{job.id}", user.email, content, now() + RETRY_PERIOD)
