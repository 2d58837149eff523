"""Every task runner of the settings computes the same rows."""

from __future__ import annotations

import pytest
from prefect import flow

from flows.feature_batches import FeatureSettings, TextBatch, word_set_rows
from flows.measure import measure_batch, task_runner
from flows.settings import Settings, TaskRunnerName
from warehouse.measurements import Feature

SETTINGS = FeatureSettings("", 256, "", 5000, 16, None)
BATCH = TextBatch(("a", "b"), (0, 2), ("One two, two.", "Three four five six."))


@pytest.mark.filterwarnings("ignore")  # the libraries of the workers warn of one another
@pytest.mark.parametrize("name", list(TaskRunnerName))
def test_a_task_runner_gives_what_a_plain_call_gives(name: TaskRunnerName) -> None:
    @flow(name="probe")
    def probe() -> dict[str, list[object]]:
        rows = measure_batch.submit(Feature.WORD_SET, BATCH, SETTINGS).result()
        return dict(rows.to_pydict())

    runner = task_runner(Settings(task_runner=name))
    found = probe.with_options(task_runner=runner)()
    assert found == word_set_rows(BATCH, SETTINGS).to_pydict()
    assert found["words"] == [["one", "two"], ["four", "three"]]
