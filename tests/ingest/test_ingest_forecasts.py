"""Claims about imported forecasts: what enters, what is rejected, what is refused whole."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import duckdb
import numpy as np
import pytest
from scipy.special import log_softmax

from flows.corpora.errors import InvalidForecastError, MissingColumnError, UnusedOptionError
from flows.corpora.layouts import ForecastsLayout
from flows.ingest_forecasts import ingest_forecasts
from flows.study import StudySettings

HEADER = "true_label,pred_label,confidence\n"
ROWS = HEADER + "cat,cat,0.75\ndog,cat,0.5\n"


def csv_file(folder: Path, content: str, name: str = "resnet.csv") -> Path:
    path = folder / name
    path.write_text(content)
    return path


def softmax_file(folder: Path, rows: np.ndarray, labels: list[int], **more: np.ndarray) -> Path:
    path = folder / "softmax.npz"
    np.savez(path, probs=rows, labels=np.array(labels), **more)
    return path


def tokens(warehouse: duckdb.DuckDBPyConnection, columns: str) -> list[tuple[object, ...]]:
    query = f"select {columns} from raw.scored_tokens order by scoring_id, token_index"  # noqa: S608
    return warehouse.execute(query).fetchall()


def rejected(warehouse: duckdb.DuckDBPyConnection) -> list[tuple[object, ...]]:
    return warehouse.execute(
        "select reject_kind, reason, line_number from raw.rejects order by line_number"
    ).fetchall()


def test_top_labels_enter_with_what_they_say_and_null_for_what_they_cannot(
    warehouse: duckdb.DuckDBPyConnection, small: StudySettings, tmp_path: Path
) -> None:
    report = ingest_forecasts(warehouse, small, ForecastsLayout(str(csv_file(tmp_path, ROWS))))
    assert (report.row_count, report.inserted_count) == (2, 2)
    assert tokens(warehouse, "token_index, outcome_label, top_label, confidence, is_hit") == [
        (0, "cat", "cat", 0.75, True),
        (1, "dog", "cat", 0.5, False),
    ]
    unknown = "log_probability_nats, entropy_nats, rank, mass_ahead, temperature_sketch"
    assert tokens(warehouse, unknown) == [(None,) * 5] * 2
    scoring = warehouse.execute(
        "select test_set_name, language_model_name, outcome_count from raw.scorings"
    ).fetchall()
    assert scoring == [("tiny", "resnet", None)]


def test_a_confidence_that_is_no_probability_is_rejected_with_its_line(
    warehouse: duckdb.DuckDBPyConnection, small: StudySettings, tmp_path: Path
) -> None:
    content = ROWS + "cat,cat,nan\ncat,cat,1.5\ncat,cat,\ncat,cat,high\n,cat,0.5\ncat,cat,1\n"
    report = ingest_forecasts(warehouse, small, ForecastsLayout(str(csv_file(tmp_path, content))))
    assert dict(report.reject_counts) == {"not_a_probability": 5}
    assert [token[0] for token in tokens(warehouse, "token_index")] == [0, 1, 7]
    assert rejected(warehouse) == [("token", "not_a_probability", line) for line in range(4, 9)]


def test_softmax_rows_fill_every_column(
    warehouse: duckdb.DuckDBPyConnection, small: StudySettings, tmp_path: Path
) -> None:
    rows = np.exp(log_softmax(np.random.default_rng(3).normal(size=(40, 5)), axis=1))
    labels = np.random.default_rng(4).integers(0, 5, size=40).tolist()
    path = softmax_file(tmp_path, rows, labels)
    ingest_forecasts(warehouse, small, ForecastsLayout(str(path), language_model="net"))
    found = tokens(
        warehouse,
        "confidence, is_hit, log_probability_nats, entropy_nats, rank, mass_ahead, "
        "len(temperature_sketch), mass_ahead_sketch is null",
    )
    for row, label, token in zip(rows, labels, found, strict=True):
        ahead = sorted(row[row > row[label]])
        assert token[:3] == (row.max(), row.argmax() == label, math.log(row[label]))
        # Stored in single precision.
        assert token[3] == pytest.approx(-(row * np.log(row)).sum(), rel=2.0**-24)
        assert token[4] == len(ahead)
        assert token[5] == pytest.approx(sum(ahead), abs=1e-15)
        assert token[6:] == (16, len(ahead) == 0)


def test_an_impossible_outcome_and_a_row_of_nan_are_rejected(
    warehouse: duckdb.DuckDBPyConnection, small: StudySettings, tmp_path: Path
) -> None:
    rows = np.array([[1.0, 0.0], [np.nan, 0.5], [0.25, 0.75]])
    path = softmax_file(tmp_path, rows, [1, 0, 0])
    report = ingest_forecasts(warehouse, small, ForecastsLayout(str(path)))
    assert dict(report.reject_counts) == {"impossible_outcome": 1, "not_a_probability": 1}
    assert tokens(warehouse, "token_index") == [(2,)]


def test_lists_of_probabilities_give_what_the_matrix_gives(
    warehouse: duckdb.DuckDBPyConnection, small: StudySettings, tmp_path: Path
) -> None:
    rows = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]])
    lines = [
        json.dumps({"label": label, "softmax": row.tolist()})
        for row, label in zip(rows, (2, 1), strict=True)
    ]
    path = csv_file(tmp_path, "\n".join(lines), "listed.jsonl")
    ingest_forecasts(warehouse, small, ForecastsLayout(str(path)))
    ingest_forecasts(warehouse, small, ForecastsLayout(str(softmax_file(tmp_path, rows, [2, 1]))))
    found = tokens(warehouse, "* exclude (scoring_id, document_id)")
    assert len(found) == 4
    assert found[:2] == found[2:]


def test_the_same_file_again_changes_nothing_and_another_one_needs_a_name(
    warehouse: duckdb.DuckDBPyConnection, small: StudySettings, tmp_path: Path
) -> None:
    layout = ForecastsLayout(str(csv_file(tmp_path, ROWS)))
    ingest_forecasts(warehouse, small, layout)
    again = ingest_forecasts(warehouse, small, layout)
    assert (again.is_new, again.row_count, again.inserted_count) == (False, 2, 0)
    other = csv_file(tmp_path, ROWS + "cat,dog,0.5\n")
    with pytest.raises(InvalidForecastError, match="got another of 'resnet' for 'tiny'"):
        ingest_forecasts(warehouse, small, ForecastsLayout(str(other)))
    ingest_forecasts(warehouse, small, ForecastsLayout(str(other), language_model="other"))
    assert len(tokens(warehouse, "1")) == 5


def test_a_folder_holds_one_language_model_per_file(
    warehouse: duckdb.DuckDBPyConnection, small: StudySettings, tmp_path: Path
) -> None:
    folder = tmp_path / "forecasts"
    folder.mkdir()
    csv_file(folder, ROWS, "first.csv")
    with gzip.open(folder / "second.v2.csv.gz", "wt") as file:
        file.write(ROWS)
    ingest_forecasts(warehouse, small, ForecastsLayout(str(folder)))
    rows = warehouse.execute(
        "select language_model_name, count(*) from raw.scorings inner join raw.scored_tokens "
        "using (scoring_id) group by all order by all"
    ).fetchall()
    assert rows == [("first", 2), ("second.v2", 2)]
    with pytest.raises(InvalidForecastError, match="one file of forecasts per test set"):
        ingest_forecasts(warehouse, small, ForecastsLayout(str(folder), language_model="both"))


@pytest.mark.parametrize(
    ("rows", "labels", "more", "sentence"),
    [
        ([[2.0, -1.0]], [0], {}, r"sum to 1, got smallest -1.*save their softmax"),
        ([[0.5, 0.5]], [2], {}, "number of a column, 0 to 1, got '2' on line 1"),
        ([[0.5, 0.5]], [0, 1], {}, "one label for each of its rows"),
        ([[0.5, 0.5]], [0], {"logits": np.ones((1, 2))}, "found probs float64"),
    ],
)
def test_a_file_that_holds_no_forecasts_is_refused_whole(
    warehouse: duckdb.DuckDBPyConnection,
    small: StudySettings,
    tmp_path: Path,
    rows: list[list[float]],
    labels: list[int],
    more: dict[str, np.ndarray],
    sentence: str,
) -> None:
    path = softmax_file(tmp_path, np.array(rows), labels, **more)
    with pytest.raises(InvalidForecastError, match=sentence):
        ingest_forecasts(warehouse, small, ForecastsLayout(str(path)))
    assert tokens(warehouse, "1") == []


def test_columns_are_found_by_option_and_missing_ones_named(
    warehouse: duckdb.DuckDBPyConnection, small: StudySettings, tmp_path: Path
) -> None:
    path = csv_file(tmp_path, "truth,guess,sure\n1,1,0.5\n")
    with pytest.raises(MissingColumnError, match="--true-label-column"):
        ingest_forecasts(warehouse, small, ForecastsLayout(str(path)))
    ingest_forecasts(
        warehouse,
        small,
        ForecastsLayout(
            str(path),
            true_label_column="truth",
            pred_label_column="guess",
            confidence_column="sure",
        ),
    )
    assert tokens(warehouse, "is_hit") == [(True,)]
    with pytest.raises(UnusedOptionError, match="has arrays and no columns"):
        ingest_forecasts(
            warehouse,
            small,
            ForecastsLayout(
                str(softmax_file(tmp_path, np.eye(2), [0, 1])), true_label_column="truth"
            ),
        )


@pytest.mark.shared_data
def test_released_predictions_enter_whole(
    warehouse: duckdb.DuckDBPyConnection, small: StudySettings, shared_data: Path
) -> None:
    folder = shared_data / "calibration"
    ingest_forecasts(warehouse, small, ForecastsLayout(str(folder / "top_label")))
    for name in ("lenet-5-cifar-10.npz", "cifar_probs.npz"):
        ingest_forecasts(warehouse, small, ForecastsLayout(str(folder / "softmax" / name)))
    rows = warehouse.execute(
        "select language_model_name, count(*), avg(is_hit::integer) from raw.scorings "
        "inner join raw.scored_tokens using (scoring_id) group by all order by all"
    ).fetchall()
    assert [(name, count) for name, count, _ in rows] == [
        ("ImageNet_pytorch-image-models__resnet34", 50_000),
        ("cifar_probs", 10_000),
        ("lenet-5-cifar-10", 10_000),
        ("markus93__probs_resnet110_c10_logits", 10_000),
        ("markus93__probs_resnet50_birds_logits", 2_897),
        ("other__snacks", 952),
    ]
    assert rejected(warehouse) == []


def test_an_npz_file_with_a_number_beside_is_read(
    warehouse: duckdb.DuckDBPyConnection, small: StudySettings, tmp_path: Path
) -> None:
    path = softmax_file(tmp_path, np.eye(2), [0, 1], temperature=np.float64(1.0))
    assert ingest_forecasts(warehouse, small, ForecastsLayout(str(path))).inserted_count == 2


def test_npz_files_without_columns_or_bytes_are_refused(
    warehouse: duckdb.DuckDBPyConnection, small: StudySettings, tmp_path: Path
) -> None:
    path = softmax_file(tmp_path, np.empty((2, 0)), [0, 1])
    with pytest.raises(InvalidForecastError, match="one matrix of probabilities"):
        ingest_forecasts(warehouse, small, ForecastsLayout(str(path)))
    path.write_bytes(b"")
    with pytest.raises(InvalidForecastError, match="must hold plain arrays"):
        ingest_forecasts(warehouse, small, ForecastsLayout(str(path)))


@pytest.mark.parametrize("row", ["1.0,1,0.75", "1,01,0.75", "cat, cat,0.75"])
def test_labels_that_mean_the_same_and_are_written_otherwise_are_refused(
    warehouse: duckdb.DuckDBPyConnection, small: StudySettings, tmp_path: Path, row: str
) -> None:
    path = csv_file(tmp_path, f"{HEADER}3,7,0.5\n{row}\n")
    with pytest.raises(InvalidForecastError, match=r"must be written alike .* line 3"):
        ingest_forecasts(warehouse, small, ForecastsLayout(str(path)))
