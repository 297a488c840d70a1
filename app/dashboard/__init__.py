"""Which pages does an owner have, and how do they come into the application?"""

from __future__ import annotations

from flask import Flask

from app.dashboard import (
    account,
    accounts,
    api_page,
    as_visitor,
    assets,
    audit_log,
    compression,
    confirming,
    data,
    deliveries,
    domains,
    exports,
    forgotten,  # noqa: F401  its pages are those of `accounts`
    guard,
    handlers,
    headers,
    history,
    home,
    icons,
    imports,
    instance,
    invitations,
    keys,
    links,
    many,
    own_email,
    pages,
    pixels,
    projects,
    qr,
    reauthentication,
    samples,
    second_step,  # noqa: F401
    signed_in,
    stopping,
    trash,
    two_factor,
    users,
)
from app.dashboard.blueprint import blueprint
from app.dashboard.statistics import views as statistics

# once, and not for each application: a blueprint takes no more pages after it was registered
ACCOUNT = (account, reauthentication, own_email, two_factor, signed_in, data, audit_log)
PEOPLE = (keys, api_page, *ACCOUNT, samples, users, invitations, instance)
ROWS = (links, many, history, as_visitor, qr, statistics)
THINGS = (*ROWS, projects, domains, pixels, handlers, deliveries, imports, exports, trash)
for family in (home, *THINGS, *PEOPLE):
    family.register(blueprint)


def init_app(app: Flask) -> None:
    """Register everything under `/dashboard/`, the static files, and what every page stands on."""
    for part in (assets, icons, accounts, stopping, confirming, headers, compression, pages, guard, instance):
        part.init_app(app)
    app.register_blueprint(blueprint)
