"""Conventions of a table, recognised from its first rows: empty cells, order of dates, aliases as URLs."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.import_export import conventions
from app.import_export.columns import EXPORTED, guess
from app.import_export.conventions import NULLS, conventions_of, date_orders
from app.import_export.sniff import TableFormat, open_table


def table(tmp_path: Path, text: str) -> TableFormat:
    path = tmp_path / "links.csv"
    path.write_text(text)
    return open_table(path)


TABLES = {
    "aliases": ("keyword,url\nfoo,https://a.example/\n", (True, False)),
    "aliases with slashes": ("keyword,url\nblog/launch,https://a.example/\nx,\n", (True, False)),
    "addresses": ("custom link,long url\nbit.ly/foo,https://a.example/\n,https://b.example/\nNULL,https://c.example/\n", (True, True)),
    "addresses with schemes": ("bitlink,long url\nhttps://bit.ly/foo,https://a.example/\n", (True, True)),
    "both": ("slug,long url\nhttps://bit.ly/foo,https://a.example/\nblog/launch,https://b.example/\n", (True, False)),
    "no alias at all": ("keyword,url\n,https://a.example/\n", (True, False)),
    "JSON has a null of its own": ('[{"slug":"foo","long_url":"https://a.example/"}]', (False, False)),
    "our own export": (f"{','.join(EXPORTED)}\ndocs.example/foo\n", (False, False)),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TABLES.values(), ids=TABLES)
def test_conventions(tmp_path: Path, text: str, expected: tuple[bool, bool]) -> None:
    found = table(tmp_path, text)
    told = conventions_of(found, guess(found.columns))
    assert (told.nulls >= NULLS, told.has_addresses) == expected


def test_dates_of_all_columns_tell_the_order_together(tmp_path: Path) -> None:
    found = table(
        tmp_path, "url,created,expires\nhttps://a.example/,01/02/2026,\nhttps://a.example/,NULL,31/01/2027\n"
    )
    assert date_orders(found, {"datetime": "created"}).is_open
    assert date_orders(found, {"datetime": "created", "end_date": "expires"}).order == "day"
    assert not date_orders(found, {"title": "created"}).possible


def test_rows_that_cant_be_read_are_looked_at_for_a_while_only(tmp_path: Path) -> None:
    bad = "https://a.example/,x,too,many\n" * (
        conventions.MAX_CHARACTERS // conventions.PROBLEM_CHARACTERS + 1
    )
    found = table(tmp_path, f"url,created\n{bad}https://a.example/,31/01/2026\n")
    assert not date_orders(found, {"datetime": "created"}).possible


@pytest.mark.parametrize("bound", ["MAX_ROWS", "MAX_CHARACTERS"])
def test_only_so_much_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    rows = "".join(f"https://a.example/,{date}\n" for date in ["01/02/2026"] * 100 + ["31/01/2026"])
    found = table(tmp_path, f"url,created\n{rows}")
    columns = {"datetime": "created"}
    assert date_orders(found, columns).order == "day"
    monkeypatch.setattr(conventions, bound, 50)
    assert date_orders(found, columns).is_open
