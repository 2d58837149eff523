"""The console script ``calibrary``: arguments in, one stage run, a sentence or JSON out.

Heavy libraries are imported inside the commands that need them, after the environment is set.
"""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from flows.command import (
    CommandContext,
    DebugOption,
    HomeOption,
    JsonOption,
    QuietOption,
    remember_globals,
    with_global_options,
)
from flows.entry import INTERRUPTED
from flows.ingest_commands import ingest_app
from flows.prefect_server import end_orphaned_servers
from flows.query import QueryFormat, answer, write_answer, write_parquet
from flows.run_changes import LEAST_UNITS, compare_publications
from flows.settings import prepare_home
from flows.study import SMALL_STUDY, load_study
from udfs.errors import CalibraryError

app = typer.Typer(
    name="calibrary",
    help="The calibration warehouse for language models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(ingest_app, name="ingest")

CODE_OF_CTRL_C = 130


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"calibrary {metadata.version('calibrary')}")
        raise typer.Exit


@app.callback()
def global_options(
    invocation: typer.Context,
    home: HomeOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """Run one stage of a study, or ask the published snapshot in SQL."""
    remember_globals(invocation, home=home, quiet=quiet, as_json=as_json, debug=debug)


@app.command("run")
@with_global_options
def run_command(
    context: CommandContext,
    study: Annotated[
        Path, typer.Argument(help="Study file (YAML); the shipped small study if not given.")
    ] = SMALL_STUDY,
) -> None:
    """Run a whole study: ingest, generate, measure, score, build, publish. Resumable."""
    prepare_home(context.settings)
    end_orphaned_servers(context.settings)
    from flows.drift import refuse_drift
    from flows.run_study import run

    summary = run(context.settings, study)
    context.show(summary.as_record(), summary.as_text())
    refuse_drift(context.settings.home, load_study(study))


@app.command("serve")
@with_global_options
def serve_command(
    context: CommandContext,
    study: Annotated[Path, typer.Argument(help="Study file (YAML) with a schedule.")],
) -> None:
    """Run a study by its schedule until stopped; each run is Prefect's to show."""
    prepare_home(context.settings)
    end_orphaned_servers(context.settings)
    from flows.serve import serve_study

    serve_study(context.settings, study)


@app.command("generate")
@with_global_options
def generate_command(
    context: CommandContext,
    study: Annotated[
        Path, typer.Argument(help="Study file (YAML); the shipped small study if not given.")
    ] = SMALL_STUDY,
    retries_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Ask again for the samples that failed.")
    ] = False,
) -> None:
    """Generate the stories that a study asks of language models and has not yet. Resumable."""
    prepare_home(context.settings)
    end_orphaned_servers(context.settings)
    from flows.generate import generate_study

    report = generate_study(context.settings, study, retries_failed=retries_failed)
    context.show(report.as_record(), report.as_text())


@app.command("measure")
@with_global_options
def measure_command(
    context: CommandContext,
    name: Annotated[
        str | None, typer.Option("--name", help="Only this study; all of the home if not given.")
    ] = None,
) -> None:
    """Compute embeddings, word sets and part-of-speech bigrams that are still missing."""
    prepare_home(context.settings)
    end_orphaned_servers(context.settings)
    from flows.measure import measure_studies

    report = measure_studies(context.settings, name)
    context.show(report.as_record(), report.as_text())


@app.command("score")
@with_global_options
def score_command(
    context: CommandContext,
    study: Annotated[
        Path | None, typer.Argument(help="Study file (YAML) with test_sets and language_models.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Test set of `ingest texts`, without a study file.")
    ] = None,
    language_model: Annotated[
        list[str] | None,
        typer.Option("--language-model", help="Ready-made name, hub id, folder, GGUF file; again."),
    ] = None,
) -> None:
    """Score the tokens of test sets by language models. Resumable."""
    if (study is None) == (name is None) or (name is None) != (not language_model):
        raise typer.BadParameter("give a study file, or --name and --language-model.")
    prepare_home(context.settings)
    end_orphaned_servers(context.settings)
    from flows.score import request_by_name, score_request, score_study

    if study is not None:
        report = score_study(context.settings, study)
    else:
        report = score_request(context.settings, request_by_name(name or "", language_model or []))
    context.show(report.as_record(), report.as_text())


@app.command("fit")
@with_global_options
def fit_command(
    context: CommandContext,
    study: Annotated[
        Path, typer.Argument(help="Study file (YAML) with trained_language_models and test_sets.")
    ],
) -> None:
    """Train the small language models of a study and score its test sets by them. Resumable."""
    prepare_home(context.settings)
    end_orphaned_servers(context.settings)
    from flows.fit import fit_study

    report = fit_study(context.settings, study)
    context.show(report.as_record(), report.as_text())


@app.command("build")
@with_global_options
def build_command(context: CommandContext) -> None:
    """Build the marts with dbt and publish them as the new snapshot."""
    from flows.publish_marts import build_and_publish

    report = build_and_publish(context.settings)
    context.show(report.as_record(), report.as_text())


@app.command("status")
@with_global_options
def status_command(context: CommandContext) -> None:
    """Show what is done, what is missing, what was rejected and why."""
    from flows.status import read_status, status_text

    status = read_status(context.settings)
    context.show(status, status_text(status))


