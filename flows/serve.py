"""Scheduled runs: the study's cron, kept by Prefect, one run at a time.

``calibrary serve STUDY.yml`` is a process that waits; Prefect starts every run in a process of its
own. A run that is due while another goes on is refused, not queued: it would find nothing to do, or
run into the lock of the work file.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from prefect import flow
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
from prefect.client.schemas.schedules import CronSchedule
from prefect.schedules import Cron
from pydantic import ValidationError

from flows.drift import refuse_drift
from flows.report.write import write_report
from flows.run_study import STAGES, RunSummary, run
from flows.settings import Settings, load_settings
from flows.study import StudyError, load_study
from udfs.errors import CalibraryError
from warehouse.connection import snapshot_path

ONE_AT_A_TIME = ConcurrencyLimitConfig(
    limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW
)


@flow(
    name="scheduled-run", validate_parameters=False, persist_result=False, result_serializer="json"
)
def scheduled_run(home: str, study_path: str) -> None:
    """Run the study as `calibrary run` does, draw the report, and say in artifacts what came of it.

    One artifact has what each stage did, or why the run failed; the other leads to the report.

    Raises
    ------
    CalibraryError
        The run failed, or the study drifted beyond its limits. The artifact has the sentence; only
        where it drifted, the snapshot is a new one.
    """
    settings = load_settings(Path(home))
    study = load_study(Path(study_path))
    key, name = artifact_key(study.study_name), study.study_name
    try:
        summary = run(settings, Path(study_path))
        create_table_artifact(
            key=key,
            table=summary_rows(summary),
            description=f"{name}: {_snapshot_sentence(settings)}",
        )
        create_markdown_artifact(
            key=f"report-{key}",
            markdown=report_markdown(write_report(settings.home).page),
            description=f"{name}: the report of all studies of this home.",
        )
        refuse_drift(settings.home, study)
    except CalibraryError as error:
        create_markdown_artifact(
            key=key,
            markdown=f"**Failed:** {_plain(str(error))}\n\n{_snapshot_sentence(settings)}",
            description=f"{name}: the run failed.",
        )
        raise


def serve_study(settings: Settings, study_path: Path) -> None:
    """Keep the schedule of the study at *study_path* until the process is stopped.

    Raises
    ------
    StudyError
        The study names no schedule, or one that is none.
    """
    study = load_study(study_path)
    if study.schedule is None:
        raise StudyError(
            f"a study must have a schedule to be served by, {study_path} has none; "
            "add schedule: {cron: '0 6 * * *'}."
        )
    cron, timezone = study.schedule.cron, study.schedule.timezone
    try:
        CronSchedule(cron=cron, timezone=timezone)
    except ValidationError as error:
        raise StudyError(
            f"schedule must be a cron line and a timezone, got {cron!r} and {timezone!r} in "
            f"{study_path}: {error.errors()[0]['msg']}."
        ) from None
    scheduled_run.serve(
        name=study.study_name,
        schedule=Cron(cron, timezone=timezone),
        parameters={
            "home": str(settings.home.absolute()),
            "study_path": str(study_path.absolute()),
        },
        global_limit=ONE_AT_A_TIME,
        limit=1,
        print_starting_message=False,
    )


def artifact_key(study_name: str) -> str:
    """Return the study's name as Prefect wants a key: lower case, digits and dashes."""
    return "run-" + "".join(sign if sign.isalnum() else "-" for sign in study_name.lower())


def summary_rows(summary: RunSummary) -> list[dict[str, str]]:
    """Return what each stage did, a row per stage."""
    return [{"stage": name, "result": _result(summary, name)} for name in STAGES]


def _result(summary: RunSummary, name: str) -> str:
    if name not in summary.stages:
        return "nothing new"
    report = summary.stages[name]
    return "not asked for" if report is None else report.as_text().split("\n")[0]


def report_markdown(page: Path) -> str:
    """Return a link to the report at *page* as Markdown, and its path as text beside it.

    A browser may refuse to open a file from a page of a server; the path can be copied.
    """
    return f"[Open the report]({page.absolute().as_uri()}): {_plain(str(page))}"


def _snapshot_sentence(settings: Settings) -> str:
    path = snapshot_path(settings.home)
    if not path.exists():
        return "There is no published snapshot yet."
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return f"The published snapshot is that of {written:%Y-%m-%d %H:%M:%S} UTC."


def _plain(text: str) -> str:
    """Return outside text so that it is no markup in the artifact."""
    return "`" + text.replace("`", "'") + "`"
