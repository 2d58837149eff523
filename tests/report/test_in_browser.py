"""The page in a real browser: opened from disk, it draws, follows its reader and stays silent."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.report.write import write_report
from tests.report.browser import Page, opened_browser
from tests.report.snapshots import BIN_COUNTS, TEMPERATURES

ROOT = Path(__file__).resolve().parents[2]
READ = "Number(document.querySelector('[data-readout=\"{}\"]').dataset.value)"


@pytest.fixture(scope="module")
def report(scored_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(scored_home, None, tmp_path_factory.mktemp("page") / "report.html").page


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with opened_browser(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def page(browser: Page, report: Path) -> Page:
    browser.complaints.clear()
    browser.addresses.clear()
    browser.resize(1280, 900)
    browser.prefer("light")
    browser.open(report)
    return browser


def keep_screenshot(page: Page, name: str) -> None:
    """Keep a picture where CI collects its output: where it says, else in `screenshots`."""
    folder = os.environ.get("CALIBRARY_SCREENSHOTS")
    if folder is None and "CI" in os.environ:
        folder = str(ROOT / "screenshots")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.photograph(Path(folder) / name)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_draws_without_a_complaint_or_a_request(
    page: Page, report: Path, scheme: str
) -> None:
    page.prefer(scheme)
    page.open(report)
    drawn = page.evaluate("document.querySelectorAll('.chart svg').length")
    shown = page.evaluate(
        "[...document.querySelectorAll('.chart')].filter((chart) => chart.offsetParent).length"
    )
    assert drawn == shown >= 12
    assert page.complaints == []
    assert {address for address in page.addresses if address != "about:blank"} == {report.as_uri()}
    ink = page.evaluate("getComputedStyle(document.body).color")
    label = page.evaluate("getComputedStyle(document.querySelector('.chart svg text')).fill")
    assert label == ink
    keep_screenshot(page, f"report_{scheme}.png")


def test_the_slider_and_the_bins_show_the_marts_values(page: Page) -> None:
    move = (
        "(() => {{ const slider = document.getElementById('temperature'); slider.value = '{}';"
        " slider.dispatchEvent(new Event('input')); }})()"
    )
    choose = (
        "(() => {{ const bins = document.querySelector('[data-control=bin_count]');"
        " bins.value = '{}'; bins.dispatchEvent(new Event('change')); }})()"
    )
    points = "currentRows.get('reliability_diagram').map((row) => row.accuracy)"
    for bin_count in BIN_COUNTS:
        page.act(choose.format(bin_count))
        for stop, temperature in enumerate(TEMPERATURES):
            page.act(move.format(stop))
            expected = 0.1 / bin_count if temperature == 1.0 else temperature / 7
            assert page.evaluate(READ.format("ece_plugin")) == expected
            assert page.evaluate(READ.format("accuracy")) == 1 / 3
            middles = [(index + 0.5) / bin_count for index in range(bin_count)]
            assert page.evaluate(points) == [middle / temperature / 2 for middle in middles]
            drawn = page.evaluate(
                "drawnViews.get('reliability_diagram').view.data('rows').map((row) => row.accuracy)"
            )
            assert drawn == page.evaluate(points)
    assert page.complaints == []


def test_a_fit_that_did_not_converge_says_so_and_labels_are_text(page: Page) -> None:
    fitted = "document.querySelector('[data-readout=\"fitted_temperature\"]').textContent"
    assert page.evaluate(fitted) == "no_finite_optimum"
    assert page.evaluate("document.querySelectorAll('b').length") == 0
    assert page.evaluate("currentRows.get('breakdown').map((row) => row.class_name)") == [
        "</b><b>", "the",
    ]  # fmt: skip


def test_a_phone_needs_no_sideways_scrolling(page: Page, report: Path) -> None:
    page.resize(390, 844, is_mobile=True)
    page.open(report)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    keep_screenshot(page, "report_phone.png")


def test_a_chart_is_named_and_its_table_opens_with_all_rows(page: Page) -> None:
    names = page.evaluate(
        "[...document.querySelectorAll('.chart')].filter((chart) => chart.offsetParent)"
        ".map((chart) => chart.getAttribute('aria-label'))"
    )
    assert all(name.startswith("Chart. ") and len(name) > 40 for name in names)
    page.evaluate("document.querySelector('[data-figure=volumes] details').open = true")
    page.wait_for("document.querySelector('[data-figure=volumes] tbody tr')")
    rows = page.evaluate("document.querySelectorAll('[data-figure=volumes] tbody tr').length")
    assert rows == page.evaluate("currentRows.get('volumes').length") == 5


def test_a_downloaded_table_keeps_every_digit(page: Page) -> None:
    rows = page.evaluate("currentRows.get('volumes')")
    lines = list(csv.DictReader(io.StringIO(page.evaluate("asCsv(currentRows.get('volumes'))"))))
    assert [line["story_source_name"] for line in lines] == [
        row["story_source_name"] for row in rows
    ]
    assert [float(line["hull_volume"]) for line in lines] == [row["hull_volume"] for row in rows]


def test_a_downloaded_picture_holds_its_own_colours(page: Page) -> None:
    page.evaluate("download = (name, text) => { globalThis.downloaded = [name, text]; }")
    page.evaluate("downloadSvg('volumes')")
    name, text = page.evaluate("downloaded")
    assert name == "volumes.svg"
    assert text.startswith("<svg ")
    assert "var(--" not in text
