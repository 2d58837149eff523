"""Measuring stories against the bare library calls: ``python -m tests.benchmarks.measuring``.

The same texts and cuts, the same batch size, models loaded beforehand in both. The bare loop keeps
its results in memory; measuring also reads texts from the work file and commits every batch.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from flows.settings import configure_environment, load_settings


def sample_texts(count: int, words: int) -> list[str]:
    """Return *count* texts of *words* words drawn from the shipped sample stories, seeded."""
    from flows.study import SMALL_STUDY

    lines = (SMALL_STUDY.parent / "small_study" / "stories.jsonl").read_text().splitlines()
    vocabulary = " ".join(json.loads(line)["text"] for line in lines).split()
    rng = random.Random(11)  # noqa: S311 - sample text, not a secret
    texts = []
    for _ in range(count):
        start = rng.randrange(len(vocabulary) - words)
        texts.append(" ".join(vocabulary[start : start + words]))
    return texts


def main() -> None:
    """Run both and print seconds and ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--texts", type=int, default=240)
    parser.add_argument("--words", type=int, default=150)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(Path(folder))
        configure_environment(settings)
        _compare(settings, sample_texts(arguments.texts, arguments.words))


def _compare(settings, texts):  # type: ignore[no-untyped-def]
    from prefect import flow

    from flows.corpora.layouts import GenerationsLayout
    from flows.feature_batches import _embedder, _tagger
    from flows.ingest_generations import ingest_generations
    from flows.measure import measure_studies
    from flows.model_choice import resolve_auto
    from flows.study import StudySettings
    from udfs.word_sets import cut_words, word_set
    from warehouse.connection import open_warehouse, work_path
    from warehouse.measurements import Feature, missing_cuts

    source = settings.home / "generations.jsonl"
    settings.home.mkdir(parents=True, exist_ok=True)
    with source.open("w") as file:
        for place, text in enumerate(texts):
            row = {"prompt": f"Prompt number {place // 10}", "language_model": "m", "strategy": "s"}
            file.write(json.dumps({**row, "sample_index": place % 10, "text": text}) + "\n")
    study = resolve_auto(StudySettings(study_name="benchmark"))
    with open_warehouse(work_path(settings.home)) as connection:
        ingest_generations(connection, study, GenerationsLayout(path=str(source)))
        cuts = missing_cuts(connection, "benchmark", Feature.EMBEDDING)
        rows = connection.execute("select text_id, text from raw.texts").fetchall()
    by_id = dict(rows)
    inputs = [
        cut_words(by_id[cut.text_id], cut.word_limit) if cut.word_limit else by_id[cut.text_id]
        for cut in cuts
    ]
    embedder = _embedder(study.embedding_model_name, study.embedding_max_tokens, settings.device)
    tagger = _tagger(study.tagging_model_name)
    embedder.model.encode(inputs[:16])

    started = time.perf_counter()
    embedder.model.encode(inputs, batch_size=settings.embedding_batch_size)
    embedded = time.perf_counter()
    for document in tagger.pipe(inputs, batch_size=32):
        set(pairwise(token.pos_ for token in document))
    tagged = time.perf_counter()
    for text in inputs:
        word_set(text)
    bare = time.perf_counter() - started

    @flow(name="warm-up")
    def warm_up() -> int:
        return 1

    start_of_prefect = time.perf_counter()
    warm_up()
    prefect_seconds = time.perf_counter() - start_of_prefect
    started = time.perf_counter()
    report = measure_studies(settings)
    seconds = time.perf_counter() - started
    print(f"texts and cuts: {len(inputs)}, measured {report.measured}")
    print(f"bare library calls: {bare:.1f} s (tagging {tagged - embedded:.1f} s)")
    print(f"measure: {seconds:.1f} s, ratio {seconds / bare:.2f}")
    print(f"starting Prefect once in a fresh home: {prefect_seconds:.1f} s, not counted")


if __name__ == "__main__":
    main()
