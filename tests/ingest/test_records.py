from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.corpora import records
from flows.corpora.errors import InvalidRecordError, MissingColumnError, UnreadableInputError
from flows.corpora.files import content_sha256, find_files
from flows.corpora.records import column_names, read_records
from udfs.errors import CalibraryError


def read(path: Path, **options: str) -> list[tuple[int, dict[str, object]]]:
    """Line number and record of everything in *path*."""
    return [
        (number, dict(record))
        for file in find_files(path).files
        for batch in read_records(file, **options)  # type: ignore[arg-type]
        for number, record in zip(batch.line_numbers, batch.records, strict=True)
    ]


def zstd(data: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(data, asbytes=True))


@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".zst", zstd)])
def test_jsonl_gives_every_record_with_its_line(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(pack(b'{"a": 1}\n\n  \r\n{"a": "\xc3\xa9"}\r\n{"b": null}'))
    assert read(path) == [(1, {"a": 1}), (4, {"a": "é"}), (5, {"b": None})]


@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".zst", zstd)])
def test_csv_rows_keep_the_line_they_start_on_across_quoted_newlines(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"a.csv{suffix}"
    path.write_bytes(pack(b'a,b\r\n"x\ny, ""z""",1\n\n2,3\n'))
    assert read(path) == [(2, {"a": 'x\ny, "z"', "b": "1"}), (5, {"a": "2", "b": "3"})]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_parquet_counts_rows_and_reads_only_the_wanted_columns(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.parquet{suffix}"
    plain = tmp_path / "plain"
    pq.write_table(pa.table({"a": ["x", None], "b": [1, 2], "c": [[1.0], [2.0]]}), plain)
    path.write_bytes(gzip.compress(plain.read_bytes()) if suffix else plain.read_bytes())
    file = find_files(path).files[0]
    assert column_names(file) == ["a", "b", "c"]
    batches = list(read_records(file, columns=["b", "a", "absent"]))
    assert [list(batch.line_numbers) for batch in batches] == [[1, 2]]
    assert batches[0].records == [{"b": 1, "a": "x"}, {"b": 2, "a": None}]


def test_tab_and_given_delimiters_are_used(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a\tb\n1,5\t2\n")
    (tmp_path / "b.csv").write_text("a;b\n1,5;2\n")
    (tmp_path / "c.csv").write_text("a\tb\n1,5\t2\n")
    expected = [(2, {"a": "1,5", "b": "2"})]
    assert read(tmp_path / "a.tsv") == expected
    assert read(tmp_path / "b.csv", delimiter=";") == expected
    assert read(tmp_path / "c.csv", delimiter="\\t") == expected


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfa,b\n1,2\n")
    (tmp_path / "b.jsonl").write_bytes(b'\xef\xbb\xbf{"a": 1}\n')
    assert read(tmp_path) == [(2, {"a": "1", "b": "2"}), (1, {"a": 1})]


def test_a_folder_is_its_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", ".hidden.jsonl"):
        (tmp_path / name).write_text(f'{{"name": "{name}"}}\n')
    (tmp_path / "README.md").write_text("about")
    (tmp_path / "inner").mkdir()
    assert read(tmp_path) == [(1, {"name": "a.jsonl"}), (1, {"name": "b.jsonl"})]
    assert find_files(tmp_path).skipped_names == ("README.md",)


@pytest.mark.parametrize("cut", [1, 2, 3, 5, 7, 64])
def test_lines_do_not_depend_on_where_blocks_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    path = tmp_path / "a.jsonl"
    lines = [{"n": n, "text": "x" * (n % 7)} for n in range(30)]
    path.write_bytes(b"\n".join(orjson.dumps(line) for line in lines))
    monkeypatch.setattr(records, "BLOCK_BYTES", cut)
    assert read(path) == list(enumerate(lines, 1))


def test_the_bytes_of_the_batches_are_the_bytes_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 500_000))
    batches = list(read_records(find_files(path).files[0]))
    assert sum(batch.byte_count for batch in batches) == path.stat().st_size
    assert sum(len(batch.records) for batch in batches) == 500_000
    assert max(len(batch.records) for batch in batches) <= records.BATCH_RECORDS


def test_reading_takes_memory_for_a_block_and_not_for_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "BLOCK_BYTES", 1 << 18)
    path = tmp_path / "a.jsonl"
    line = orjson.dumps({"text": "x" * 1000}) + b"\n"
    path.write_bytes(line * 20_000)
    tracemalloc.start()
    count = sum(len(batch.records) for batch in read_records(find_files(path).files[0]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 20_000
    assert peak < 5e6 < path.stat().st_size / 4


BAD_FILES: dict[str, tuple[str, bytes, type[CalibraryError], str]] = {
    "invalid UTF-8 in JSON": (
        "a.jsonl",
        b'{"a": 1}\n{"a": "\xff"}\n',
        InvalidRecordError,
        "UTF-8, line 2 of {path} has byte 0xff at position 8",
    ),
    "invalid UTF-8 in CSV": (
        "a.csv",
        b"a,b\n1,2\n\xe9,3\n",
        InvalidRecordError,
        "UTF-8, line 3 of {path} has byte 0xe9 at position 1",
    ),
    "UTF-16": ("a.csv", "a,b\n1,2\n".encode("utf-16"), InvalidRecordError, "line 1 of {path}"),
    "invalid JSON": (
        "a.jsonl",
        b'{"a": 1}\n\n{"a": 1\n',
        InvalidRecordError,
        "line 3 of {path} is not JSON",
    ),
    "NaN in JSON": ("a.jsonl", b'{"a": NaN}\n', InvalidRecordError, "line 1 of {path} is not JSON"),
    "a JSON array": (
        "a.jsonl",
        b'{"a": 1}\n[1]\n',
        InvalidRecordError,
        "line 2 of {path} is an array",
    ),
    "a JSON string": ("a.jsonl", b'"x"\n', InvalidRecordError, "line 1 of {path} is a string"),
    "a NUL byte in JSON": (
        "a.jsonl",
        b'{"a": "x\0y"}\n',
        InvalidRecordError,
        "NUL byte, line 1 of {path}",
    ),
    "a NUL byte in CSV": (
        "a.csv",
        b"a\nx\ny\0z\n",
        InvalidRecordError,
        "NUL byte, line 3 of {path}",
    ),
    "a short CSV row": (
        "a.csv",
        b'a,b\n"1\n1",2\n3\n',
        InvalidRecordError,
        "2 fields of the header, the row on line 4 of {path} has 1",
    ),
    "an open quote": (
        "a.csv",
        b'a,b\n1,2\n3,"4\n5,6\n',
        InvalidRecordError,
        "the row on line 3 of {path} is not",
    ),
    "a column twice": ("a.csv", b"a,b,a\n1,2,3\n", MissingColumnError, "'a' twice in the header"),
    "an empty JSONL file": ("a.jsonl", b"", UnreadableInputError, "found none in {path}"),
    "blank lines only": ("a.jsonl", b"\n \n", UnreadableInputError, "found none in {path}"),
    "an empty CSV file": ("a.csv", b"", UnreadableInputError, "found none in {path}"),
    "a header only": ("a.csv", b"a,b\n", UnreadableInputError, "found none in {path}"),
    "a cut gz": (
        "a.jsonl.gz",
        gzip.compress(bytes(range(256)) * 900)[:-40],
        UnreadableInputError,
        "{path} ends in the middle of its stream",
    ),
    "a cut zst": (
        "a.jsonl.zst",
        zstd(bytes(range(256)) * 900)[:-40],
        UnreadableInputError,
        "{path} ends in the middle of its stream",
    ),
    "no gz": ("a.jsonl.gz", b'{"a": 1}\n', UnreadableInputError, "{path} must be readable as"),
    "no zst": ("a.jsonl.zst", b'{"a": 1}\n', UnreadableInputError, "{path} must be readable as"),
    "no Parquet": ("a.parquet", b"a,b\n1,2\n", UnreadableInputError, "{path} is none"),
    "an empty Parquet file": ("a.parquet", b"", UnreadableInputError, "{path} is none"),
    "an unknown ending": ("a.xlsx", b"x", UnreadableInputError, "got {path}; rename it or"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_is_refused_with_its_place(tmp_path: Path, case: str) -> None:
    name, data, error, sentence = BAD_FILES[case]
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(error) as raised:
        read(path)
    assert sentence.format(path=path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_parquet_file_without_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": pa.array([], pa.string())}), path)
    with pytest.raises(UnreadableInputError, match="found none in"):
        read(path)


def test_an_absent_path_and_a_folder_of_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match=r"must exist, found none at .*absent\.csv"):
        find_files(tmp_path / "absent.csv")
    with pytest.raises(UnreadableInputError, match="found no file in"):
        find_files(tmp_path)


def test_a_file_without_line_ends_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(records, "LONGEST_LINE_BYTES", 5000)
    (tmp_path / "a.jsonl").write_bytes(b'{"a": 1}\n{"a": "' + b"x" * 9000)
    with pytest.raises(InvalidRecordError, match="at most 5,000 bytes, line 2 of"):
        read(tmp_path / "a.jsonl")


def test_a_known_column_that_comes_too_late_to_be_read_is_refused(tmp_path: Path) -> None:
    lines = [b'{"text": "x"}'] * 1_000 + [b'{"text": "y", "note": 1}', b'{"text": "z", "Seed": 1}']
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(InvalidRecordError, match="'Seed' comes first on line 1002 of"):
        read(path)
    path.write_bytes(b"\n".join([b'{"text": "x", "Seed": null}', *lines]))
    assert len(read(path)) == 1_003


def test_a_wrong_delimiter_and_an_unknown_format_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UnreadableInputError, match=r"one character .* got 'xx'"):
        read(tmp_path / "a.csv", delimiter="xx")
    with pytest.raises(UnreadableInputError, match="one of jsonl, csv, tsv, parquet, got 'xml'"):
        find_files(tmp_path / "a.csv", "xml")


def test_content_is_known_by_its_bytes_and_not_by_its_name(tmp_path: Path) -> None:
    for name, data in (("a", b"one"), ("b", b"one"), ("c", b"two")):
        (tmp_path / name).write_bytes(data)
    a, b, c = (tmp_path / name for name in "abc")
    assert content_sha256([a]) == content_sha256([b]) != content_sha256([c])
    assert content_sha256([a, c]) != content_sha256([c, a])
