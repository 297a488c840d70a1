"""Social cards: which clients get one, and what it contains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.links import uploads
from app.links.models import Link
from app.redirects.bots import bot_name, is_preview_bot
from tests.links.pictures import picture
from tests.public.conftest import THERE
from tests.redirects.conftest import Person

Links = Callable[..., Link]
Visits = Callable[[], list[Any]]

NETWORK = "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)"
CARD = {
    "cloaking_title": "Spring & more",
    "cloaking_meta_description": "All new",
    "title": "A note to myself",
}

# each service's user agent, from its documentation or as observed
PREVIEWS = {
    "Facebook": NETWORK,
    "iMessage": "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) "
    "Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0",
    "WhatsApp": "WhatsApp/2.23.20.0",
    "X": "Twitterbot/1.0",
    "LinkedIn": "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)",
    "Slack": "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
    "Discord": "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
    "Telegram": "TelegramBot (like TwitterBot)",
    "Teams": "Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com",
    "Reddit": "Mozilla/5.0 (compatible; redditbot/1.0; +http://www.reddit.com/feedback)",
    "Pinterest": "Mozilla/5.0 (compatible; Pinterestbot/1.0; +http://www.pinterest.com/bot.html)",
    "Bluesky": "Mozilla/5.0 (compatible; Bluesky Cardyb/1.1; +mailto:support@bsky.app)",
    "Mastodon": "Mastodon/4.3.0 (http.rb/5.2.0; +https://mastodon.social/) Bot",
    "VK": "Mozilla/5.0 (compatible; vkShare; +http://vk.com/dev/Share)",
    "LINE": "facebookexternalhit/1.1;line-poker/1.0",
}
OTHERS = {
    "a search engine": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "a tool": "curl/8.5.0",
    "none": "",
}


@pytest.mark.parametrize("agent", PREVIEWS.values(), ids=PREVIEWS)
def test_agents_that_show_cards(agent: str) -> None:
    assert is_preview_bot(agent)
    assert bot_name(agent)


@pytest.mark.parametrize("agent", OTHERS.values(), ids=OTHERS)
def test_other_bots_get_the_redirect(agent: str, person: Person, link: Links) -> None:
    link("a", **CARD)
    assert person.open("/a", agent=agent or None).headers["Location"] == THERE


def test_a_link_with_a_card_shows_it_to_networks_and_leads_people_on(
    person: Person, link: Links, visits: Visits
) -> None:
    link("a", **CARD)
    answer = person.open("/a", agent=NETWORK)
    assert answer.status_code == 200
    assert '<meta property="og:title" content="Spring &amp; more">' in answer.text
    assert '<meta property="og:description" content="All new">' in answer.text
    assert '<meta property="og:url" content="http://localhost/a">' in answer.text
    assert THERE not in answer.text
    assert "A note to myself" not in answer.text
    people = person.open("/a")
    assert (people.status_code, people.headers["Location"]) == (302, THERE)
    assert [(visit.is_bot, visit.destination) for visit in visits()] == [(1, THERE), (0, THERE)]


PARTS = {
    "a title": {"cloaking_title": "Spring"},
    "a description": {"cloaking_meta_description": "All new"},
    "a picture": {"cloaking_opengraph": "ijklmnop.jpg"},
}


@pytest.mark.parametrize("columns", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize(
    "more",
    [{}, {"app_linking_is_enabled": True}, {"targeting_type": "rotation", "targeting": [["1", THERE]]}],
)
def test_any_part_makes_a_card(columns: Any, more: Any, person: Person, link: Links) -> None:  # fmt: skip
    link("a", **columns, **more)
    assert 'property="og:title"' in person.open("/a", agent=NETWORK).text


def test_a_favicon_or_a_title_of_the_owners_own_makes_none(person: Person, link: Links) -> None:
    link("a", cloaking_favicon="abcdefgh.png", title="A note to myself")
    assert person.open("/a", agent=NETWORK).headers["Location"] == THERE


def test_the_picture_comes_with_its_size(app: Any, person: Person, link: Links) -> None:
    name = "0" * 32 + ".png"
    uploads.directory().mkdir(parents=True, exist_ok=True)
    (uploads.directory() / name).write_bytes(picture(size=(40, 21)))
    link("a", cloaking_opengraph=name)
    link("b", cloaking_opengraph="1" * 32 + ".png")
    there, gone = (person.open(path, agent=NETWORK).text for path in ("/a", "/b"))
    assert f'<meta property="og:image" content="http://localhost/media/{name}">' in there
    assert '<meta property="og:image:width" content="40">' in there
    assert '<meta property="og:image:height" content="21">' in there
    assert "og:image:width" not in gone


CLOSED = {
    "a password": {"password_hash": "x"},
    "a warning": {"sensitive_content": True},
    "a limit": {"clicks_limit": 5},
}


@pytest.mark.parametrize("agent", [NETWORK, OTHERS["a search engine"]], ids=["network", "search engine"])
@pytest.mark.parametrize("columns", CLOSED.values(), ids=CLOSED)
def test_protected_and_limited_pages_have_one_too(
    columns: Any, agent: str, person: Person, link: Links
) -> None:
    link("a", **CARD, **columns)
    link("b", **columns)
    own, general = (person.open(path, agent=agent).text for path in ("/a", "/b"))
    assert '<meta property="og:title" content="Spring &amp; more">' in own
    assert 'property="og:title"' in general
    assert THERE not in own + general
    assert person.open("/a", agent=agent).text.count('property="og:title"') == 1
