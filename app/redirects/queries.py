"""Which columns are plans and pages made of?"""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, bindparam, case, exists, or_, select

from app.accounts.models import User
from app.domains.models import Domain
from app.links.models import Alias, Link, link_pixel
from app.pixels.models import Pixel

AT_ONCE = 200

# which link it is, and where it leads
OF_EACH = (
    Alias.domain_id, Link.id, Link.user_id, Link.url, Link.location_url, Link.http_status_code,
    Link.password_version,
)  # fmt: skip
# what can be set besides, and how it reads where nothing is; most links are such, and cost a third so
OF_SOME: dict[Any, Any] = {
    Link.is_enabled: True, Link.start_date: None, Link.end_date: None, Link.clicks_limit: None,
    Link.expiration_url: None, Link.password_hash: None, Link.sensitive_content: False,
    Link.app_linking_is_enabled: False, Link.cloaking_is_enabled: False,
    Link.forward_query_parameters_is_enabled: False, Link.utm_source: None, Link.utm_medium: None,
    Link.utm_campaign: None, Link.targeting_type: None,
    case((Link.targeting_type.is_not(None), Link.targeting)).label("targeting"): None,
    exists().where(link_pixel.c.link_id == Link.id).label("has_pixels"): False,
    or_(
        Link.cloaking_title.is_not(None), Link.cloaking_meta_description.is_not(None),
        Link.cloaking_opengraph.is_not(None),
    ).label("has_card"): False,
}  # fmt: skip
NAMES = tuple(column.key for column in OF_EACH)
NOTHING_SET = tuple(OF_SOME.values())
# of a user who was deleted nothing is served; the rows are there for 30 days
IS_HERE = User.deleted_datetime.is_(None)
# those few, and not a join: from that SQLite would begin with the users, and sort all of each one's links
GONE = select(User.id).where(User.deleted_datetime.is_not(None))
LINK = (
    select(*OF_EACH, *OF_SOME)
    .join_from(Alias, Link, Link.id == Alias.link_id)
    .join(User, User.id == Link.user_id)
    .where(Alias.domain_id == bindparam("domain_id"), Alias.key == bindparam("key"), IS_HERE)
)
LINKS = (
    select(Alias.key, *OF_EACH, *OF_SOME)
    .join_from(Link, Alias, Alias.link_id == Link.id)
    .where(Link.id > bindparam("after"), Link.user_id.not_in(GONE))
    .order_by(Link.id)
    .limit(AT_ONCE)
)
DOMAINS = (
    select(
        Domain.id,
        Domain.user_id,
        Domain.host,
        and_(Domain.is_enabled, IS_HERE).label("is_enabled"),
        Domain.custom_index_url,
        Domain.custom_not_found_url,
    )
    .join(User, User.id == Domain.user_id)
    .where(Domain.is_verified)
)
# what only pages need: never kept, for a script alone may be 20,000 characters
PAGE = select(
    Link.title, Link.cloaking_title, Link.cloaking_meta_description, Link.cloaking_custom_js,
    Link.cloaking_favicon, Link.cloaking_opengraph,
).where(Link.id == bindparam("link_id"))  # fmt: skip
PIXELS = (
    select(Pixel.type, Pixel.pixel)
    .join(link_pixel, link_pixel.c.pixel_id == Pixel.id)
    .where(link_pixel.c.link_id == bindparam("link_id"))
    .order_by(Pixel.id)
)
