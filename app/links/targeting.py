"""Targeting types: one row of `TYPES` says all of a type, from its control in the form to its matcher.

Keys are matched ignoring case. Those of a closed set, and well-known names, are stored in one spelling.
"""

# see docs/decisions/2026-11-20-targeting-keys.md
from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

from app.core.caches import cache_texts
from app.geo import names as geo_names
from app.geo.names import CONTINENTS, COUNTRIES
from app.i18n.messages import lazy_gettext as _l
from app.input.parsers import Rejected, parse_integer, plain_text
from app.links.language_names import LANGUAGES as LANGUAGE_NAMES
from app.links.language_names import cased, describe_language, find_language
from app.web.device_names import browser_name, system_name

MAX_PAIRS = 100
MAX_INDEX = 999
MAX_NAME = 128

DEVICES = {"desktop": _l("Desktop"), "mobile": _l("Phone"), "tablet": _l("Tablet")}
SYSTEMS = ("Windows", "macOS", "iOS", "Android", "Linux", "Chrome OS")
BROWSERS = ("Chrome", "Safari", "Firefox", "Edge", "Opera", "Samsung Internet")

# RFC 5646, 2.1: language, script, region, variants, extensions, private use. Languages of five to eight
# letters are provided for but were never registered; they would only let `english` pass.
LANGUAGE = re.compile(
    r"(?P<language>[a-z]{2,3})(?:-[a-z]{3}){0,3}(?:-(?P<script>[a-z]{4}))?(?:-(?P<region>[a-z]{2}|[0-9]{3}))?"
    r"(?:-(?:[a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*(?:-[0-9a-wy-z](?:-[a-z0-9]{2,8})+)*(?:-x(?:-[a-z0-9]{1,8})+)?",
    re.ASCII | re.IGNORECASE,
)
# ISO 639-1
LANGUAGE_LINES = """
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv
    dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig
    ii ik in io is it iu iw ja ji jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu
    lv mg mh mi mk ml mn mo mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu
    rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr
    ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
LANGUAGES = frozenset(LANGUAGE_LINES.split())

Read = Callable[[str], str]


def one_of(known: Iterable[str], problem: str) -> Read:
    """A reader for keys of a closed set, which returns the set's spelling."""
    words = spellings(known)

    def read(text: str) -> str:
        # ASCII only: other letters lower to these, too
        if not text.isascii() or text.lower() not in words:
            raise Rejected(problem, "choice")
        return words[text.lower()]

    return read


def name(known: Iterable[str]) -> Read:
    """A reader for any name, which returns a well-known one in its usual spelling."""
    words = spellings(known)
    return lambda text: words.get(text.lower(), plain_text(text, MAX_NAME))


def spellings(known: Iterable[str]) -> dict[str, str]:
    return {word.lower(): word for word in known}


def city(text: str) -> str:
    """`name`, or `name, CC` with the code of a country."""
    town, comma, code = plain_text(text, MAX_NAME).rpartition(",")
    country = code.strip().upper()
    return f"{town.rstrip()}, {country}" if comma and town.strip() and country in COUNTRIES else text


def language(text: str) -> str:
    """A BCP 47 tag, in the spelling that its standard recommends: `pt-BR`, `zh-Hant-TW`."""
    found = LANGUAGE.fullmatch(text)
    if found is None or (len(found["language"]) == 2 and found["language"].lower() not in LANGUAGES):
        raise Rejected(_l("This must be the tag of a language, like en or pt-BR."), "choice")
    first, *rest = text.split("-")
    return "-".join([first.lower(), *cased(rest)])


def weight(text: str) -> str:
    return str(parse_integer(text, 1, 100))


# ------------------------------------------------------------------ matchers


class TargetedVisitor(Protocol):
    """The properties of a visitor that targeting compares. Each is empty if it is unknown."""

    @property
    def continent_code(self) -> str: ...
    @property
    def country_code(self) -> str: ...
    @property
    def city_name(self) -> str: ...
    @property
    def device_type(self) -> str: ...
    @property
    def languages(self) -> Sequence[str]: ...
    @property
    def os_name(self) -> str: ...
    @property
    def browser_name(self) -> str: ...


@cache_texts(4096, max_characters=128, bytes_per_entry=1500)
def normalize(text: str) -> str:
    """The form in which keys are compared: case-folded, in NFC."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


class Matcher(NamedTuple):
    """What a targeting type compares: the keys that a visitor matches, and how a pair's key is read.

    A visitor's keys come in groups, the preferred one first: the first group of which any key is in the list
    decides, and within it the list's order.
    """

    keys: Callable[[TargetedVisitor], Sequence[Sequence[str]]]
    read: Callable[[str], str] = normalize


def one(text: str) -> Sequence[Sequence[str]]:
    return ((normalize(text),),) if text else ()


def city_keys(visitor: TargetedVisitor) -> Sequence[Sequence[str]]:
    """Both `Portland` and `Portland, US` match; the owner's order decides which pair wins."""
    found = normalize(visitor.city_name)
    return ((found, f"{found}, {normalize(visitor.country_code)}"),) if found else ()


def language_keys(visitor: TargetedVisitor) -> Sequence[Sequence[str]]:
    return ranges(visitor.languages)


