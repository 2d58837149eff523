"""A site on this machine that answers in the shapes of EDGAR: tickers, lists, submissions.

Every page is made up; nothing of a real filing is in it.
"""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.corpora.test_filings import PROSE, TITLE

ACME, FOREIGN = 12345, 777
UNKNOWN = 999

EXHIBIT = "<DOCUMENT>\n<TYPE>EX-101\n<TEXT>\nsecret of the exhibit\n</TEXT>\n</DOCUMENT>\n"


@dataclass(frozen=True)
class Request:
    at: float
    path: str
    user_agent: str


@dataclass
class EdgarSite:
    """What it answers, what goes wrong first, and what it was asked."""

    address: str = ""
    pages: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, list[int | str]] = field(default_factory=lambda: defaultdict(list))
    """By path, taken from the front: a status, ``empty``, or ``cut`` for a connection that
    breaks half-way."""
    requests: list[Request] = field(default_factory=list)

    def paths(self) -> list[str]:
        """Return what was asked for since this was last called, by the end of each address."""
        asked = [request.path.rpartition("/")[2] for request in self.requests]
        self.requests.clear()
        return asked


def accession(number: int, cik: int = ACME) -> str:
    return f"{cik:010d}-22-{number:06d}"


def text_path(number: int, cik: int = ACME) -> str:
    name = accession(number, cik)
    return f"/Archives/edgar/data/{cik}/{name.replace('-', '')}/{name}.txt"


def submission(number: int, period: str, body: str, form: str = "10-K") -> bytes:
    return (
        f"<SEC-DOCUMENT>{accession(number)}.txt\n<SEC-HEADER>\n"
        f"ACCESSION NUMBER:\t\t{accession(number)}\nCONFORMED SUBMISSION TYPE:\t{form}\n"
        f"CONFORMED PERIOD OF REPORT:\t{period}\nCENTRAL INDEX KEY:\t\t\t{ACME:010d}\n"
        f"</SEC-HEADER>\n<DOCUMENT>\n<TYPE>{form}\n<SEQUENCE>1\n<TEXT>\n{body}\n</TEXT>\n"
        f"</DOCUMENT>\n{EXHIBIT}</SEC-DOCUMENT>\n"
    ).encode()


def item_7(mark: str) -> str:
    return f"Item 7. {TITLE}\n{mark} {PROSE}\nItem 8. Statements"


def columns(*rows: tuple[str, str, str, str]) -> dict[str, list[str]]:
    names = ("accessionNumber", "form", "filingDate", "reportDate")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def listing(recent: dict[str, list[str]], *pages: dict[str, Any]) -> bytes:
    return json.dumps({"filings": {"recent": recent, "files": list(pages)}}).encode()


def usual_pages() -> dict[str, bytes]:
    """A company with three annual reports, one of them long ago, and one from abroad."""
    older = f"CIK{ACME:010d}-submissions-001.json"
    return {
        "/files/company_tickers.json": json.dumps(
            {"0": {"cik_str": ACME, "ticker": "AC-ME", "title": "Acme"}}
        ).encode(),
        f"/submissions/CIK{ACME:010d}.json": listing(
            columns(
                (accession(1), "10-K", "2022-02-20", "2021-12-31"),
                (accession(2), "10-Q", "2021-11-02", "2021-09-30"),
                (accession(3), "10-K", "2021-02-20", "2020-12-31"),
                (accession(4), "10-K/A", "2021-03-20", "2020-12-31"),
            ),
            {"name": older, "filingFrom": "1996-01-02", "filingTo": "2001-05-06"},
        ),
        f"/submissions/{older}": json.dumps(
            columns((accession(5), "10-K405", "1999-03-20", ""))
        ).encode(),
        f"/submissions/CIK{FOREIGN:010d}.json": listing(
            columns((accession(6, FOREIGN), "20-F", "2022-04-01", "2021-12-31"))
        ),
        text_path(1): submission(1, "20211231", item_7("Of 2021.")),
        text_path(3): submission(3, "20201231", "Item 1. Business\nWe make things."),
        text_path(5): submission(5, "19981231", item_7("Of 1998."), "10-K405"),
    }


@contextmanager
def running_site() -> Iterator[EdgarSite]:
    site = EdgarSite()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            agent = self.headers.get("User-Agent", "")
            site.requests.append(Request(time.monotonic(), self.path, agent))
            faults = site.faults[self.path]
            fault = faults.pop(0) if faults else None
            page = site.pages.get(self.path)
            if isinstance(fault, int):
                self._answer(fault, b"")
            elif fault == "empty":
                self._answer(200, b"")
            elif page is None:
                self._answer(404, b"no such page")
            else:
                self._answer(200, page, is_cut=fault == "cut")

        def _answer(self, status: int, content: bytes, *, is_cut: bool = False) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 4] if is_cut else content)
            self.close_connection = self.close_connection or is_cut

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    site.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
