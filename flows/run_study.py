"""The whole study as one Prefect flow: ingest to publish; every stage is resumable."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from prefect import flow, task
from prefect.cache_policies import NO_CACHE

from flows.fit import fit_study, is_fitted
from flows.generate import generate_study, is_generated
from flows.ingest_stages import ingest_study, is_ingested
from flows.measure import measure_studies, missing_counts
from flows.publish_marts import BuildReport, build_and_publish, snapshot_is_current
from flows.score import is_scored, score_study
from flows.settings import Settings, load_settings
from flows.study import Study, load_study
from warehouse.connection import open_warehouse, work_path
from warehouse.files import is_absent

STAGES = ("ingest", "generate", "measure", "score", "fit", "build")
"""In the order in which a run goes through them."""

QUERIES = (
    "select story_source_name, story_count, prompt_count from dim_story_sources "
    "where study_name = '{study_name}'",
    "select story_source_name, hull_rank, vertex_count, hull_volume, is_degenerate "
    "from fct_credal_sets where study_name = '{study_name}' and coordinate_frame = 'pooled_z' "
    "and axes = 'semantic_lexical_syntactic'",
    "select story_source_name, shared_prompt_count, overlap_calibration, centroid_distance, "
    "volume_ratio, composite_calibration from fct_credal_overlaps "
    "where study_name = '{study_name}' and coordinate_frame = 'pooled_z' "
    "and axes = 'semantic_lexical_syntactic'",
)
"""Three to try after a run of a study with stories."""

TOKEN_QUERIES = (
    "select test_set_name, language_model_name, ece_plugin, twin_ece_mean, log_loss_nats "
    "from fct_calibration_errors where study_name = '{study_name}' and bin_count = 15 "
    "and binning = 'equal_width'",
    "select test_set_name, language_model_name, fitted_temperature, temperature_gain_nats, "
    "fit_status from fct_temperature_fits where study_name = '{study_name}' "
    "and token_group = 'all' and fold_name = 'all'",
    "select test_set_name, language_model_name, prediction_set_coverage, coverage_ceiling "
    "from fct_prediction_set_coverage where study_name = '{study_name}' "
    "and set_kind = 'nucleus' and nucleus_mass = 0.9 and applied_temperature = 1 "
    "and not is_fitted_temperature",
)
"""Three to try after a run of a study of token probabilities alone."""


class StageReport(Protocol):
    """What one stage did."""

    def as_record(self) -> dict[str, object]:
        """Return it as JSON has it."""

    def as_text(self) -> str:
        """Return it as lines, the first of which says it all."""


@dataclass(frozen=True)
class RunSummary:
    """What each stage of a run did.

    Attributes
    ----------
    study_name : str
    queries : tuple of str
        To try afterwards.
    stages : dict of str to StageReport or None
        In the order of `STAGES`; None: the study does not ask for it. Empty: nothing was new.
    built : BuildReport or None
        What was published.
    """

    study_name: str
    queries: tuple[str, ...]
    stages: dict[str, StageReport | None] = field(default_factory=dict)
    built: BuildReport | None = None

    def as_record(self) -> dict[str, object]:
        """Return it as JSON has it."""
        found = (self.stages.get(name) for name in STAGES)
        records = [None if report is None else report.as_record() for report in found]
        return {
            "study_name": self.study_name,
            "is_new": self.built is not None,
            **dict(zip(STAGES, records, strict=True)),
        }

    def as_text(self) -> str:
        """Return it for reading, with three queries to try."""
        lines = [report.as_text() for report in self.stages.values() if report is not None]
        if not lines:
            lines = [f"{self.study_name}: nothing new; the published snapshot is current."]
        if self.built is not None and self.built.relations:
            names = ", ".join(relation.table_name for relation in self.built.relations)
            lines += textwrap.wrap(names, 96, initial_indent="  ", subsequent_indent="  ")
        lines += ["", "`calibrary report` draws them on one page. Three queries to try:"]
        lines += [
            f'  calibrary query "{sql.format(study_name=self.study_name)}"' for sql in self.queries
        ]
        return "\n".join(lines)


def run(settings: Settings, study_path: Path) -> RunSummary:
    """Run the study at *study_path*; Prefect is started only if there is something to do."""
    study = load_study(study_path)
    if is_done(settings, study):
        return RunSummary(study.study_name, queries_of(study))
    return run_study(str(settings.home), str(study_path))


# What a stage has done is written in the warehouse: neither its result nor a retry is Prefect's.
_ingest = task(name="ingest", cache_policy=NO_CACHE, persist_result=False)(ingest_study)
_build = task(name="build", cache_policy=NO_CACHE, persist_result=False)(build_and_publish)


@flow(name="run-study", validate_parameters=False, persist_result=False, result_serializer="json")
def run_study(home: str, study_path: str) -> RunSummary:
    """Ingest, generate, measure, score, fit, build and publish the study at *study_path*."""
    settings = load_settings(Path(home))
    study = load_study(Path(study_path))
    path = Path(study_path)
    is_scoring = bool(study.test_sets and study.scored_language_models)
    stages: dict[str, StageReport | None] = {
        "ingest": _ingest(settings, study),
        "generate": generate_study(settings, path) if study.decoding_strategies else None,
        "measure": measure_studies(settings, study.study_name),
        "score": score_study(settings, path) if is_scoring else None,
        "fit": fit_study(settings, path) if study.trained_language_models else None,
    }
    built = _build(settings)
    return RunSummary(study.study_name, queries_of(study), stages | {"build": built}, built)


def queries_of(study: Study) -> tuple[str, ...]:
    """Return queries that the marts of *study* have rows for."""
    has_stories = study.stories or study.generations or study.diversity_vectors
    return QUERIES if has_stories else TOKEN_QUERIES


def is_done(settings: Settings, study: Study) -> bool:
    """Say whether all is ingested, generated, measured and scored, and the snapshot current."""
    if is_absent(work_path(settings.home)):
        return False
    with open_warehouse(work_path(settings.home)) as connection:
        return (
            is_ingested(connection, settings, study)
            and is_generated(connection, settings, study)
            and not any(missing_counts(connection, [study.study_name]).values())
            and (not study.scored_language_models or is_scored(connection, settings, study))
            and is_fitted(connection, settings, study)
            and snapshot_is_current(settings, connection)
        )
