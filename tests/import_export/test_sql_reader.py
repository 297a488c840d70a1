"""SQL dumps of YOURLS, as mysqldump and phpMyAdmin write them, whole and damaged."""

from __future__ import annotations

import io

import pytest

from app.import_export.readers import reader, sql
from app.import_export.readers.csv import MAX_LINE

CREATE = """CREATE TABLE `yourls_url` (
  `keyword` varchar(100) COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  `url` text COLLATE utf8mb4_bin NOT NULL,
  `title` text,
  `timestamp` timestamp NOT NULL DEFAULT current_timestamp(),
  `ip` varchar(41) NOT NULL,
  `clicks` int(10) unsigned NOT NULL,
  PRIMARY KEY (`keyword`),
  KEY `ip` (`ip`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
"""
LOG = "INSERT INTO `yourls_log` VALUES (1,'2024-01-02 03:04:05','foo','direct','agent INSERT INTO `yourls_url`','127.0.0.1','DE');\n"
ROW = "('foo','https://example.com/','Foo','2024-01-02 03:04:05','127.0.0.1',7)"
FOO = {
    "keyword": "foo",
    "url": "https://example.com/",
    "title": "Foo",
    "timestamp": "2024-01-02 03:04:05",
    "ip": "127.0.0.1",
    "clicks": "7",
}


def read(text: str) -> list[reader.Element]:
    return list(sql.elements(io.StringIO(text)))


def values(text: str) -> list[dict[str, str | None]]:
    found = read(text)
    assert [one.problem for one in found] == [""] * len(found)
    return [dict(one.value or {}) for one in found]


DUMPS = {
    "mysqldump": f"-- MySQL dump 10.13\n/*!40101 SET NAMES utf8 */;\n{LOG}{CREATE}LOCK TABLES `yourls_url` WRITE;\nINSERT INTO `yourls_url` VALUES {ROW};\nUNLOCK TABLES;\n",
    "MariaDB's, which breaks the line": f"{CREATE}INSERT INTO `yourls_url` VALUES\n{ROW};\n",
    "phpMyAdmin": f"{LOG}INSERT INTO `yourls_url` (`keyword`, `url`, `title`, `timestamp`, `ip`, `clicks`) VALUES\n{ROW};\n",
    "another prefix and order": "INSERT INTO `x_url` (`url`, `keyword`, `title`, `timestamp`, `ip`, `clicks`) VALUES ('https://example.com/','foo','Foo','2024-01-02 03:04:05','127.0.0.1',7);",
    "neither a table nor columns are named": f"INSERT INTO yourls_url VALUES {ROW};",
    "of a database": f"INSERT IGNORE INTO `db`.`yourls_url` VALUES {ROW};",
    "in capitals and not": f"insert into `yourls_url` values {ROW};",
    "hexadecimal": f"INSERT INTO `yourls_url` VALUES {ROW.replace(chr(39) + 'https://example.com/' + chr(39), '0x68747470733A2F2F6578616D706C652E636F6D2F')};",
    "with an introducer": f"INSERT INTO `yourls_url` VALUES {ROW.replace(chr(39) + 'Foo', '_binary ' + chr(39) + 'Foo')};",
}


@pytest.mark.parametrize("text", DUMPS.values(), ids=DUMPS)
def test_every_program_writes_the_same(text: str) -> None:
    assert sql.is_dump(text)
    assert values(text) == [FOO]


def test_several_rows_and_statements_with_their_lines() -> None:
    text = f"{LOG}INSERT INTO `yourls_url` VALUES {ROW},\n{ROW},{ROW};\n{LOG}INSERT INTO `yourls_url` VALUES {ROW};\n"
    assert [(one.line, one.value and one.value["keyword"]) for one in read(text)] == [
        (2, "foo"), (3, "foo"), (3, "foo"), (5, "foo"),
    ]  # fmt: skip


TEXTS = {
    "a quote with a backslash": (r"'it\'s'", "it's"),
    "a doubled quote": ("'it''s'", "it's"),
    "a backslash": (r"'a\\'", "a\\"),
    "breaks": (r"'a\nb\tc'", "a\nb\tc"),
    "a bracket and a comma": ("'a),(b'", "a),(b"),
    "a statement": ("'; INSERT INTO `yourls_url` VALUES (1);'", "; INSERT INTO `yourls_url` VALUES (1);"),
    "a mask of LIKE": (r"'100\%'", r"100\%"),
    "nothing": ("''", ""),
    "NULL": ("NULL", None),
    "the text NULL": ("'NULL'", "NULL"),
    "letters of every script": ("'«ü字»'", "«ü字»"),
}


@pytest.mark.parametrize(("literal", "text"), TEXTS.values(), ids=TEXTS)
def test_literals(literal: str, text: str | None) -> None:
    row = ROW.replace("'Foo'", literal)
    assert [one["title"] for one in values(f"INSERT INTO `yourls_url` VALUES {row},{ROW};")] == [text, "Foo"]


DAMAGED = {
    "cut off": "INSERT INTO `yourls_url` VALUES ('a",
    "a function": "INSERT INTO `yourls_url` VALUES ('a',NOW());",
    "an open quote": "INSERT INTO `yourls_url` VALUES ('a,'b');",
    "no brackets": "INSERT INTO `yourls_url` VALUES 1;",
}


@pytest.mark.parametrize("statement", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_statement_says_so_and_the_next_is_read(statement: str) -> None:
    found = read(f"{statement}\nINSERT INTO `yourls_url` VALUES {ROW};\n")
    assert "can't be read" in found[0].problem
    assert found[-1].value == FOO or statement in {DAMAGED["cut off"], DAMAGED["an open quote"]}


def test_too_few_values_are_a_problem_of_their_row_alone() -> None:
    first, second = read(f"INSERT INTO `yourls_url` VALUES ('a','b'),{ROW};")
    assert (first.problem, second.value) == ("It has 2 values, but there are 6 columns.", FOO)


def test_what_a_row_and_a_file_may_cost() -> None:
    long = "x" * (MAX_LINE + 100_000)
    (found,) = read(f"INSERT INTO `yourls_url` VALUES ('{long}")
    assert "more than" in found.problem
    many = read("INSERT INTO `yourls_url` VALUES (NOW());\n" * 3_000)
    assert len(many) == reader.MAX_BROKEN + 1


OTHERS = {
    "of another program": "INSERT INTO `wp_posts` VALUES (1,'x');",
    "without a row": CREATE,
    "a table of this name with other columns": "CREATE TABLE `my_url` (\n  `id` int,\n  `path` text\n);\nINSERT INTO `my_url` VALUES (1,'x');",
    "nothing": "",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_no_links(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    "head", ["keyword,url\n", "url\nhttps://a.example/", "insert,into\n", "[", "created,x", ""]
)
def test_no_dump(head: str) -> None:
    assert not sql.is_dump(head)


def test_other_statements_are_passed_by() -> None:
    good = f"INSERT INTO `yourls_url` VALUES {ROW};\n"
    others = LOG * 150 + "CREATE TABLE `x` (\n`a` int\n);\n" * 150
    assert [one.value for one in read((others + good) * 3)] == [FOO] * 3
