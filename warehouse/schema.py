"""The raw tables: what was given and measured, row by row, before anything is computed from it.

Every table lives in schema ``raw`` of the work file and is written only by `warehouse.writers`.
Each but one has a primary key and no other index: DuckDB's ``on conflict`` needs the key and can
fail for ever beside secondary indexes. Scored tokens have none, which would add 8.5 bytes to the
117 of each: they are merged by their key, which a test of ``int_scored_tokens_binned`` holds.
Foreign keys are left to dbt's relationship tests, since in DuckDB they forbid the updates that an
upsert makes.

Ids are 32 lower-case hexadecimal digits, the first half of a SHA-256 over what the row *is*, so the
same thing read twice is the same row. Timestamps are UTC without a zone.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from warehouse.tables.columns import RAW_SCHEMA, key_columns, metadata
from warehouse.tables.figures import published_figures
from warehouse.tables.generation import (
    decoding_strategies,
    generation_requests,
    language_models,
    story_tokens,
)
from warehouse.tables.measurements import (
    diversity_vectors,
    text_embeddings,
    text_pos_bigrams,
    text_word_sets,
)
from warehouse.tables.scoring import (
    filings,
    scored_documents,
    scored_tokens,
    scorings,
    test_set_texts,
)
from warehouse.tables.stories import (
    other_prompt_ids,
    prompts,
    stories,
    story_selections,
    text_token_counts,
    texts,
)
from warehouse.tables.studies import (
    ingests,
    publications,
    rejects,
    runs,
    schema_versions,
    studies,
)
from warehouse.tables.training import (
    exact_fits,
    fact_probes,
    trained_language_models,
)

__all__ = [
    "RAW_SCHEMA",
    "SCHEMA_VERSION",
    "arrow_schema",
    "decoding_strategies",
    "diversity_vectors",
    "exact_fits",
    "fact_probes",
    "filings",
    "generation_requests",
    "ingests",
    "key_columns",
    "language_models",
    "metadata",
    "other_prompt_ids",
    "prompts",
    "publications",
    "published_figures",
    "rejects",
    "runs",
    "schema_versions",
    "scored_documents",
    "scored_tokens",
    "scorings",
    "stories",
    "story_selections",
    "story_tokens",
    "studies",
    "test_set_texts",
    "text_embeddings",
    "text_pos_bigrams",
    "text_token_counts",
    "text_word_sets",
    "texts",
    "trained_language_models",
]

SCHEMA_VERSION = 8
"""Version of the tables; raised together with a step in `warehouse.migrations`."""

_ARROW_TYPES: dict[type[sa.types.TypeEngine[Any]], pa.DataType] = {
    sa.String: pa.string(),
    sa.Integer: pa.int32(),
    sa.BigInteger: pa.int64(),
    sa.Double: pa.float64(),
    sa.REAL: pa.float32(),
    sa.Boolean: pa.bool_(),
    sa.DateTime: pa.timestamp("us"),
}


def arrow_schema(table: sa.Table) -> pa.Schema:
    """Return the Arrow schema of *table*: what `warehouse.writers` wants and the readers return."""
    return pa.schema(
        [
            pa.field(column.name, _arrow_type(column.type), nullable=bool(column.nullable))
            for column in table.columns
        ]
    )


def _arrow_type(kind: sa.types.TypeEngine[Any]) -> pa.DataType:
    if isinstance(kind, sa.ARRAY):
        return pa.list_(_arrow_type(kind.item_type))
    return _ARROW_TYPES[type(kind)]
