"""Ingest: every click of the journal is counted exactly once, and finished segments are removed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.analytics import counters, offsets, rows
from app.analytics import ingest as module
from app.analytics.ingest import Ingest
from app.analytics.interning import digest_text
from app.analytics.lag import JournalLag
from app.analytics.models import Click
from app.analytics.offsets import Moved
from app.core.config import Settings
from app.core.file_locks import lock_file
from app.journal import reader as journal_reader
from app.journal import segments
from app.journal.codec import Visit, encode
from app.journal.writer import Journal
from tests.analytics.conftest import Tables, take_in

pytestmark = pytest.mark.databases
OTHER = "1795000000000000000-00112233aabbccdd"


def test_counters_and_rows(ingest: Ingest, tables: Tables, visit: Callable[..., None]) -> None:
    assert not ingest.step(), "there is nothing to do"
    visit(7, 8, 7)
    assert ingest.step()
    assert not ingest.step()
    assert tables.counters() == {7: 2, 8: 1}
    assert tables.rows() == [(1, 7), (2, 8), (3, 7)]
    visit(7, 9)
    take_in(ingest)
    assert tables.counters() == {7: 3, 8: 1, 9: 1}
    assert tables.rows() == [(1, 7), (2, 8), (3, 7), (4, 7), (5, 9)]


def test_bots_are_rows_but_do_not_count(ingest: Ingest, tables: Tables, visit: Callable[..., None]) -> None:
    visit(7, is_bot=1, bot_name="Googlebot")
    visit(7)
    take_in(ingest)
    assert tables.counters() == {7: 1}
    [bot, person] = tables.all(Click, "is_bot", "bot_name_id")
    assert (bot[0], tables.terms()[bot[1]]) == (True, "Googlebot")
    assert person == (False, None)


def test_a_row_holds_all_that_was_known(ingest: Ingest, tables: Tables, journal: Journal) -> None:
    known = Visit(1, 2, 3, 0, *(f"{number:02}" for number in range(len(Visit._fields) - 4)))
    journal.append(encode(known))
    journal.append(encode(Visit(4, 5, 6, 1)))
    take_in(ingest)
    terms = tables.terms()
    first, second = tables.all(Click, *rows.COLUMNS)
    assert first[:5] == (1, 2, 3, False, known.visitor)
    assert [terms[each] for each in first[5:]] == [getattr(known, name) for name in rows.TEXTS]
    assert second == (4, 5, 6, True, None, *[None] * len(rows.TEXTS))


def test_a_text_is_kept_once(
    make_ingest: Callable[[], Ingest], tables: Tables, visit: Callable[..., None]
) -> None:
    long = "https://example.com/" + "🌷" * 2000
    for _ in range(2):
        visit(1, 2, agent="Mozilla", city_name="Mozilla", destination=long)
        take_in(make_ingest())
    assert sorted(tables.terms().values()) == sorted(["Mozilla", "desktop", long])
    assert len({tuple(row) for row in tables.all(Click, "agent_id", "city_name_id", "destination_id")}) == 1


def test_a_segment_in_use_stays_and_a_finished_one_goes(
    ingest: Ingest, tables: Tables, visit: Callable[..., None], journal: Journal, directory: Path
) -> None:
    visit(7)
    take_in(ingest)
    [name] = segments.list_segments(directory)
    size = (directory / name).stat().st_size
    assert tables.positions() == {name: (size, size)}
    journal.close()
    take_in(ingest)
    assert segments.list_segments(directory) == []
    assert tables.positions() == {}
    assert tables.counters() == {7: 1}


def test_an_empty_segment_of_a_dead_writer_goes(ingest: Ingest, directory: Path) -> None:
    os.close(segments.create(directory))
    take_in(ingest)
    assert segments.list_segments(directory) == []


def test_a_torn_last_line_is_left_out_once_its_writer_is_gone(
    ingest: Ingest, tables: Tables, directory: Path, journal: Journal, visit: Callable[..., None]
) -> None:
    visit(7)
    [name] = segments.list_segments(directory)
    torn = encode(Visit(9, 9, 1, 0))[:-5]
    os.write(journal._fd, torn)
    take_in(ingest)
    whole = (directory / name).stat().st_size - len(torn)
    # the leading line feed may be ingested, the line may not
    assert tables.positions() == {name: (whole + 1, whole + 1)}
    journal.close()
    take_in(ingest)
    assert segments.list_segments(directory) == []
    assert (tables.counters(), tables.damaged()) == ({7: 1}, 0)


def test_a_damaged_line_is_left_out_and_reported(
    ingest: Ingest,
    tables: Tables,
    journal: Journal,
    visit: Callable[..., None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    visit(7)
    os.write(journal._fd, encode(Visit(9, 9, 1, 0))[:20])  # as a disk that fills up leaves it
    visit(8)
    take_in(ingest)
    assert tables.counters() == {7: 1, 8: 1}
    assert [link_id for _time, link_id in tables.rows()] == [7, 8]
    assert tables.damaged() == 1
    assert "1 damaged lines" in caplog.text
    os.write(journal._fd, b"\nnot a line\n\nnor this\n")
    take_in(ingest)
    assert tables.damaged() == 3


def test_a_line_that_was_written_again_is_not_damaged(
    ingest: Ingest, tables: Tables, journal: Journal, visit: Callable[..., None]
) -> None:
    """Simulates a disk that fills up: a part of a line, another thread's line, and the whole one."""
    visit(7)
    line = encode(Visit(time.time_ns() // 1_000_000, 9, 1, 0))
    os.write(journal._fd, line[:30])
    visit(8)
    os.write(journal._fd, line)
    take_in(ingest)
    assert tables.counters() == {7: 1, 8: 1, 9: 1}
    assert sorted(link_id for _time, link_id in tables.rows()) == [7, 8, 9]
    assert tables.damaged() == 0


def test_an_unknown_version_is_left_alone_and_shown(
    ingest: Ingest, tables: Tables, directory: Path, visit: Callable[..., None]
) -> None:
    (directory / f"{OTHER}.v2").write_bytes(encode(Visit(9, 9, 1, 0)))
    visit(7)
    take_in(ingest)
    assert tables.counters() == {7: 1}
    assert ingest.status().unknown == (f"{OTHER}.v2",)
    assert (directory / f"{OTHER}.v2").exists()


def test_a_position_beyond_a_file_that_a_power_cut_shortened(
    ingest: Ingest, tables: Tables, directory: Path, journal: Journal, visit: Callable[..., None]
) -> None:
    visit(7, 7)
    assert ingest.step()
    [name] = segments.list_segments(directory)
    os.truncate(directory / name, 30)
    journal.close()
    take_in(ingest)
    assert tables.counters() == {7: 2}
    assert segments.list_segments(directory) == []


def test_a_backup_keeps_every_segment(
    ingest: Ingest, tables: Tables, directory: Path, journal: Journal, visit: Callable[..., None]
) -> None:
    visit(7)
    journal.close()
    with lock_file(directory / "keep.lock") as is_ours:
        assert is_ours
        take_in(ingest)
        assert tables.counters() == {7: 1}
        assert len(segments.list_segments(directory)) == len(tables.positions()) == 1
    take_in(ingest)
    assert segments.list_segments(directory) == []


def test_no_segment_goes_before_a_whole_checkpoint(
    ingest: Ingest,
    directory: Path,
    journal: Journal,
    visit: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    visit(7)
    journal.close()
    monkeypatch.setattr(module, "checkpoint_wal", lambda _engine: False)
    take_in(ingest)
    assert len(segments.list_segments(directory)) == 1
    monkeypatch.undo()
    take_in(ingest)
    assert segments.list_segments(directory) == []


def test_positions_go_after_their_files_for_good(
    ingest: Ingest,
    directory: Path,
    journal: Journal,
    visit: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []
    unlink, sync, forget = Path.unlink, module.sync_directory, module.remove_offsets
    monkeypatch.setattr(Path, "unlink", lambda *a, **k: (done.append("unlink"), unlink(*a, **k)))
    monkeypatch.setattr(module, "sync_directory", lambda *a: (done.append("sync"), sync(*a)))
    monkeypatch.setattr(module, "remove_offsets", lambda *a: (done.append("forget"), forget(*a)))
    visit(7)
    journal.close()
    take_in(ingest)
    assert done[-3:] == ["unlink", "sync", "forget"]


def test_another_machines_positions_stay(
    ingest: Ingest, tables: Tables, directory: Path, journal: Journal, visit: Callable[..., None]
) -> None:
    with ingest._engine.begin() as connection:
        (directory / f"{OTHER}.v1").touch()
        offsets.begin_at_zero(connection, directory, f"{OTHER}.v1")
        (directory / f"{OTHER}.v1").unlink()
    visit(7)
    journal.close()
    take_in(ingest)
    assert tables.positions() == {f"{OTHER}.v1": (0, 0)}


def test_many_segments_and_transactions(
    ingest: Ingest, tables: Tables, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "COUNTER_BYTES", 9_000)
    monkeypatch.setattr(module, "ROW_BYTES", 4_000)
    journal = Journal(directory, segment_bytes=10_000)
    for number in range(1000):
        journal.append(encode(Visit(number, number % 7, 1, 0, agent=f"agent {number % 50}")))
    journal.close()
    assert len(segments.list_segments(directory)) > 3
    take_in(ingest)
    assert tables.counters() == {link_id: len(range(link_id, 1000, 7)) for link_id in range(7)}
    assert tables.rows() == [(number, number % 7) for number in range(1000)]
    assert segments.list_segments(directory) == []


def test_counters_do_not_wait_for_rows(
    ingest: Ingest, tables: Tables, visit: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROW_BYTES", 500)
    visit(*[7] * 100)
    assert ingest.step()
    assert tables.counters() == {7: 100}
    assert 0 < len(tables.rows()) < 100
    state = ingest.status()
    assert state.counters == JournalLag(0, 0.0)
    assert state.rows.waiting_bytes > 0


def test_the_slower_of_two_is_turned_away(
    make_ingest: Callable[[], Ingest],
    tables: Tables,
    visit: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow, quick = make_ingest(), make_ingest()
    for _ in range(2):  # the first round creates the offsets, the second moves them
        visit(7, 8)
        with monkeypatch.context() as patched:
            read = slow._uncounted

            def overtaken(*arguments: object, read: Callable[..., object] = read) -> object:
                chunks = list(read(*arguments))  # type: ignore[call-overload]
                take_in(quick)
                return chunks

            patched.setattr(slow, "_uncounted", overtaken)
            assert not slow.step()
    assert tables.counters() == {7: 2, 8: 2}
    assert len(tables.rows()) == 4


def test_a_slow_one_never_takes_in_what_was_removed(
    make_ingest: Callable[[], Ingest],
    tables: Tables,
    directory: Path,
    journal: Journal,
    visit: Callable[..., None],
) -> None:
    slow, quick = make_ingest(), make_ingest()
    visit(7)
    journal.close()
    [name] = segments.list_segments(directory)
    chunk = journal_reader.read(directory, name, 0, 1 << 20)
    assert chunk
    take_in(quick)
    assert tables.positions() == {}
    with pytest.raises(Moved), slow._engine.begin() as connection:
        counters.count_chunks(connection, directory, [chunk])
    assert tables.counters() == {7: 1}
    assert tables.positions() == {}


def test_rows_are_compared_and_swapped_too(
    ingest: Ingest, tables: Tables, visit: Callable[..., None]
) -> None:
    visit(7)
    take_in(ingest)
    [(name, (end, _))] = tables.positions().items()
    with pytest.raises(Moved):
        ingest._append_chunk(
            journal_reader.Chunk(name, 0, end, [encode(Visit(1, 7, 1, 0)).strip(b"\n")], is_last=False)
        )
    assert len(tables.rows()) == 1


def test_terms_of_a_transaction_that_failed_are_not_remembered(
    ingest: Ingest, tables: Tables, visit: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    visit(7, city_name="Köln")

    def fail(*_arguments: object) -> None:
        raise OSError("the connection is gone")

    with monkeypatch.context() as patched:
        patched.setattr(rows, "numbers_of", fail)
        ingest.step()
    assert tables.terms() == {}
    ingest.errors.forget()
    take_in(ingest)
    [(city_id,)] = tables.all(Click, "city_name_id")
    assert tables.terms() == {city_id: "Köln"}
    assert tables.counters() == {7: 1}


def test_the_store_of_terms_is_bounded(
    ingest: Ingest, tables: Tables, visit: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.analytics.interning.MAX_TEXTS", 4)
    for number in range(12):
        visit(7, city_name=f"city {number % 6}")
        take_in(ingest)
    assert len(ingest._terms._known) <= 4
    assert len(tables.terms()) == 6


def test_digests_fit_the_column() -> None:
    assert {-(2**63) <= digest_text(str(number)) < 2**63 for number in range(1000)} == {True}


def test_what_owners_read_is_what_was_counted(
    ingest: Ingest, visit: Callable[..., None], settings: Settings, session: object
) -> None:
    from app.analytics.models import Counter
    from app.core.extensions import db

    visit(7, 7)
    take_in(ingest)
    assert db.session.get(Counter, 7).clicks == 2
    found = offsets.positions_in(db.session())
    assert [each.counters == each.rows > 0 for each in found.values()] == [True]
