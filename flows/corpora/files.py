"""Input files: which they are, what format their names say, and their bytes, decompressed."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from flows.corpora.errors import UnreadableInputError

COPY_BYTES = 1 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class RecordFormat(StrEnum):
    """How a file holds records."""

    JSONL = "jsonl"
    CSV = "csv"
    TSV = "tsv"
    PARQUET = "parquet"


FORMAT_OF_SUFFIX = {
    ".jsonl": RecordFormat.JSONL,
    ".ndjson": RecordFormat.JSONL,
    ".json": RecordFormat.JSONL,
    ".csv": RecordFormat.CSV,
    ".tsv": RecordFormat.TSV,
    ".parquet": RecordFormat.PARQUET,
    ".pq": RecordFormat.PARQUET,
}
COMPRESSION_OF_SUFFIX = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}


@dataclass(frozen=True)
class InputFile:
    """One file and how it is read."""

    path: Path
    record_format: RecordFormat
    compression: str | None

    @property
    def name(self) -> str:
        """Name without the folder: what the ledger keeps."""
        return self.path.name


@dataclass(frozen=True)
class InputFiles:
    """The files behind one path, in sorted order, and the names in its folder left unread."""

    files: tuple[InputFile, ...]
    skipped_names: tuple[str, ...] = ()


def compression_of(path: Path) -> str | None:
    """Return the codec that the last suffix of *path* names, if it names one."""
    return COMPRESSION_OF_SUFFIX.get(path.suffix.lower())


def bare_suffix(path: Path) -> str:
    """Return the suffix of *path* once a compression suffix is taken off, lower-case."""
    inner = path.with_suffix("") if compression_of(path) else path
    return inner.suffix.lower()


def require_input(path: Path) -> None:
    """Refuse a *path* at which nothing lies.

    Raises
    ------
    UnreadableInputError
        The sentence names it.
    """
    if not path.exists():
        raise UnreadableInputError(
            f"an input file or folder must exist, found none at {path}; a Hugging Face data set is "
            "written hf:owner/name."
        )


def find_files(path: Path, record_format: str | None = None) -> InputFiles:
    """Return the record files at *path*: itself, or those directly in that folder.

    Parameters
    ----------
    path : Path
        A file, or a folder whose files are read in the order of their names.
    record_format : str, optional
        Read every file so, whatever its name.

    Raises
    ------
    UnreadableInputError
        Nothing is there, or nothing whose format is known.
    """
    given = _given_format(record_format)
    if path.is_dir():
        inside = sorted(
            child for child in path.iterdir() if child.is_file() and not child.name.startswith(".")
        )
        files = [_described(child, given) for child in inside]
        skipped = [child.name for child, file in zip(inside, files, strict=True) if file is None]
        kept = tuple(file for file in files if file is not None)
        if not kept:
            raise UnreadableInputError(
                f"a folder must hold files ending in {_known_suffixes()}, "
                f"found {', '.join(skipped[:5]) or 'no file'} in {path}."
            )
        return InputFiles(kept, tuple(skipped))
    require_input(path)
    file = _described(path, given)
    if file is None:
        raise UnreadableInputError(
            f"an input file must end in {_known_suffixes()} (and .gz or .zst), got {path}; "
            "rename it or say what it is with --format."
        )
    return InputFiles((file,))


def content_sha256(paths: Sequence[Path], progress: Callable[[int], None] | None = None) -> str:
    """Return the SHA-256 of the bytes of one file, or of the digests of several in order."""
    digests = []
    for path in paths:
        digest = hashlib.sha256()
        with reading(path), path.open("rb", buffering=0) as stream:
            while block := stream.read(COPY_BYTES):
                digest.update(block)
                if progress is not None:
                    progress(len(block))
        digests.append(digest.hexdigest())
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


class ByteSource:
    """The decompressed bytes of a file, and how many bytes of the file were read for them."""

    def __init__(self, path: Path, compression: str | None) -> None:
        self._raw = pa.OSFile(str(path), "rb")
        self._stream: Any = (
            pa.CompressedInputStream(self._raw, compression) if compression else self._raw
        )

    def read(self, size: int) -> bytes:
        """Return up to *size* bytes, none at the end."""
        block: bytes = self._stream.read(size)
        return block

    def position(self) -> int:
        """Return the bytes of the file itself read so far."""
        return int(self._raw.tell())

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        self._raw.close()


@contextlib.contextmanager
def open_bytes(path: Path) -> Iterator[ByteSource]:
    """Open *path* for streaming, decompressed as its suffix says.

    Raises
    ------
    UnreadableInputError
        The file cannot be opened, is cut off, or is not compressed as its name says.
    """
    with reading(path):
        source = ByteSource(path, compression_of(path))
        try:
            yield source
        finally:
            source.close()


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn the system's and the codecs' faults on *path* into sentences."""
    try:
        yield
    except FileNotFoundError:
        raise UnreadableInputError(f"an input file must exist, found none at {path}.") from None
    except PermissionError:
        raise UnreadableInputError(
            f"an input file must be readable, and {path} may not be read; change its permissions."
        ) from None
    except (OSError, pa.ArrowException) as error:
        message = " ".join(str(error).split())
        if "Truncated compressed stream" in message:
            raise UnreadableInputError(
                f"a compressed file must be whole, and {path} ends in the middle of its stream; "
                "copy or download it again."
            ) from None
        raise UnreadableInputError(
            f"{path} must be readable as its name says: {message}."
        ) from None


@contextlib.contextmanager
def open_seekable(path: Path) -> Iterator[IO[bytes] | Path]:
    """Give *path* itself, or where it is compressed a temporary file of its bytes on disk."""
    if compression_of(path) is None:
        yield path
        return
    with open_bytes(path) as source, tempfile.TemporaryFile() as copy:
        while block := source.read(COPY_BYTES):
            copy.write(block)
        copy.seek(0)
        yield copy


def _given_format(record_format: str | None) -> RecordFormat | None:
    if record_format is None:
        return None
    try:
        return RecordFormat(record_format.lower())
    except ValueError:
        known = ", ".join(RecordFormat)
        raise UnreadableInputError(
            f"the format must be one of {known}, got {record_format!r}."
        ) from None


def _described(path: Path, given: RecordFormat | None) -> InputFile | None:
    record_format = given or FORMAT_OF_SUFFIX.get(bare_suffix(path))
    return None if record_format is None else InputFile(path, record_format, compression_of(path))


def _known_suffixes() -> str:
    return ", ".join(FORMAT_OF_SUFFIX)
