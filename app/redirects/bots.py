"""Recognises bots by their user agent."""

from __future__ import annotations

import re

from crawlerdetect.crawlerdetect import get_compiled_crawler_regex, get_compiled_exclusions_regex

from app.core.caches import cache_texts

LONGEST = 512
NO_AGENT = "no agent"

# command-line tools and HTTP libraries that the list of crawlers leaves out
TOOLS = re.compile(
    r"^(?:wrk|hey|oha|k6|vegeta|bombardier|axel|deno|bun|node|insomnia|rest-client|symfony httpclient|"
    r"autocannon|locust|jmeter|gatling|powershell|xh|hurl|libcurl|urllib|perl)\b|windowspowershell",
    re.IGNORECASE,
)
# the HTTP clients of Android and of Apple's systems, which apps use in the background, and Office, which
# opens a link by itself before a browser does
LIBRARIES = re.compile(r"\bdalvik/|\bcfnetwork/|\bms-office\b", re.IGNORECASE)
APP_OF_PEOPLE = re.compile(r"\bSlack(?:_SSB)?/[\d.]+")
# servers that fetch a preview as soon as a link is posted, often hundreds at once: each would use up a click
# of a limited link
PREVIEWS = re.compile(
    r"^(?:mastodon|misskey|sharkey|summaly|lemmy|friendica|gotosocial|peertube|pixelfed|viber|signal)\b|cardyb",
    re.IGNORECASE,
)


# services that show a card of a posted link, by the names in their own documentation;
# iMessage claims to be Facebook's and Twitter's.
CARD_BOTS = re.compile(
    r"facebookexternalhit|facebot|facebookcatalog|whatsapp/|twitterbot|linkedinbot|slackbot|slack-imgproxy|discordbot|"
    r"telegrambot|skypeuripreview|microsoftpreview|teamsbot|pinterest(?:bot)?/|redditbot|embedly|iframely|vkshare|"
    r"line-poker|kakaotalk-scrap|zalobot|snap url preview|tumblr/|flipboardproxy|bluesky|cardyb|"
    r"mattermost|rocket\.chat|synapse|nextcloud server|notionbot|trello|google-pagerenderer|googlechat|"
    r"^(?:mastodon|misskey|sharkey|summaly|lemmy|friendica|gotosocial|peertube|pixelfed|viber|signal)\b",
    re.IGNORECASE,
)


def bot_name(agent: str) -> str:
    """The bot's own name, in lower case; empty for a person. A request without an agent is a bot's."""
    return known_bot_name(agent[:LONGEST])  # cut first: what is cached must stay small


@cache_texts(4096, max_characters=LONGEST, bytes_per_entry=1000)
def known_bot_name(agent: str) -> str:
    """Cached for each agent: matching costs 100 µs and more, and the same few agents come all the time."""
    # what people's agents have in common is removed first, as the list of crawlers requires
    rest = get_compiled_exclusions_regex().sub("", without_app(agent)).strip()
    patterns = (TOOLS, LIBRARIES, PREVIEWS)
    found = get_compiled_crawler_regex().search(rest) or next(
        filter(None, (p.search(agent) for p in patterns)), None
    )
    if found:
        return found.group(0).strip(" /").lower()
    return "" if agent.strip() else NO_AGENT


def is_preview_bot(agent: str) -> bool:
    """Whether an agent belongs to a service that shows a card of posted links."""
    return CARD_BOTS.search(agent[:LONGEST]) is not None


def without_app(agent: str) -> str:
    """The agent without Slack's app. Slack's desktop app is a person's browser; its servers, which the list
    of crawlers means, name no engine."""
    return APP_OF_PEOPLE.sub("", agent) if "AppleWebKit/" in agent else agent


def warm() -> None:
    """Compile both patterns now (20 ms), and not during the first visit."""
    known_bot_name("warm")
