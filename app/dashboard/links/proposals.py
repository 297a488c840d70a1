"""The random alias that a new link will get: it is shown before the link is saved, and can be shuffled.

The form carries it. Whether it is still free is decided on saving: if it is not, another one is drawn,
because its owner did not choose it.
"""

from __future__ import annotations

from flask import request

from app.dashboard.auth.access import submitted_form
from app.links.aliases import free_random_alias, is_like_random, is_unheld
from app.links.forms import LinkForm

PROPOSED = "proposed_alias"


def proposed_alias(form: LinkForm) -> str:
    """The alias that was proposed before while it is free, else another one; "" for a stored link."""
    if form.stored is not None:
        return ""
    domain_id = form.domain_id.data or 0 if not form.domain_id.errors else 0
    before = sent_proposal()
    return before if before and is_unheld(domain_id, before) else free_random_alias(domain_id)


def sent_proposal() -> str:
    """The proposal that came with the form; "" for none, and for what can't have been one."""
    value = submitted_form().last(PROPOSED) if has_sent() else ""
    return value if isinstance(value, str) and is_like_random(value) else ""


def is_shuffled(form: LinkForm) -> bool:
    """Whether another proposal is asked for: the form came without the one before."""
    return form.stored is None and has_sent() and not sent_proposal()


def has_sent() -> bool:
    return request.method == "POST" and PROPOSED in submitted_form()
