"""Record what a publication showed, for the next build to compare its figures with.

Recorded is what the snapshot itself carries, so that a process killed between publishing and
recording leaves nothing to guess: the next build reads the snapshot again.
"""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from flows.settings import Settings
from warehouse.connection import open_snapshot
from warehouse.readers import read_arrow
from warehouse.schema import published_figures
from warehouse.writers import upsert

_SHOWN = """
select
    figure_id, study_name, figure_set_id, figure_kind, measure_name, test_set_name,
    language_model_name, binning, story_source_name, coordinate_frame, axes, figure_value,
    noise_floor, noise_sd, noise_kind, sample_count, sample_id, definition_json
from marts.fct_run_changes
where change_status != 'gone_figure'
"""

_LATEST_SETS = """
select distinct figures.study_name, figures.figure_set_id
from raw.published_figures as figures
inner join raw.publications as publications
    on figures.publication_id = publications.publication_id
qualify
    dense_rank() over (
        partition by figures.study_name
        order by publications.published_at desc, publications.publication_id desc
    ) = 1
"""


def record_figures(
    settings: Settings, connection: duckdb.DuckDBPyConnection, publication_id: str
) -> int:
    """Write the figures of the snapshot, which is that of *publication_id*; return how many.

    A study whose figures are all those recorded last is left out: what it shows is known already.
    A snapshot of an older calibrary, which compares nothing, has none.
    """
    with open_snapshot(settings.home) as snapshot:
        try:
            shown = read_arrow(snapshot, _SHOWN)
        except duckdb.CatalogException:
            return 0
    known = read_arrow(connection, _LATEST_SETS)
    # The identity of a set is a hash that takes in the study's name by way of its figures.
    is_known = pc.is_in(shown["figure_set_id"], value_set=known["figure_set_id"].combine_chunks())
    new = shown.filter(pc.invert(is_known))
    names = pa.array([publication_id] * new.num_rows, pa.string())
    return upsert(connection, published_figures, new.append_column("publication_id", names))
