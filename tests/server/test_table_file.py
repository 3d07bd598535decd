"""Tables of any origin, byte by byte: what is read, what is refused, and what an edited cell leaves alone."""

from __future__ import annotations

import codecs
import csv
import io
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.table_file import LONGEST_CELL, MOST_BYTES, Source, Unreadable, decoded, read_table, records

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"), max_size=8)
DIALECTS = {
    "utf-8": b"", "utf-8 ": codecs.BOM_UTF8, "utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE,
}  # fmt: skip
HOSTILE = {
    "a huge cell": ("email,name\na@b.c," + "x" * (LONGEST_CELL + 1), "long_cell"),
    "empty lines": ("email\n" + "\n" * 800_000, "too_long"),
    "many cells": ("email\n" + ("," * 899 + "\n") * 900, "too_long"),
    "a million columns": ("email" + "," * 800_000, "too_wide"),
    "a million quotation marks": ('"' * 800_001, "quotation"),
    "quotation marks in pairs": ("email," + '"a""' * 200_000, "quotation"),
    "open quotation marks": ("email\n" + '"x,\n' * 100_001, "quotation"),
    "too many bytes": ("x" * (MOST_BYTES + 1), "too_large"),
    "delimiters of all kinds": ("email" + ",;\t" * 250_000, "too_wide"),
    "a NUL": ("email\0,name", "not_text"),
    "nothing": ("\r\n\n\r  \n", "empty"),
}


def quoted(text: str, delimiter: str, *, always: bool) -> str:
    needed = any(mark in text for mark in f'"\r\n{delimiter}')
    return '"' + text.replace('"', '""') + '"' if needed or always else text


@given(
    st.data(), st.sampled_from([*DIALECTS]), st.sampled_from([",", ";", "\t"]), st.sampled_from(["\n", "\r\n", "\r"])
)
def test_a_cell_is_replaced_and_every_other_byte_stays(
    data: st.DataObject, encoding: str, delimiter: str, end: str
) -> None:
    width = data.draw(st.integers(1, 4))
    table = data.draw(st.lists(st.lists(TEXTS, min_size=width, max_size=width), min_size=1, max_size=5))
    marks = [[data.draw(st.booleans()) for _ in row] for row in table]
    at, column = data.draw(st.integers(0, len(table) - 1)), data.draw(st.integers(0, width - 1))

    def written(cell: str) -> bytes:
        texts = [
            [quoted(one, delimiter, always=mark) for one, mark in zip(*pair, strict=True)]
            for pair in zip(table, marks, strict=True)
        ]
        texts[at][column] = cell
        return DIALECTS[encoding] + end.join(map(delimiter.join, texts)).encode(encoding.strip())

    content = written(quoted(table[at][column], delimiter, always=marks[at][column]))
    source = decoded(content)
    rows = [[cell.value for cell in record.cells] for record in records(source.text, delimiter)]
    assert rows == table[: len(rows)]
    assert not any(map(any, table[len(rows) :])), "only an empty line at the end is no row"
    if at < len(rows):
        cell = [*records(source.text, delimiter)][at].cells[column]
        text = source.text[: cell.start] + "7.5" + source.text[cell.end :]
        assert source.encoded(text) == written("7.5")


@given(st.text(st.sampled_from('ab",;\t\r\n '), max_size=30))
def test_rows_are_those_of_the_csv_module(text: str) -> None:
    try:
        expected = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if any(map(str.strip, row))]
    except csv.Error:
        with pytest.raises(Unreadable):
            list(records(text, ","))
        return
    found = [[cell.value for cell in record.cells] for record in records(text, ",")]
    assert [row for row in found if any(map(str.strip, row))] == expected


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_at_once(name: str) -> None:
    text, code = HOSTILE[name]
    began = time.process_time()
    with pytest.raises(Unreadable) as refused:
        list(read_table(decoded(text.encode()).text, {"email"}).rows())
    assert refused.value.code == code
    assert time.process_time() - began < 2


def test_a_text_without_a_file_is_utf_8() -> None:
    assert Source("é").encoded("ü") == b"\xc3\xbc"
    assert decoded("é".encode("cp1252")).encoding == "cp1252"
