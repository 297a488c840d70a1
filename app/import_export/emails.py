"""Mails to owners about their imports, where a mail server is set."""

from __future__ import annotations

import datetime as dt

from app.accounts.models import User
from app.clock import now
from app.config import Settings
from app.database import AnySession
from app.notifications import letters
from app.notifications.site import site_of
from app.notifications.speech import digits, said, speaking
from app.transfer.models import LinkImport

ENDED = "The import of {name} ended after {rows} rows."
WHAT_NOW = "Links that were made stay. The import's page says what to do."
KEPT_TRYING = dt.timedelta(days=1)


def tell_failed(session: AnySession, job: LinkImport, settings: Settings) -> None:
    """Write the mail that an import has failed; the worker sends it. The caller commits."""
    user = session.get_one(User, job.user_id)
    if not settings.smtp_url:
        return
    with speaking(user.language):
        content = letters.Content(
            title=said("An import has failed"),
            text=f"{said(ENDED, name=job.name, rows=digits(job.position))} {said(WHAT_NOW)}",
            url=f"{site_of(settings).owners}/dashboard/imports/{job.id}",
            button=said("See the import"),
            note="because it is about your account.",
            language=user.language,
        )
    letters.post(session, user.id, f"import:{job.id}", user.email, content, now() + KEPT_TRYING)
