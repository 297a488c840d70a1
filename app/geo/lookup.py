"""Geolocation of IP addresses by a database file (`.mmdb`). What the file does not know is unknown."""

# see docs/decisions/2026-11-20-places.md
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

from app.geo.names import CONTINENT_OF, CONTINENTS

FILE_NAME = "geo.mmdb"
LONGEST_NAME = 128


class Location(NamedTuple):
    """Location of an address. Empty fields are unknown."""

    continent_code: str = ""
    country_code: str = ""
    city_name: str = ""


UNKNOWN = Location()


class Attribution(NamedTuple):
    """The text that the publisher requires wherever locations are shown, and the URL that it links to."""

    text: str
    url: str


# By the beginning of the file's database type. MaxMind's paid files (GeoIP2-…) require nothing.
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
    """State of the file. `failed` counts the look-ups that met damage."""

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


class FileVerdict(NamedTuple):
    """The copy that is safe to read in place of a file. None, with a reason, where the file is damaged."""

    copy: Path | None
    reason: str = ""


class Vet(Protocol):
    """Checks a file before this process reads it."""

    def verdict(self, stamp: tuple[int, ...], wait: float = 0.0) -> FileVerdict | None: ...


class GeoDatabase:
    """The file at `path`. A file that replaces it is read at most `seconds` later. Thread-safe.

    With a `vet`, a copy that has passed its check is read. Without one the file itself is read, which then
    must be replaced by renaming another one over it: it is mapped into memory.
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

    def find(self, address: str) -> Location:
        """The location of an address. Never raises: visitors are redirected whatever the file is like."""
        if time.monotonic() >= self.due:
            self.refresh()
        if self.reader is None:
            return UNKNOWN
        try:
            return place_in(self.reader.get(unwrap_address(address)))
        except Exception as error:  # noqa: BLE001  a damaged file raises all sorts; the status says that it did
            self.failed += is_damage(error, address)
        return UNKNOWN

    @property
    def status(self) -> Status:
        self.refresh()
        return replace(self.found, state="damaged", failed=self.failed) if self.failed else self.found

    def refresh(self) -> None:
        """Opens the file if it has changed. One thread does; others go on with the old one meanwhile."""
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
        """Switches to a new file once its check has passed. Until then the old one is used."""
        path, found = self.path, MISSING
        if stamp and self.vet:
            verdict, self.wait = self.vet.verdict(stamp, self.wait), 0.0
            if verdict is None:
                self.found = self.found if self.reader else CHECKING
                return
            path, found = verdict.copy, DAMAGED
        # the old reader is not closed: another thread may be using it; it is freed with its last use
        self.reader, self.found = opened(path) if stamp and path else (None, found if stamp else MISSING)
        self.stamp, self.failed = stamp, 0


def database_path(named: Path | None, data_dir: Path) -> Path:
    """The path of the file: `GEOIP_DB`, else where `flask geo update` puts it."""
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
    """Whether the file is to blame, and not an invalid address, or an IPv6 one in a file of IPv4."""
    if isinstance(error, ValueError) and not isinstance(error, UnicodeDecodeError):
        return False
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return True


def unwrap_address(address: str) -> str:
    """The IPv4 address of an IPv4-mapped IPv6 one, for not every file knows the mapped form."""
    return address[7:] if address.startswith("::ffff:") and "." in address else address


def place_of_country(code: str) -> Location:
    """The location by a country's code alone. A code that is no country (`XX`, `T1`) is unknown."""
    country = code.strip().upper()
    return Location(CONTINENT_OF[country], country) if country in CONTINENT_OF else UNKNOWN


# --- layouts of a record. MaxMind's and DB-IP's: {"continent": {"code"}, "country": {"iso_code"}, "city":
# {"names": {"en"}}}. The flat ones of IPinfo and others: "country_code" or "country", "continent_code" or
# "continent", "city", where the shorter names may also hold a name in full.


def place_in(record: object) -> Location:
    if not isinstance(record, Mapping):
        return UNKNOWN
    country = code_in(record, "country", "iso_code", "country_code")
    continent = code_in(record, "continent", "code", "continent_code")
    if continent not in CONTINENTS:
        continent = CONTINENT_OF.get(country, "")
    return Location(continent, country, city_in(record.get("city")))


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
    # DB-IP adds districts: "Berlin (Mitte)". Owners who target a town mean all of it.
    return name.partition(" (")[0].strip()[:LONGEST_NAME]
