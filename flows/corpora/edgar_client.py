"""Pages of EDGAR: fetched once, at a fair rate, and kept on disk.

Rate limit, identity and hosts are those of `edgartools`. Its cache on disk is not used: where a
connection breaks within a page, that cache keeps the half of it for ever.
"""

from __future__ import annotations

import functools
import gzip
import importlib.util
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows.corpora.errors import EdgarError
from flows.corpora.filing_text import LARGEST_FILING_BYTES

ATTEMPTS = 4
"""Of one page. Waiting doubles in between: with 5 seconds before the second, 35 in all."""

LONGEST_WAIT_SECONDS = 600.0
"""How long EDGAR blocks who asked too often; no answer of it makes a program wait longer."""

TIMEOUT_SECONDS = 30.0
"""Of silence, until an attempt has failed."""

BUSY_STATUSES = frozenset({429, 500, 502, 503, 504})
"""With these, asking again may help; with others the question is at fault."""

_IDENTITY = re.compile(r"[!-~][ -~]* [!-~]+@[!-~]+\.[!-~]+")
_END_OF_DOCUMENT = b"</DOCUMENT>"


@dataclass(frozen=True)
class EdgarAccess:
    """How EDGAR is asked and where its answers are kept: nothing of it changes a number.

    Attributes
    ----------
    folder : Path
        Of the pages kept.
    identity : str or None
        Name and e-mail address, sent with every request.
    requests_per_second : int
        At most 10, which is what EDGAR allows.
    retry_seconds : float
        Waited before the second attempt, twice that before the third, and so on.
    listing_hours : float
        How long a list of filings counts as current.
    """

    folder: Path
    identity: str | None = None
    requests_per_second: int = 8
    retry_seconds: float = 5.0
    listing_hours: float = 24.0


def is_edgartools_installed() -> bool:
    """Say whether the extra ``edgar`` is there, without the seconds that importing it takes."""
    return importlib.util.find_spec("edgar") is not None


def identity_fault(identity: str | None) -> str | None:
    """Say in a sentence what is wrong with *identity*; None where EDGAR would take it."""
    if identity is not None and _IDENTITY.fullmatch(identity):
        return None
    return (
        "CALIBRARY_EDGAR_IDENTITY must be a name and an e-mail address in ASCII, as EDGAR asks of "
        f"every program, got {'none' if identity is None else repr(identity)}; set it, for "
        "instance to 'Jane Doe jane.doe@example.org'."
    )


class EdgarPages:
    """What EDGAR has said; what is on disk (lists for a day) needs no request and no identity.

    Every method raises `EdgarError`, one sentence, where something must be fetched and `edgartools`
    or the identity is missing, or EDGAR cannot be reached or refuses.
    """

    def __init__(self, access: EdgarAccess) -> None:
        self._access = access

    def listing(self, address: str) -> Path | None:
        """Return the file of the list at *address*, fetched again once it is too old.

        None where EDGAR has no such list.
        """
        path = self._access.folder / "listings" / address.rpartition("/")[2]
        oldest = time.time() - self._access.listing_hours * 3600
        if not (path.exists() and path.stat().st_mtime > oldest):
            # An empty file keeps that there is none.
            _kept(path, self._fetched(address) or b"")
        return path if path.stat().st_size else None

    def submission(self, cik: int, accession_number: str) -> Path | None:
        """Return the file of a submission up to the end of its first document.

        That is the filing itself. Exhibits and data follow, most of a submission's bytes, and
        nothing here reads them. None where EDGAR has no such submission.
        """
        path = self._access.folder / "filings" / f"{accession_number}.txt.gz"
        if path.exists():
            return path
        folder = accession_number.replace("-", "")
        page = self._fetched(f"Archives/edgar/data/{cik}/{folder}/{accession_number}.txt")
        return None if page is None else _kept(path, gzip.compress(page, mtime=0))

    def _fetched(self, address: str) -> bytes | None:
        url = self._library.url(address)
        found, wait = "", 0.0
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(max(wait, self._access.retry_seconds * 2 ** (attempt - 1)))
            try:
                with self._library.client.stream("GET", url, follow_redirects=True) as response:
                    status = response.status_code
                    if status == 404:
                        return None
                    if status == 200 and (page := _read(response.iter_bytes(), url)):
                        return page
                    found = f"status {status}" if status != 200 else "an empty page"
                    wait = _asked_to_wait(response.headers.get("Retry-After"))
                    if status != 200 and status not in BUSY_STATUSES:
                        break
            except self._library.request_error as error:
                found, wait = f"{type(error).__name__} ({' '.join(str(error).split())})", 0.0
                if "CERTIFICATE" in found:  # which stays as it is, however often asked for
                    break
        raise EdgarError(
            f"EDGAR must answer, got {found} for {url}; run the command again once it does (what "
            "was fetched is kept), or with another identity if it refuses this one."
        )

    @property
    def _library(self) -> _Edgartools:
        if (fault := identity_fault(self._access.identity)) is not None:
            raise EdgarError(fault)
        return _edgartools(self._access)


