"""Past visits of the demo's links: when each came, and from which visitor.

They follow weekdays, nights and a launch, up to the present hour. All numbers come from one generator, so the
same seed makes the same visits.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from random import Random
from typing import Any, NamedTuple

from app.geo.names import CONTINENT_OF
from app.journal.codec import Visit
from app.links.models import Link
from app.operations.demo.links import CONTENT, DemoLink
from app.redirects.bots import bot_name

HOUR = dt.timedelta(hours=1)
# weights of the 24 hours, in UTC
DAY = (2, 1, 1, 1, 1, 2, 4, 7, 10, 12, 12, 11, 11, 12, 13, 13, 12, 11, 10, 10, 9, 7, 5, 3)
WEEK = (1.0, 1.08, 1.05, 1.0, 0.85, 0.45, 0.5)
BOTS_FOR_EACH_PERSON = 0.07
COMES_AGAIN = 0.22
SEES_ANOTHER = 0.12
IDENTITY = ("visitor", "country_code", "continent_code", "city_name", "agent", "language")
UTM = ("utm_source", "utm_medium", "utm_campaign")


class Person(NamedTuple):
    """One visitor, as far as a visit records them."""

    country_code: str
    city: str
    language: str
    agent: Mapping[str, str]


@dataclass(frozen=True)
class Visited:
    """A link and how it is visited. `since`: when it was made."""

    link: Link
    plan: DemoLink
    since: dt.datetime


def past_visits(rng: Random, visited: Sequence[Visited], clicks: int, now: dt.datetime) -> list[Visit]:
    """`clicks` visits of people, and those of bots beside them, in the order of their times."""
    counts = shares(rng, visited, clicks)
    found = [
        visit
        for one, count in zip(visited, counts, strict=True)
        for visit in [*visits_of(rng, one, count, now), *bots_of(rng, one, count, now)]
    ]
    alike = {one.link.id for one in visited if not one.link.targeting_type}
    return [*wandering(rng, sorted(found, key=lambda visit: visit.time_ms), alike)]


def wandering(rng: Random, visits: Sequence[Visit], alike: set[int]) -> Iterator[Visit]:
    """The same visits, but some visitors of a link open another one on that day.

    Only links that are `alike` for all visitors: those with targeting would redirect this visitor elsewhere.
    """
    today, people_of_today = dt.date.min, list[Visit]()
    for visit in visits:
        day = dt.datetime.fromtimestamp(visit.time_ms / 1000, dt.UTC).date()
        if day != today:
            today, people_of_today = day, []
        came = visit
        if not visit.is_bot and visit.link_id in alike and people_of_today and rng.random() < SEES_ANOTHER:
            who = rng.choice(people_of_today)
            came = visit._replace(**{name: getattr(who, name) for name in IDENTITY})
        if not visit.is_bot:
            people_of_today.append(came)
        yield came


def shares(rng: Random, visited: Sequence[Visited], clicks: int) -> list[int]:
    """How many of the clicks each link gets: by its share, and at most its maximum."""
    counts = [0] * len(visited)
    left = clicks
    while left:
        open_ones = [i for i, one in enumerate(visited) if one.plan.most is None or counts[i] < one.plan.most]
        if not open_ones:
            break
        for i in rng.choices(open_ones, [visited[i].plan.share for i in open_ones], k=left):
            most = visited[i].plan.most
            if most is None or counts[i] < most:
                counts[i] += 1
                left -= 1
    return counts


def visits_of(rng: Random, one: Visited, count: int, now: dt.datetime) -> Iterator[Visit]:
    """People's visits to one link. Some visitors come again on the same day."""
    known: dict[dt.date, list[Visit]] = {}
    for moment in sorted(draw_moments(rng, one, count, now)):
        today = known.setdefault(moment.date(), [])
        if today and rng.random() < COMES_AGAIN:
            visit = rng.choice(today)._replace(time_ms=to_ms(moment))
        else:
            visit = new_visit(rng, one.link, moment)
            today.append(visit)
        yield visit


