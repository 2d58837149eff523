"""The whole study as one Prefect flow: ingest to publish; every stage is resumable."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from prefect import flow, task
from prefect.cache_policies import NO_CACHE

from flows.fit import FitReport, fit_study, is_fitted
from flows.generate import GenerateReport, generate_study, is_generated
from flows.ingest_stages import StageReport, ingest_study, is_ingested
from flows.measure import MeasureReport, measure_studies, missing_counts
from flows.publish_marts import BuildReport, build_and_publish, snapshot_is_current
from flows.score import ScoreReport, is_scored, score_study
from flows.settings import Settings, load_settings
from flows.study import Study, load_study
from warehouse.connection import open_warehouse, work_path
from warehouse.files import is_absent

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
    "and set_kind = 'nucleus' and nucleus_mass = 0.9 and applied_temperature = 1",
)
"""Three to try after a run of a study of token probabilities alone."""


@dataclass(frozen=True)
class RunSummary:
    """What each stage of a run did; None for all of them where nothing was new."""

    study_name: str
    ingested: StageReport | None
    generated: GenerateReport | None
    measured: MeasureReport | None
    scored: ScoreReport | None
    fitted: FitReport | None
    built: BuildReport | None
    queries: tuple[str, ...] = QUERIES

    def as_record(self) -> dict[str, object]:
        """Return it as JSON has it."""
        return {
            "study_name": self.study_name,
            "is_new": self.built is not None,
            "ingest": None if self.ingested is None else self.ingested.as_record(),
            "generate": None if self.generated is None else self.generated.as_record(),
            "measure": None if self.measured is None else self.measured.as_record(),
            "score": None if self.scored is None else self.scored.as_record(),
            "fit": None if self.fitted is None else self.fitted.as_record(),
            "build": None if self.built is None else self.built.as_record(),
        }

    def as_text(self) -> str:
        """Return it for reading, with three queries to try."""
        lines = [
            part.as_text()
            for part in (
                self.ingested,
                self.generated,
                self.measured,
                self.scored,
                self.fitted,
                self.built,
            )
            if part is not None
        ]
        if not lines:
            lines = [f"{self.study_name}: nothing new; the published snapshot is current."]
        if self.built is not None and self.built.relations:
            lines += [
                f"  {relation.table_name}: {relation.description.split('. ')[0].strip()}"
                for relation in self.built.relations
            ]
        lines += ["", "Three queries to try:"]
        lines += [
            f'  calibrary query "{sql.format(study_name=self.study_name)}"' for sql in self.queries
        ]
        return "\n".join(lines)


def run(settings: Settings, study_path: Path) -> RunSummary:
    """Run the study at *study_path*; Prefect is started only if there is something to do."""
    study = load_study(study_path)
    if is_done(settings, study):
        return RunSummary(study.study_name, None, None, None, None, None, None, queries_of(study))
    return run_study(str(settings.home), str(study_path))


# What a stage has done is written in the warehouse: neither its result nor a retry is Prefect's.
_ingest = task(name="ingest", cache_policy=NO_CACHE, persist_result=False)(ingest_study)
_build = task(name="build", cache_policy=NO_CACHE, persist_result=False)(build_and_publish)


@flow(name="run-study", validate_parameters=False, persist_result=False)
def run_study(home: str, study_path: str) -> RunSummary:
    """Ingest, generate, measure, score, fit, build and publish the study at *study_path*."""
    settings = load_settings(Path(home))
    study = load_study(Path(study_path))
    ingested = _ingest(settings, study)
    generated = generate_study(settings, Path(study_path)) if study.decoding_strategies else None
    measured = measure_studies(settings, study.study_name)
    has_scorers = bool(study.test_sets and study.scored_language_models)
    scored = score_study(settings, Path(study_path)) if has_scorers else None
    fitted = fit_study(settings, Path(study_path)) if study.trained_language_models else None
    built = _build(settings)
    return RunSummary(
        study.study_name,
        ingested,
        generated,
        measured,
        scored,
        fitted,
        built,
        queries_of(study),
    )


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
            is_ingested(connection, study)
            and is_generated(connection, settings, study)
            and not any(missing_counts(connection, [study.study_name]).values())
            and (not study.scored_language_models or is_scored(connection, settings, study))
            and is_fitted(connection, settings, study)
            and snapshot_is_current(settings, connection)
        )