@app.command("query")
@with_global_options
def query_command(
    context: CommandContext,
    sql: Annotated[str, typer.Argument(help="One SQL statement, or - to read it from stdin.")],
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    parquet: Annotated[
        Path | None, typer.Option("--parquet", help="Write a Parquet file instead of printing.")
    ] = None,
) -> None:
    """Answer SQL from the published snapshot."""
    if context.as_json + as_csv + (parquet is not None) > 1:
        raise typer.BadParameter("choose one of --csv, --json and --parquet.")
    table = answer(context.settings.home, sys.stdin.read() if sql == "-" else sql)
    if parquet is not None:
        write_parquet(table, parquet, context.settings.home)
        context.reporter.note(f"{table.num_rows:,} rows written to {parquet}")
        return
    form = QueryFormat.JSON if context.as_json else QueryFormat.TABLE
    write_answer(table, QueryFormat.CSV if as_csv else form, sys.stdout)


@app.command("report")
@with_global_options
def report_command(
    context: CommandContext,
    study: Annotated[
        list[str] | None, typer.Option("--study", help="Only this study; again for more.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", help="File to write; beside the snapshot if not given."),
    ] = None,
) -> None:
    """Draw the published snapshot as one HTML page that needs no server and no network."""
    from flows.report.write import write_report

    report = write_report(context.settings.home, study, output)
    context.show(report.as_record(), report.as_text())


@app.command("compare")
@with_global_options
def compare_command(
    context: CommandContext,
    study_file: Annotated[
        Path | None,
        typer.Argument(help="Study file (YAML): only its study, held to its drift_limits."),
    ] = None,
    study: Annotated[
        list[str] | None, typer.Option("--study", help="Only this study; again for more.")
    ] = None,
    measure: Annotated[
        list[str] | None, typer.Option("--measure", help="Only this measure; again for more.")
    ] = None,
    moved_beyond: Annotated[
        float,
        typer.Option(
            "--moved-beyond",
            min=0,
            help="Units that a figure must move by to be shown: standard deviations of noise.",
        ),
    ] = LEAST_UNITS,
) -> None:
    """Show what moved since the publication before, in units of noise; fail where it drifted."""
    if study_file is not None and study:
        raise typer.BadParameter("give a study file or --study, not both.")
    from flows.drift import refuse_drift

    checked = None if study_file is None else load_study(study_file)
    chosen = study if checked is None else [checked.study_name]
    found = compare_publications(context.settings.home, chosen, measure, moved_beyond)
    context.show(
        {"studies": [each.as_record() for each in found]},
        "\n".join(each.as_text() for each in found) or "No study of this home has figures.",
    )
    if checked is not None:
        refuse_drift(context.settings.home, checked)


@app.command("docs")
@with_global_options
def docs_command(
    context: CommandContext,
    serve: Annotated[bool, typer.Option("--serve", help="Serve the page on this machine.")] = False,
    port: Annotated[int, typer.Option("--port", min=1, max=65535)] = 8080,
) -> None:
    """Build the dbt docs: every table and column, with lineage, as one static page."""
    from flows.build import build_docs
    from flows.docs_server import serve_page

    page = build_docs(context.settings)
    context.show({"page": str(page)}, f"docs written to {page}")
    if serve:
        serve_page(page, port)


@app.command("doctor")
@with_global_options
def doctor_command(
    context: CommandContext,
    study: Annotated[
        Path | None,
        typer.Argument(help="Study file (YAML) whose language models and endpoints to check too."),
    ] = None,
) -> None:
    """Check versions, models, devices, disk and locks, and say what to do."""
    from flows.doctor import examine

    findings = examine(context.settings, study)
    lines = [
        f"{'ok     ' if finding.is_well else 'PROBLEM'} {finding.check}: {finding.finding}"
        for finding in findings
    ]
    context.show(
        {"checks": [vars(finding) for finding in findings]},
        "\n".join(lines),
    )
    if not all(finding.is_well for finding in findings):
        raise typer.Exit(1)


def run_cli(arguments: list[str]) -> int:
    """Run the command line *arguments* and return the exit code."""
    debug = "--debug" in arguments
    try:
        result: Any = app(arguments, standalone_mode=False, prog_name="calibrary")
    except TyperException as error:
        show = getattr(error, "show", None)
        if show is not None:
            show()
        return 2
    except typer.Exit as error:
        # The library turns Ctrl-C into an exit with the shell's code for it.
        return _fail(INTERRUPTED) if error.exit_code == CODE_OF_CTRL_C else error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return _fail(INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except CalibraryError as error:
        if debug:
            raise
        return _fail(str(error))
    except Exception as error:
        if _is_interruption(error):
            return _fail(INTERRUPTED)
        if debug:
            raise
        kind = type(error).__name__
        return _fail(
            f"an error that should have had a better sentence: {kind}: "
            f"{' '.join(str(error).split())}; the warehouse keeps what was finished; "
            "run again with --debug for the traceback."
        )
    # The library also returns the shell's code for Ctrl-C instead of raising.
    return _fail(INTERRUPTED) if result == CODE_OF_CTRL_C else int(result or 0)


def _is_interruption(error: Exception) -> bool:
    """Say whether *error* is DuckDB's word for Ctrl-C during a query."""
    return "Query interrupted" in str(error) or "INTERRUPT Error" in str(error)


def _fail(sentence: str) -> int:
    sys.stderr.write(f"calibrary: {sentence}\n")
    return 1
