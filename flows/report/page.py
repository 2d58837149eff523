"""Put tables, charts, style and script together as one HTML page that asks for nothing else."""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import Any

import jinja2
import vl_convert

from flows.report.figures import SECTIONS, Figure, Section
from flows.report.tables import ReportTable, json_value, printed_sql

ASSETS = resources.files("flows.report") / "assets"
SCRIPTS = ("tables.js", "drawing.js", "selections.js", "laboratory.js", "page.js")

# The version whose grammar Altair writes; vl-convert carries several.
VEGA_LITE_VERSION = "6.4"


def rendered_page(tables: dict[str, ReportTable], study_names: list[str]) -> str:
    """Return the page of *tables*, which hold rows of *study_names* only.

    Text from outside enters as JSON that holds no ``<``, or through the template's escaping; the
    script writes it as text, never as markup.
    """
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(_asset("page.html.jinja"))
    return template.render(
        sections=[_section(section, tables, study_names) for section in SECTIONS],
        study_names=study_names,
        publication=_publication(tables["publications"]),
        style=_asset("report.css"),
        data=script_json(_carried(tables, study_names)),
        libraries=script_text(vega_libraries()),
        script="\n".join(_asset(name) for name in SCRIPTS),
    )


@functools.cache
def vega_libraries() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script."""
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", VEGA_LITE_VERSION)


def script_json(value: Any) -> str:
    """Return *value* as JSON that may stand inside a script element whatever its texts hold."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Only a `<` could end the element or begin a comment; the two separators ended lines of old.
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def script_text(script: str) -> str:
    """Return *script* so that no text within it ends the script element."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _carried(tables: dict[str, ReportTable], study_names: list[str]) -> dict[str, Any]:
    return {
        "study_names": study_names,
        "tables": {name: table.as_json() for name, table in tables.items()},
        "figures": {
            figure.name: {
                "table": figure.queries[0],
                "specification": _compiled(figure.chart()) if figure.chart else None,
            }
            for section in SECTIONS
            for figure in section.figures
        },
        "section_tables": {
            section.name: [figure.queries[0] for figure in section.figures] for section in SECTIONS
        },
    }


def _compiled(specification: dict[str, Any]) -> dict[str, Any]:
    """Return a Vega-Lite chart as Vega: a mistake in it is found here and not by a reader."""
    return vl_convert.vegalite_to_vega(specification, VEGA_LITE_VERSION)


def _section(
    section: Section, tables: dict[str, ReportTable], study_names: list[str]
) -> dict[str, Any]:
    return {
        "section": section,
        "is_empty": all(not tables[figure.queries[0]].rows for figure in section.figures),
        "figures": [_figure(figure, tables, study_names) for figure in section.figures],
    }


def _figure(
    figure: Figure, tables: dict[str, ReportTable], study_names: list[str]
) -> dict[str, Any]:
    queries = [tables[name].query for name in figure.queries]
    return {
        "figure": figure,
        "absence": tables[figure.queries[0]].unpublished,
        "statements": [printed_sql(query, study_names) for query in queries],
    }


def _publication(table: ReportTable) -> dict[str, Any] | None:
    """Return the latest publication with its package versions, or None where none is recorded."""
    if not table.rows:
        return None
    values = dict(zip(table.column_names, map(json_value, table.rows[0]), strict=True))
    versions = json.loads(values["package_versions_json"] or "{}")
    return values | {"package_versions": sorted(versions.items())}


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")
