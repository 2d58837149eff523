"""How long `fct_diversity_vectors` takes for 500 prompts, 21 story sources and 10 stories each.

Run by ``python -m tests.benchmarks.diversity_build``; the target is under 60 s on 2 cores and 4 GB.
The raw rows are made up, as many and as long as real stories of 300 words give. Both the whole
stories and their cuts are measured.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from warehouse.connection import open_warehouse

DBT_PROJECT = Path(__file__).resolve().parents[2] / "dbt_project"
SOURCES, STORIES = 21, 10
DIMENSIONS, WORDS, DISTINCT_WORDS, BIGRAMS = 384, 300, 180, 60
VOCABULARY, BIGRAM_VOCABULARY = 20_000, 17 * 17
MEMORY_LIMIT = "2GB"
"""DuckDB's share of the 4 GB: Python, its libraries and the UDFs' arrays need the rest."""

STUDY = f"""
insert into raw.studies (
    study_name, settings_json, stories_per_prompt, samples_per_prompt, minimum_prompt_characters,
    maximum_prompt_characters, minimum_story_tokens, maximum_story_tokens, tokenizer_name,
    selection_seed, selection_id, embedding_model_name, embedding_max_tokens, tagging_model_name,
    tagging_max_characters, minimum_common_words, definition_version
)
values ('study', '{{}}', {STORIES}, {STORIES}, 1, 500, 1, 987, 'tokenizer', 1, 'selection',
    'embedder', 256, 'tagger', 5000, 20, '1');
insert into raw.ingests (
    ingest_id, study_name, ingest_kind, file_name, content_sha256, options_json, status, started_at
)
values ('ingest', 'study', 'stories', 'file', repeat('0', 64), '{{}}', 'done', '2026-01-01');
"""  # noqa: S608 - constants of this file

LEDGER = f"""
create temp table made as
select
    prompt, source, story,
    md5(concat_ws(' ', 'prompt', prompt)) as prompt_id,
    md5(concat_ws(' ', prompt, source, story)) as text_id,
    if(source = 0, 'human', 'model_' || source || '/strategy') as story_source_name
from range($prompts) as prompts(prompt), range({SOURCES}) as sources(source),
    range({STORIES}) as stories(story);
insert into raw.prompts (study_name, prompt_id, source_prompt_id, ingest_id)
select distinct 'study', prompt_id, cast(prompt as varchar), 'ingest' from made;
insert into raw.texts (text_id, text, character_count, byte_count, word_count, normalised_md5)
select text_id, repeat('word ', {WORDS}), {WORDS * 5}, {WORDS * 5}, {WORDS} + story, text_id
from made;
insert into raw.stories (
    study_name, story_id, prompt_id, text_id, story_kind, story_source_name, language_model_name,
    decoding_strategy_name, sample_index, status, ingest_id
)
select
    'study', text_id, prompt_id, text_id, if(source = 0, 'human', 'generated'), story_source_name,
    if(source = 0, null, 'model_' || source), if(source = 0, null, 'strategy'),
    if(source = 0, null, story), 'ok', 'ingest'
from made;
insert into raw.story_selections (
    selection_id, story_id, study_name, prompt_id, prompt_rank, draw_index, story_token_count,
    prompt_length_sd
)
select 'selection', text_id, 'study', prompt_id, prompt, story, 400, 1.0 from made
where source = 0;
"""  # noqa: S608 - constants of this file

FEATURES = f"""
insert into raw.text_embeddings
select text_id, $word_limit, 'embedder', 256, 256, 0,
    list_transform(range({DIMENSIONS}), lambda i: cast(hash(text_id, i) / 1.8e19 - 0.4 as float))
from made where prompt % 10 = $part;
insert into raw.text_word_sets
select text_id, $word_limit,
    list_sort(list_distinct(list_transform(
        range({DISTINCT_WORDS}),
        lambda i: 'word' || cast(
            floor(pow(hash(text_id, $word_limit, i) / 1.8447e19, 3) * {VOCABULARY}) as integer
        )
    ))), {WORDS}
from made where prompt % 10 = $part;
insert into raw.text_pos_bigrams
select text_id, $word_limit, 'tagger', 5000,
    list_sort(list_distinct(list_transform(
        range({BIGRAMS}),
        lambda i: 'NOUN ' || (hash(text_id, $word_limit, i) % {BIGRAM_VOCABULARY})
    ))), 1500, 0
from made where prompt % 10 = $part;
"""  # noqa: S608 - constants of this file


def fill(work_file: Path, prompts: int) -> None:
    """Write the made-up rows, a part at a time so that no transaction grows large."""
    with open_warehouse(work_file, memory_limit=MEMORY_LIMIT) as connection:
        connection.execute(STUDY)
        run_all(connection, LEDGER.replace("$prompts", str(prompts)))
        for word_limit in (0, WORDS):
            for part in range(10):
                script = FEATURES.replace("$word_limit", str(word_limit))
                run_all(connection, script.replace("$part", str(part)))


def run_all(connection: duckdb.DuckDBPyConnection, script: str) -> None:
    for statement in connection.extract_statements(script):
        connection.execute(statement)


def build(work_file: Path) -> tuple[float, float]:
    """Run dbt in a process of its own and return its seconds and its peak memory in GB."""
    folder = work_file.parent
    places = {"--project-dir": DBT_PROJECT, "--profiles-dir": DBT_PROJECT}
    options = [str(part) for option in places.items() for part in option]
    command = [
        str(Path(sys.executable).with_name("dbt")),
        "--log-path",
        str(folder / "logs"),
        "build",
        "--select",
        "+fct_diversity_vectors",
        "--indirect-selection",
        "buildable",
        "--quiet",
        "--target-path",
        str(folder / "target"),
        *options,
    ]
    environment = os.environ | {
        "CALIBRARY_WORK_PATH": str(work_file),
        "CALIBRARY_MEMORY_LIMIT": MEMORY_LIMIT,
    }
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True)
    seconds = time.perf_counter() - started
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=500)
    prompts = parser.parse_args().prompts
    with tempfile.TemporaryDirectory() as folder:
        work_file = Path(folder) / "work.duckdb"
        fill(work_file, prompts)
        size = work_file.stat().st_size / 1e9
        print(f"{prompts * SOURCES * STORIES:,} stories, work file of {size:.2f} GB")
        seconds, gigabytes = build(work_file)
    print(f"fct_diversity_vectors and all it needs: {seconds:.1f} s, peak {gigabytes:.2f} GB")


if __name__ == "__main__":
    main()
