"""Mails to owners about their imports, where a mail server is set."""

from __future__ import annotations

import datetime as dt

from app.accounts.models import User
from app.core.config import Settings
from app.core.database import AnySession
from app.i18n import digits
from app.i18n.in_language import in_language
from app.i18n.messages import gettext as _
from app.i18n.messages import ngettext
from app.import_export.models import LinkImport
from app.notifications import system_email
from app.notifications.security_email import SecurityMail
from app.notifications.site import site_of

RETRY_PERIOD = dt.timedelta(days=1)


def tell_failed(session: AnySession, job: LinkImport, settings: Settings) -> None:
    """Write the mail that an import has failed; the worker sends it. The caller commits."""
    user = session.get_one(User, job.user_id)
    with in_language(user.language):
        ended = ngettext(
            "The import of %(name)s ended after %(rows)s row.",
            "The import of %(name)s ended after %(rows)s rows.",
            job.position,
            name=job.name,
            rows=digits(job.position),
        )
        now_what = _("Links that were imported stay. The import's page says what to do.")
        content = system_email.Content(
            title=_("An import has failed"),
            text=f"{ended} {now_what}",
            url=f"{site_of(settings).owners}/dashboard/imports/{job.id}",
            button=_("See the import"),
            note="account",
            language=user.language,
        )
    SecurityMail(session, settings).post(user, user.email, f"import:{job.id}", content, RETRY_PERIOD)
