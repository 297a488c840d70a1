"""Where on earth is an address? As a file of places (`.mmdb`) says, and unknown wherever it says nothing."""

from __future__ import annotations

import datetime as dt
import ipaddress
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Literal, NamedTuple, Protocol

import maxminddb

from app.visits.continents import CONTINENT_OF, COUNTRIES_OF

FILE_NAME = "geo.mmdb"
LONGEST_NAME = 128


class Place(NamedTuple):
    """Empty is unknown."""

    continent_code: str = ""
    country_code: str = ""
    city_name: str = ""


UNKNOWN = Place()


class Attribution(NamedTuple):
    """What the publisher wants to be said wherever places are shown, and where it is to lead."""

    text: str
    url: str


# By the beginning of the file's own type. MaxMind's paid files (GeoIP2-…) ask for nothing.
ATTRIBUTIONS = {
    "DBIP": Attribution("IP Geolocation by DB-IP", "https://db-ip.com"),
    "GeoLite": Attribution(
        "This product includes GeoLite Data created by MaxMind, available from https://www.maxmind.com.",
        "https://www.maxmind.com",
    ),
    "ipinfo": Attribution("IP address data powered by IPinfo", "https://ipinfo.io"),
}


@dataclass(frozen=True)
class Status:
    """How the file is. `failed` counts the look-ups at which it turned out to be damaged."""

    state: Literal["ok", "missing", "damaged", "checking"]
    kind: str = ""
    built: dt.datetime | None = None
    failed: int = 0

    @property
    def attribution(self) -> Attribution | None:
        return next((said for start, said in ATTRIBUTIONS.items() if self.kind.startswith(start)), None)

    def age(self, now: dt.datetime) -> dt.timedelta | None:
        return now - self.built if self.built else None


MISSING, DAMAGED, CHECKING = Status("missing"), Status("damaged"), Status("checking")


class Verdict(NamedTuple):
    """What is safe to read in the place of a file; None, and why, where that is damaged."""

    copy: Path | None
    reason: str = ""


class Vet(Protocol):
    """Looks at a file before this process does."""

    def verdict(self, stamp: tuple[int, ...], wait: float = 0.0) -> Verdict | None: ...


class Places:
    """The file at `path`, and its successor at most `seconds` after that took its place. For all threads.

    With a `vet`, what is read is a copy that has passed; without one the file itself, which then must be
    replaced by renaming another one over it: it is mapped into memory.
    """

    def __init__(
        self, path: Path | None, seconds: float = 5.0, vet: Vet | None = None, wait: float = 0.0
    ) -> None:
        self.path = path
        self.seconds = seconds
        self.vet, self.wait = vet, wait
        self.lock = Lock()
        self.reader: maxminddb.Reader | None = None
        self.found = MISSING
        self.failed = 0
        self.stamp: tuple[int, ...] | None = None
        self.refresh()

    def find(self, address: str) -> Place:
        """The place of an address as text. Never raises: a visitor goes on, whatever the file is like."""
        if time.monotonic() >= self.due:
            self.refresh()
        if self.reader is None:
            return UNKNOWN
        try:
            return place_in(self.reader.get(unwrapped(address)))
        except Exception as error:  # noqa: BLE001  a damaged file raises all sorts; the status says that it did
            self.failed += is_damage(error, address)
        return UNKNOWN

    @property
    def status(self) -> Status:
        self.refresh()
        return replace(self.found, state="damaged", failed=self.failed) if self.failed else self.found

    def refresh(self) -> None:
        """Open the file if it is another one than before. One thread does; others go on meanwhile."""
        if not self.lock.acquire(blocking=False):
            return
        try:
            self.due = time.monotonic() + self.seconds
            stamp = stamp_of(self.path)
            if stamp != self.stamp or self.stamp is None:
                self.take_up(stamp)
        finally:
            self.lock.release()

    def take_up(self, stamp: tuple[int, ...] | None) -> None:
        """Another file than before, once it is known to be sound: until then the old one goes on."""
        path, found = self.path, MISSING
        if stamp and self.vet:
            verdict, self.wait = self.vet.verdict(stamp, self.wait), 0.0
            if verdict is None:
                self.found = self.found if self.reader else CHECKING
                return
            path, found = verdict.copy, DAMAGED
        # the old reader is not closed: another thread may be in it; it goes with its last user
        self.reader, self.found = opened(path) if stamp and path else (None, found if stamp else MISSING)
        self.stamp, self.failed = stamp, 0


def database_path(named: Path | None, data_dir: Path) -> Path:
    """Where the file is: as `GEOIP_DB` says, else where `flask geo update` puts it."""
    return named or data_dir / FILE_NAME


def stamp_of(path: Path | None) -> tuple[int, ...] | None:
    try:
        found = path.stat() if path else None
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns) if found else None


def opened(path: Path) -> tuple[maxminddb.Reader | None, Status]:
    try:
        reader = maxminddb.open_database(path)
        about = reader.metadata()
        built = dt.datetime.fromtimestamp(about.build_epoch, dt.UTC)
        place_in(reader.get("192.0.2.1"))
        return reader, Status("ok", str(about.database_type), built)
    except FileNotFoundError:
        return None, MISSING
    except Exception:  # noqa: BLE001  a damaged file raises all sorts, and all of them mean that it is damaged
        return None, DAMAGED


def is_damage(error: Exception, address: str) -> bool:
    """Is the file to blame, not an address that is none, or IPv6 in a file of IPv4?"""
    if isinstance(error, ValueError) and not isinstance(error, UnicodeDecodeError):
        return False
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return True


def unwrapped(address: str) -> str:
    """An IPv4 address that arrives in IPv6's clothes, for not every file knows it in these."""
    return address[7:] if address.startswith("::ffff:") and "." in address else address


def place_of_country(code: str) -> Place:
    """The place that a country's code alone tells; what is no country (`XX`, `T1`) is unknown."""
    country = code.strip().upper()
    return Place(CONTINENT_OF[country], country) if country in CONTINENT_OF else UNKNOWN


# --- the layouts of a record. MaxMind's and DB-IP's: {"continent": {"code"}, "country": {"iso_code"}, "city":
# {"names": {"en"}}}. The flat ones of IPinfo and others: "country_code" or "country", "continent_code" or
# "continent", "city", where the shorter names may also hold a name in full.


def place_in(record: object) -> Place:
    if not isinstance(record, Mapping):
        return UNKNOWN
    country = code_in(record, "country", "iso_code", "country_code")
    continent = code_in(record, "continent", "code", "continent_code")
    if continent not in COUNTRIES_OF:
        continent = CONTINENT_OF.get(country, "")
    return Place(continent, country, city_in(record.get("city")))


def code_in(record: Mapping[str, object], name: str, inner: str, flat: str) -> str:
    """Two capitals, from `record[flat]`, `record[name][inner]` or `record[name]`; empty where none are."""
    part = record.get(name)
    nested = part.get(inner) if isinstance(part, Mapping) else part
    for text in (record.get(flat), nested):
        if isinstance(text, str) and len(text) == 2 and text.isascii() and text.isalpha():
            return text.upper()
    return ""


def city_in(part: object) -> str:
    names = part.get("names") if isinstance(part, Mapping) else {"en": part}
    name = (names.get("en") or next(iter(names.values()), "")) if isinstance(names, Mapping) else ""
    if not isinstance(name, str):
        return ""
    # DB-IP adds districts: "Berlin (Mitte)". Who targets a town means all of it.
    return name.partition(" (")[0].strip()[:LONGEST_NAME]