def draw_moments(rng: Random, one: Visited, count: int, now: dt.datetime) -> Iterator[dt.datetime]:
    """Times of visits: in hours drawn by their weight, anywhere within the hour."""
    end = min(now + dt.timedelta(days=one.plan.until), now)
    hours = max(1, int((end - one.since) / HOUR))
    begins = [one.since + HOUR * number for number in range(hours)]
    curve = launch if one.plan.launch else steady
    weights = [weight(begin) * curve(number / hours) for number, begin in enumerate(begins)]
    for begin in rng.choices(begins, weights, k=count) if count else ():
        yield begin + min(HOUR, end - begin) * rng.random()


def weight(moment: dt.datetime) -> float:
    return DAY[moment.hour] * WEEK[moment.weekday()]


def steady(part: float) -> float:
    """Weight of a part of the time: a little more each day."""
    return 0.7 + 0.6 * part


def launch(part: float) -> float:
    """Weight of a part of the time: very little, a peak after two fifths of it, then less each day."""
    return 0.05 if part < 0.4 else 0.15 + 12 * 0.5 ** ((part - 0.4) * 30)


def new_visit(rng: Random, link: Link, moment: dt.datetime) -> Visit:
    person = new_person(rng)
    referrer = draw_row(rng, "referrers")
    campaign = draw_row(rng, "campaigns")
    return Visit(
        to_ms(moment),
        link.id,
        link.workspace_id,
        is_bot=0,
        visitor=f"{rng.getrandbits(44):011x}",
        country_code=person.country_code,
        continent_code=CONTINENT_OF.get(person.country_code, ""),
        city_name=person.city,
        agent=f"Mozilla/5.0 {person.agent['text']}",
        language=person.language,
        referrer_host=referrer["host"],
        referrer_path=rng.choice(referrer["paths"]),
        **{name: campaign[name] for name in UTM},
        destination=destination(rng, link, person),
    )


def new_person(rng: Random) -> Person:
    land = draw_row(rng, "lands")
    city, language = rng.choice(land["cities"]), rng.choice(land["languages"])
    return Person(land["code"], city, language, draw_row(rng, "agents"))


# how each type of targeting matches such a visitor; rotation draws instead
MATCHES: dict[str, Callable[[str, Person], bool]] = {
    "continent_code": lambda key, person: CONTINENT_OF.get(person.country_code) == key,
    "country_code": lambda key, person: person.country_code == key,
    "city_name": lambda key, person: key.partition(",")[0] == person.city,
    "device_type": lambda key, person: person.agent["device"] == key,
    "browser_language": lambda key, person: f"{person.language}-".startswith(f"{key}-"),
    "os_name": lambda key, person: person.agent["system"] == key,
    "browser_name": lambda key, person: person.agent["browser"] == key,
}


def destination(rng: Random, link: Link, person: Person) -> str:
    """The destination of this visitor."""
    if link.targeting_type == "rotation":
        weights = [int(key) for key, _ in link.targeting]
        return rng.choices([page for _, page in link.targeting], weights)[0]
    matches = MATCHES.get(link.targeting_type or "")
    found = (page for key, page in link.targeting if matches and matches(key, person))
    return next(found, link.location_url)


def bots_of(rng: Random, one: Visited, people_count: int, now: dt.datetime) -> Iterator[Visit]:
    """Visits of crawlers and preview bots, in proportion to those of people."""
    count = round(people_count * BOTS_FOR_EACH_PERSON)
    for moment in draw_moments(rng, one, count, now):
        agent = draw_row(rng, "bots")["agent"]
        yield Visit(
            time_ms=to_ms(moment),
            link_id=one.link.id,
            workspace_id=one.link.workspace_id,
            is_bot=1,
            bot_name=bot_name(agent),
            visitor=f"{rng.getrandbits(44):011x}",
            country_code="US",
            continent_code="NA",
            agent=agent,
            destination=one.link.location_url,
        )


def draw_row(rng: Random, kind: str) -> Any:
    """A random row of the demo's content."""
    return rng.choices(CONTENT[kind], cum_weights=sums(kind))[0]


@cache
def sums(kind: str) -> list[int]:
    return list(accumulate(row["weight"] for row in CONTENT[kind]))


def to_ms(moment: dt.datetime) -> int:
    return int(moment.timestamp() * 1000)