@cache_texts(1024, max_characters=100, bytes_per_entry=8000)
def ranges(tags: Iterable[str]) -> Sequence[Sequence[str]]:
    """For each tag all language ranges that it matches (RFC 4647, 3.3.1): `pt-br` matches itself and `pt`."""
    return tuple(tuple(prefixes(normalize(tag).split("-"))) for tag in tags)


def prefixes(subtags: Sequence[str]) -> Iterable[str]:
    return accumulate(subtags, "{}-{}".format)


# -------------------------------------------------------------------- types


def city_visitor(key: str) -> dict[str, str]:
    town, _, code = key.rpartition(", ")
    return {"city_name": town, "country_code": code} if town else {"city_name": key}


def no_visitor(key: str) -> dict[str, str]:  # noqa: ARG001  as the other types'
    return {}


def word_of(words: Mapping[str, str]) -> Callable[[str], str]:
    return lambda key: words.get(key, key)


@dataclass(frozen=True, kw_only=True)
class Type:
    """A targeting type.

    `read`: the reader of its keys. `matcher`: what it compares; None draws a pair by the keys, which are
    weights then. `simulate`: the properties of a simulated visitor who matches a key. `describe`: a key in
    words. `is_by_place`: it needs the visitor's location.

    The control of a key in the form: `keys` to choose from, if they are few; `is_menu`: in a menu, and no
    others; `names` that are shown in place of keys; `find`: the key for a name that somebody typed, None for
    no name; `key_label` where it is called otherwise than the type; `placeholder` and `hint`.
    """

    label: str
    read: Read
    matcher: Matcher | None
    simulate: Callable[[str], Mapping[str, Any]] = no_visitor
    describe: Callable[[str], str] = str
    keys: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    find: Callable[[str], str | None] = lambda text: None  # noqa: ARG005
    is_menu: bool = False
    is_by_place: bool = False
    key_label: str = ""
    placeholder: str = ""
    hint: str = ""

    @property
    def suggestions(self) -> list[str]:
        """Texts that the control of a key suggests."""
        return (
            [] if self.is_menu else sorted(map(str, (self.names or self.keys).values()), key=geo_names.fold)
        )


def named(*words: str) -> dict[str, str]:
    return {word: word for word in words}


TYPES: Mapping[str, Type] = {
    "continent_code": Type(
        label=_l("Continent"),
        read=one_of(CONTINENTS, _l("This must be a continent's code, like EU.")),
        matcher=Matcher(lambda visitor: one(visitor.continent_code)),
        simulate=lambda key: {"continent_code": key},
        describe=word_of(geo_names.CONTINENT_NAMES),
        keys=geo_names.CONTINENT_NAMES,
        find=geo_names.find_continent,
        is_menu=True,
        is_by_place=True,
    ),
    "country_code": Type(
        label=_l("Country"),
        read=one_of(COUNTRIES, _l("There is no such country. Its code has two letters, like DE.")),
        matcher=Matcher(lambda visitor: one(visitor.country_code)),
        simulate=lambda key: {"country_code": key},
        describe=word_of(geo_names.COUNTRY_NAMES),
        keys=geo_names.COUNTRY_NAMES,
        names=geo_names.COUNTRY_NAMES,
        find=geo_names.find_country,
        is_by_place=True,
        placeholder=_l("Germany"),
    ),
    "city_name": Type(
        label=_l("City"),
        read=city,
        find=geo_names.find_city,
        matcher=Matcher(city_keys),
        simulate=city_visitor,
        is_by_place=True,
        placeholder="Berlin, DE",
        hint=_l("The first line that matches decides. Berlin, or Berlin, DE if there are several."),
    ),
    "device_type": Type(
        label=_l("Device"),
        read=one_of(DEVICES, _l("This must be desktop, mobile or tablet.")),
        matcher=Matcher(lambda visitor: one(visitor.device_type)),
        simulate=lambda key: {"device_type": key},
        describe=word_of(DEVICES),
        keys=DEVICES,
        is_menu=True,
    ),
    "browser_language": Type(
        label=_l("Language"),
        read=language,
        matcher=Matcher(language_keys),
        simulate=lambda key: {"accept_language": key},
        describe=describe_language,
        names=LANGUAGE_NAMES,
        find=find_language,
        placeholder=_l("Portuguese (Brazil)"),
        hint=_l("As visitors’ browsers rank them. de matches all German, pt-BR only Brazilian Portuguese."),
    ),
    "rotation": Type(
        label=_l("A/B split"),
        read=weight,
        matcher=None,
        key_label=_l("Weight"),
        placeholder="50",
        hint=_l(
            "Weights are whole numbers from 1 to 100, such as 50, 30 and 20. Each visitor gets the same "
            "one all day."
        ),
    ),
    "os_name": Type(
        label=_l("Operating system"),
        read=name(SYSTEMS),
        matcher=Matcher(lambda visitor: one(visitor.os_name), lambda key: normalize(system_name(key))),
        simulate=lambda key: {"os_name": key},
        keys=named(*SYSTEMS),
        placeholder="Windows",
    ),
    "browser_name": Type(
        label=_l("Browser"),
        read=name(BROWSERS),
        matcher=Matcher(lambda visitor: one(visitor.browser_name), lambda key: normalize(browser_name(key))),
        simulate=lambda key: {"browser_name": key},
        keys=named(*BROWSERS),
        placeholder="Firefox",
    ),
}
LABELS: dict[Any, str] = {type_: each.label for type_, each in TYPES.items()}
