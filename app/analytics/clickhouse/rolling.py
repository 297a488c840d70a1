"""Rolls up shelves of ClickHouse.

A roll-up of a shelf has a number of its own, higher than all before it, which ends in the shelf. Rows are
only added under it, and count from the moment on that `roll_up` says that it is complete. So a roll-up takes
the place of an earlier one at once, and one that was killed on its way counts for nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from app.analytics.clickhouse.client import ClickHouse
from app.analytics.clickhouse.conditions import DAY, VALUE_COLUMNS, numbers
from app.analytics.clickhouse.schema import BEGUN, SHELF, SHELVES
from app.analytics.dimensions import DIMENSIONS
from app.analytics.periods import QUARTER_MS

BITS = SHELVES.bit_length() - 1


def list_shelves(server: ClickHouse) -> list[int]:
    """The shelves that have single clicks."""
    found = server.query(
        "SELECT DISTINCT toUInt32(partition) AS shelf FROM system.parts"
        " WHERE database = currentDatabase() AND table = 'click' AND active AND rows > 0 ORDER BY shelf"
    )
    return [row[0] for row in found]


def roll_up(server: ClickHouse, shelves: Collection[int], *, with_links: bool) -> list[int]:
    """Adds roll-ups of some shelves: of each owner, and `with_links` of each link too. Returns their numbers,
    which are not yet noted as complete."""
    base = next_base(server)
    made = [base + shelf for shelf in shelves]
    note_states(server, made, BEGUN)
    some = f"shelf IN {numbers(shelves)}"
    # first: clicks that come while the values are counted must not seem to be among them
    server.work(f"INSERT INTO rolled_clicks {held(base, some)}")
    for scope in ["0"] + ["link_id"] * with_links:
        server.work(f"INSERT INTO day_visitor {visitors(base, some, scope)}")
        for name in DIMENSIONS:
            server.work(f"INSERT INTO day_value {values(base, some, scope, name)}")
    return made


def next_base(server: ClickHouse) -> int:
    """A number that ends in the shelf 0: by the clock, but higher than all before it."""
    [(found,)] = server.query(
        f"SELECT greatest(toUInt64(toUnixTimestamp64Milli(now64(3))),"
        f" bitShiftRight(max(number), {BITS}) + 1) FROM roll_up"
    )
    return int(found) << BITS


def note_states(server: ClickHouse, made: Sequence[int], state: int) -> None:
    rows = ", ".join(f"({number % SHELVES:d}, {number:d}, {state:d}, now64(3))" for number in made)
    server.work(f"INSERT INTO roll_up (shelf, number, state, moment) VALUES {rows}")


def held(base: int, some: str) -> str:
    """How many clicks of each owner there are, of a shelf's own day and of other days."""
    own = f"countIf({DAY} = shelf)"
    return (
        f"SELECT user_id, {base:d} + shelf AS number, {own}, count() - {own} FROM click WHERE {some}"
        " GROUP BY user_id, number"
    )


def visitors(base: int, some: str, scope: str) -> str:
    """Visitors by the quarter of an hour in which they first came on a day."""
    keys = "number, user_id, link, is_bot"
    first = f"toUInt32(intDiv(min(time_ms), {QUARTER_MS}))"
    return (
        f"SELECT {keys}, quarter, count() FROM (SELECT {base:d} + shelf AS number, user_id,"
        f" toUInt64({scope}) AS link, is_bot, {first} AS quarter FROM click WHERE {some} AND visitor != ''"
        f" GROUP BY {keys}, {DAY}, visitor) GROUP BY {keys}, quarter"
    )


def values(base: int, some: str, scope: str, name: str) -> str:
    keys = "number, user_id, link, dimension, is_bot, text, day"
    return (
        f"SELECT {keys}, count(), uniqExactIf(visitor, visitor != '') FROM (SELECT"
        f" {base:d} + shelf AS number, user_id, toUInt64({scope}) AS link,"
        f" toUInt8({DIMENSIONS[name].number:d}) AS dimension, is_bot,"
        f" toString({VALUE_COLUMNS[name]}) AS text, toUInt16({DAY}) AS day, visitor FROM click"
        f" WHERE {some}) GROUP BY {keys}"
    )


def find_partial(server: ClickHouse, made: Sequence[int]) -> set[int]:
    """The shelves of these roll-ups that have got more clicks of an owner than were counted first.

    An owner's clicks are only ever removed all together, and then none of them is to be counted.
    """
    shelves = numbers(number % SHELVES for number in made)
    found = server.query(
        f"SELECT DISTINCT shelf FROM (SELECT shelf, user_id, sum(n) AS more FROM (SELECT toUInt64(shelf) AS"
        f" shelf, user_id, toInt64(count()) AS n FROM click WHERE shelf IN {shelves} GROUP BY shelf, user_id"
        f" UNION ALL SELECT {SHELF}, user_id, -toInt64(pageviews + late) FROM rolled_clicks"
        f" WHERE number IN {numbers(made)}) GROUP BY shelf, user_id) WHERE more > 0"
    )
    return {row[0] for row in found}


def list_stale(server: ClickHouse, latest: str, seconds: int) -> list[int]:
    """Roll-ups that are not among the `latest`, of shelves with none that is newer than that."""
    found = server.query(
        f"SELECT DISTINCT number FROM roll_up WHERE number NOT IN ({latest}) AND shelf NOT IN"
        f" (SELECT shelf FROM roll_up WHERE moment > now64(3) - INTERVAL {seconds:d} SECOND)"
    )
    return [row[0] for row in found]


def remove(server: ClickHouse, stale: Sequence[int]) -> None:
    """Removes the rows of roll-ups that nobody reads. The server does it in its own time."""
    for table in ("day_value", "day_visitor", "rolled_clicks", "roll_up"):
        server.work(f"ALTER TABLE {table} DELETE WHERE number IN {numbers(stale)}")
