"""Measure two texts with every task runner of the settings, and print the rows as JSON."""

from __future__ import annotations

import json
import warnings

from flows.feature_batches import FeatureSettings, TextBatch

SETTINGS = FeatureSettings("", 256, "", 5000, 16, None)
BATCH = TextBatch(("a", "b"), (0, 2), ("One two, two.", "Three four five six."))


def main() -> None:
    """Run one task of a flow, once by each runner."""
    from prefect import flow

    from flows.measure import measure_batch, task_runner
    from flows.settings import Settings, TaskRunnerName
    from warehouse.measurements import Feature

    warnings.simplefilter("ignore")  # the libraries of the workers warn of one another

    @flow(name="probe")
    def probe() -> dict[str, list[object]]:
        rows = measure_batch.submit(Feature.WORD_SET, BATCH, SETTINGS).result()
        return dict(rows.to_pydict())

    found = {
        name.value: probe.with_options(task_runner=task_runner(Settings(task_runner=name)))()
        for name in TaskRunnerName
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
