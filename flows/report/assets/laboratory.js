"use strict";
// Token calibration at a temperature and a bin count: stored rows are looked up, none is computed.

const scored = () => ({
  study_name: state.study, test_set_name: state.test_set, language_model_name: state.scored_model,
});

Object.assign(options, {
  test_set: () => valuesOf(ofStudy("calibration_errors"), "test_set_name"),
  scored_model: () =>
    valuesOf(
      rowsWhere("calibration_errors", { study_name: state.study, test_set_name: state.test_set }),
      "language_model_name",
    ),
  bin_count: () => preferring(valuesOf(rowsWhere("calibration_errors", scored()), "bin_count"), 15),
  breakdown: () => valuesOf(rowsWhere("confidence_breakdowns", scored()), "breakdown_name"),
  fact_model: () => valuesOf(ofStudy("fact_regimes"), "language_model_name"),
  set_temperature: () =>
    preferring(valuesOf(rowsWhere("prediction_set_coverage", scored()), "applied_temperature"), 1),
});

/** The temperatures that the slider stops at; 1 alone where only confidences are known. */
function storedTemperatures() {
  const found = valuesOf(rowsWhere("tempered_reliability_bins", scored()), "applied_temperature");
  return [...new Set([1, ...found])].sort((a, b) => a - b);
}

/** Labels come by their tokens, places and ranges in their own order. */
function inReadingOrder(rows) {
  if (state.breakdown === "top_label") return rows;
  return [...rows].sort((a, b) => a.class_name.localeCompare(b.class_name, "en", { numeric: true }));
}

function overallFit() {
  return rowsWhere("temperature_fits", { ...scored(), token_group: "all", fold_name: "all" })[0];
}

function errorsChosen() {
  const bins = { ...scored(), bin_count: state.bin_count };
  return state.temperature === 1
    ? rowsWhere("calibration_errors", bins)[0]
    : rowsWhere("temperature_curves", { ...bins, applied_temperature: state.temperature })[0];
}

function markedTemperatures() {
  const fit = overallFit();
  return {
    chosen: [{ applied_temperature: state.temperature }],
    fitted: fit && fit.fitted_temperature !== null ? [fit] : [],
  };
}

Object.assign(selections, {
  reliability_diagram: () => {
    const bins = { ...scored(), bin_count: state.bin_count };
    const rows =
      state.temperature === 1
        ? rowsWhere("reliability_bins", bins)
        : rowsWhere("tempered_reliability_bins", { ...bins, applied_temperature: state.temperature });
    const errors = errorsChosen();
    return {
      rows,
      sets: { diagonal: UNIT_DIAGONAL },
      alternative:
        `Reliability diagram of ${state.scored_model} on ${state.test_set} at temperature ` +
        `${state.temperature}, ${state.bin_count} bins` +
        (errors ? `: ECE ${shown(errors.ece_plugin)}, twin ${shown(errors.twin_ece_mean)}.` : "."),
      note:
        storedTemperatures().length > 1
          ? ""
          : "Only confidences of these forecasts are stored, so no other temperature can be told of.",
    };
  },
  error_curve: () => ({
    rows: rowsWhere("temperature_curves", { ...scored(), bin_count: state.bin_count }),
    sets: markedTemperatures(),
    alternative: "Calibration error by temperature, beside that of a calibrated twin.",
    absence: "Only confidences of these forecasts are stored, so there is no curve.",
  }),
  loss_curve: () => ({
    rows: rowsWhere("temperature_curves", { ...scored(), bin_count: state.bin_count }),
    sets: markedTemperatures(),
    alternative: "Mean log loss by temperature.",
    absence: "Only confidences of these forecasts are stored, so there is no curve.",
  }),
  temperature_fits: () => ({
    rows: rowsWhere("temperature_fits", scored()),
    absence: "No temperature was fitted: only confidences of these forecasts are stored.",
    note: rowsWhere("temperature_fits", scored())
      .filter((row) => row.fit_status !== "converged")
      .map((row) => `${row.token_group}, ${row.fold_name}: ${row.fit_status}`)
      .join("; "),
  }),
  breakdown: () => ({
    rows: inReadingOrder(rowsWhere("confidence_breakdowns", { ...scored(), breakdown_name: state.breakdown })),
    sets: { zero: [{ gap: 0 }] },
    alternative: `Gap of each class of ${state.breakdown}.`,
    absence: "No breakdown of these tokens is known.",
  }),
  fact_regimes: () => ({
    rows: rowsWhere("fact_regimes", { study_name: state.study, language_model_name: state.fact_model })
      .map((row) => ({ ...row, place: `${row.test_set_name}: ${row.regime} (${row.probe_count})` })),
    alternative: `Mean confidence and accuracy of ${state.fact_model} by regime.`,
    absence: "No fact model was trained in this study.",
  }),
  coverage: () => ({
    rows: rowsWhere("prediction_set_coverage", {
      ...scored(), applied_temperature: state.set_temperature, coverage_status: "measured",
    }),
    sets: { diagonal: [{ horizontal: 0.5, vertical: 0.5 }, { horizontal: 1, vertical: 1 }] },
    alternative: `Measured against claimed coverage at temperature ${state.set_temperature}.`,
    absence: "Coverage is not known: only confidences of these forecasts are stored.",
  }),
});

/** Write one readout: what is shown is rounded, `data-value` holds every digit. */
function readOut(name, value, text = shown(value)) {
  const place = document.querySelector(`[data-readout="${name}"]`);
  place.textContent = text;
  place.dataset.value = value === null || value === undefined ? "" : String(value);
}

function showReadouts() {
  const errors = errorsChosen() || {};
  for (const name of ["token_count", "ece_plugin", "twin_ece_mean", "twin_ece_sd", "accuracy", "mean_confidence", "gap"]) {
    readOut(name, errors[name]);
  }
  readOut("log_loss_nats", errors.log_loss_nats);
  const nucleus = rowsWhere("prediction_set_coverage", {
    ...scored(), set_kind: "nucleus", target_coverage: 0.9, applied_temperature: state.temperature,
  })[0] || {};
  readOut("prediction_set_coverage", nucleus.prediction_set_coverage);
  readOut("kept_mass", nucleus.kept_mass);
  const stored = valuesOf(
    rowsWhere("prediction_set_coverage", { ...scored(), coverage_status: "measured" }),
    "applied_temperature",
  );
  document.getElementById("coverage-stored").textContent = stored.length
    ? `Coverage is stored at temperatures ${stored.join(", ")}.`
    : "";
  const fit = overallFit() || {};
  const isFitted = fit.fitted_temperature !== null && fit.fitted_temperature !== undefined;
  readOut("fitted_temperature", fit.fitted_temperature, isFitted ? shown(fit.fitted_temperature) : fit.fit_status || "–");
  readOut("temperature_gain_nats", fit.temperature_gain_nats);
}

/** Set the slider's stops to what is stored for the choice. */
function prepareSlider() {
  const slider = document.getElementById("temperature");
  if (!slider) return;
  const stops = storedTemperatures();
  if (!stops.includes(state.temperature)) state.temperature = 1;
  slider.max = String(stops.length - 1);
  slider.value = String(stops.indexOf(state.temperature));
  slider.disabled = stops.length === 1;
  slider.setAttribute("aria-valuetext", `temperature ${state.temperature}`);
  document.getElementById("temperature-shown").textContent = String(state.temperature);
}