class _Edgartools:
    """What is taken of the library; imported once a request is due, since that takes seconds."""

    def __init__(self, access: EdgarAccess) -> None:
        # It makes its folders on import, in the user's home unless told otherwise.
        os.environ.setdefault("EDGAR_LOCAL_DATA_DIR", str(access.folder / "edgartools"))
        try:
            from edgar.config import SEC_BASE_URL, SEC_DATA_URL
            from edgar.httpclient import get_http_mgr
        except ImportError as error:
            raise EdgarError(
                f"edgartools must be installed to fetch filings, got: {error}; "
                "install it with pip install 'calibrary[edgar]', or ingest filings from files."
            ) from None
        manager = get_http_mgr(
            cache_enabled=False, request_per_sec_limit=access.requests_per_second
        )
        manager.user_agent_factory = lambda: access.identity
        manager.httpx_params["timeout"] = TIMEOUT_SECONDS
        with manager.http_client() as client:  # stays open: it is the manager's only one
            self.client: Any = client
        # Where httpx2 is installed the client is one of it, else of httpx; so are its errors, which
        # is why edgartools' own retries, by errors of httpx, are not relied on.
        package = importlib.import_module(type(client).__module__.partition(".")[0])
        self.request_error: type[Exception] = package.RequestError
        self._data, self._site = SEC_DATA_URL, SEC_BASE_URL

    def url(self, address: str) -> str:
        """Return where *address* is; lists of a company's filings have a host of their own."""
        return f"{self._data if address.startswith('submissions/') else self._site}/{address}"


@functools.cache
def _edgartools(access: EdgarAccess) -> _Edgartools:
    """Return the one client of this process: two would each keep to the rate, and together not."""
    return _Edgartools(access)


def _read(chunks: Iterator[bytes], url: str) -> bytes:
    """Read up to the end of the first document, or of the page where it holds none."""
    page, looked_at = bytearray(), 0
    for chunk in chunks:
        page += chunk
        end = page.find(_END_OF_DOCUMENT, looked_at)
        if end >= 0:
            return bytes(page[: end + len(_END_OF_DOCUMENT)])
        looked_at = max(0, len(page) - len(_END_OF_DOCUMENT))
        if len(page) > LARGEST_FILING_BYTES:
            raise EdgarError(
                f"a page must hold at most {LARGEST_FILING_BYTES:,} bytes, got more at {url}."
            )
    return bytes(page)


def _asked_to_wait(header: str | None) -> float:
    """Return the seconds of a ``Retry-After``; one that names a date is not heeded."""
    return min(float(header), LONGEST_WAIT_SECONDS) if header and header.isdecimal() else 0.0


def _kept(path: Path, content: bytes) -> Path:
    """Write a file that is never there in part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_bytes(content)
    unfinished.replace(path)
    return path
