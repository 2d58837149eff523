"use strict";
// Which rows each figure shows for what the reader chose. Values come from the marts as they are;
// only hulls, which pick among the points, and labels are made here.

const state = { study: carried.study_names[0] };
const AXES_NAMES = ["semantic", "lexical", "syntactic"];
const UNIT_DIAGONAL = [{ horizontal: 0, vertical: 0 }, { horizontal: 1, vertical: 1 }];
const OVERLAP_MEASURES = [
  "overlap_calibration", "composite_calibration", "iou", "centroid_distance", "volume_ratio",
  "hausdorff_distance", "wasserstein_mean", "diversity_rank_correlation",
];

const ofStudy = (table) => rowsWhere(table, { study_name: state.study });
const kindOf = (row) => (row.story_source_name === "human" ? "human" : "generated");
const generatedSources = () =>
  valuesOf(ofStudy("diversity_vectors"), "story_source_name").filter((name) => name !== "human");

/** The choices of each control; the first is taken until the reader takes another. */
const options = {
  study: () => carried.study_names,
  story_source: generatedSources,
  axes: () => preferring(valuesOf(ofStudy("credal_sets"), "axes"), "semantic_lexical_syntactic"),
  axis: () => AXES_NAMES,
  components: () => ["1 and 2", "1 and 3", "2 and 3"],
  overlap_measure: () => OVERLAP_MEASURES,
  interval_measure: () =>
    preferring(valuesOf(ofStudy("credal_overlap_intervals"), "measure_name"), "overlap_calibration"),
  decomposed_model: () => valuesOf(ofStudy("variance_decompositions"), "language_model_name"),
  ddof: () => valuesOf(ofStudy("variance_decompositions"), "ddof"),
  tested_measure: () =>
    preferring(valuesOf(ofStudy("hypothesis_tests"), "measure_name"), "composite_calibration"),
  verdict_from: () => ["published inputs", "this study"],
};

function preferring(values, first) {
  return values.includes(first) ? [first, ...values.filter((value) => value !== first)] : values;
}

/** The convex hull of *points* in the plane, anticlockwise; two points make a line. */
function hullOf(points) {
  const sorted = [...points].sort((a, b) => a.horizontal - b.horizontal || a.vertical - b.vertical);
  const turn = (o, a, b) =>
    (a.horizontal - o.horizontal) * (b.vertical - o.vertical) -
    (a.vertical - o.vertical) * (b.horizontal - o.horizontal);
  const chain = (ordered) => {
    const kept = [];
    for (const point of ordered) {
      while (kept.length > 1 && turn(kept.at(-2), kept.at(-1), point) <= 0) kept.pop();
      kept.push(point);
    }
    return kept.slice(0, -1);
  };
  return sorted.length < 3 ? sorted : [...chain(sorted), ...chain(sorted.reverse())];
}

const selections = {
  samples: () => ({
    rows: ofStudy("samples"),
    alternative: "Share of stories of each status, by story source.",
    absence: "This study stores no stories: it brought ready diversity vectors, forecasts or texts.",
  }),
  story_sets: () => ({ rows: ofStudy("story_sets") }),
  rejects: () => ({
    rows: ofStudy("rejects"),
    alternative: "Rejected records by reason.",
    absence: "Nothing was rejected in this study.",
  }),
  studies: () => ({ rows: ofStudy("studies") }),
  runs: () => ({
    rows: rowsOf("runs").filter((row) => row.study_name === state.study || row.study_name === null),
  }),
  language_models: () => ({
    rows: ofStudy("language_models"),
    absence: "No language model wrote stories here: they were made elsewhere, or there are none.",
  }),
  test_sets: () => ({ rows: ofStudy("test_sets"), absence: "This study has no test set." }),

  diversity_summaries: () => ({
    rows: rowsWhere("diversity_summaries", { study_name: state.study, axis_name: state.axis }),
    titles: { horizontal: `${state.axis} diversity` },
    alternative: `Quartiles of ${state.axis} diversity over prompts, by story source.`,
  }),
  principal_components: selectPrincipalComponents,
  loadings: selectLoadings,
  heat_map: () => {
    const rows = rowsWhere("credal_overlaps", { study_name: state.study, axes: state.axes });
    return {
      rows: rows.map((row) => ({ ...row, value: row[state.overlap_measure] })),
      alternative: `${state.overlap_measure} by language model and decoding strategy.`,
      absence: "No story source can be compared: that takes a human set and another with shared axes.",
      note: statusNote(rows, "comparison_status"),
    };
  },
  volumes: () => {
    const rows = rowsWhere("credal_sets", { study_name: state.study, axes: state.axes });
    return {
      rows,
      titles: { horizontal: `hull_volume, ${state.axes.replaceAll("_", " × ")}` },
      alternative: "Volume of the credal set of each story source.",
      note: statusNote(rows, "credal_set_status"),
    };
  },
  intervals: selectIntervals,
  decomposition: () => ({
    rows: rowsWhere("variance_decompositions", {
      study_name: state.study, language_model_name: state.decomposed_model, ddof: state.ddof,
    }),
    alternative: `Epistemic ratio of ${state.decomposed_model} with each strategy left out.`,
    absence: "No language model of this study wrote with two decoding strategies.",
  }),
  hypothesis_tests: () => ({
    rows: rowsWhere("hypothesis_tests", {
      study_name: state.study, axes: state.axes, measure_name: state.tested_measure,
    }),
    absence: "No groups of configurations are there to be compared in this measure.",
  }),
  prompt_scatter: selectPromptScatter,
  verdicts: () => ({
    rows: ofStudy("published_reconciliations").map((row) => ({
      ...row,
      place: `${row.section} ${row.printed_in}`,
      verdict: state.verdict_from === "this study" ? row.verdict_from_study : row.verdict_from_published,
    })),
    alternative: `Verdicts on published figures, recomputed from ${state.verdict_from}.`,
  }),
};

/** Say which story sources have a status other than `ok`, and nothing where all have it. */
function statusNote(rows, column) {
  const told = rows.filter((row) => row[column] !== "ok");
  return told.map((row) => `${row.story_source_name}: ${row[column]}`).join("; ");
}

function promptTexts() {
  return new Map(ofStudy("prompts").map((row) => [row.prompt_id, row.prompt_text]));
}

function selectPrincipalComponents() {
  const [first, second] = state.components.split(" and ");
  const share = new Map(
    rowsWhere("principal_components", { study_name: state.study, fitted_on: "all" }).map((row) => [
      String(row.component_number), row.explained_variance_share,
    ]),
  );
  const title = (number) =>
    `component ${number}` + (share.has(number) ? ` (${(100 * share.get(number)).toFixed(1)} % of variance)` : "");
  const texts = promptTexts();
  const rows = ofStudy("principal_coordinates")
    .filter((row) => row.story_source_name === "human" || row.story_source_name === state.story_source)
    .map((row) => ({
      ...row,
      kind: kindOf(row),
      prompt_text: texts.get(row.prompt_id) ?? row.prompt_id,
      horizontal: row[`coordinate_${first}`],
      vertical: row[`coordinate_${second}`],
    }))
    .filter((row) => row.horizontal !== null && row.vertical !== null);
  const hulls = ["human", "generated"].flatMap((kind) =>
    hullOf(rows.filter((row) => row.kind === kind)).map((row, order) => ({ ...row, order })),
  );
  return {
    rows,
    sets: { hulls },
    titles: { horizontal: title(first), vertical: title(second) },
    alternative: `Prompts of people and of ${state.story_source} in ${title(first)} and ${title(second)}, with hulls.`,
    absence: "No story source has vectors to project.",
    note: !rows.length || rows.some((row) => row.kind === "human") ? "" : "This study has no human set to compare with.",
  };
}

function selectLoadings() {
  const rows = rowsWhere("principal_components", { study_name: state.study, fitted_on: "all" });
  const loadings = rows.flatMap((row) =>
    AXES_NAMES.filter((axis) => row[`${axis}_loading`] !== null).map((axis) => ({
      component: `${row.component_number} (${(100 * row.explained_variance_share).toFixed(1)} %)`,
      axis,
      loading: row[`${axis}_loading`],
    })),
  );
  return { rows, sets: { loadings }, alternative: "Loadings of the axes in each principal component." };
}

function selectIntervals() {
  const rows = rowsWhere("credal_overlap_intervals", {
    study_name: state.study, axes: state.axes, measure_name: state.interval_measure,
  });
  const scores = rows.flatMap((row) => [
    {
      story_source_name: row.story_source_name, scored_on: "all prompts", value: row.estimate,
      low: row.bootstrap_low, high: row.bootstrap_high,
    },
    {
      story_source_name: row.story_source_name, scored_on: "halves of the prompts",
      value: row.half_mean, low: row.half_low, high: row.half_high,
    },
  ]);
  const ceiling = rows.filter((row) => row.human_ceiling_mean !== null).slice(0, 1);
  const resolved = rows.filter((row) => row.is_resolved_from_ceiling).length;
  return {
    rows,
    sets: { scores: scores.filter((row) => row.value !== null), ceiling },
    titles: { horizontal: state.interval_measure },
    alternative: `${state.interval_measure} of each story source with intervals, beside the human ceiling.`,
    absence: "No story source can be compared with people in this measure.",
    note: rows.length ? `${resolved} of ${rows.length} story sources can be told from people by this measure.` : "",
  };
}

function selectPromptScatter() {
  const column = `${state.axis}_diversity`;
  const human = new Map(
    rowsWhere("diversity_vectors", { study_name: state.study, story_source_name: "human" }).map((row) => [
      row.prompt_id, row[column],
    ]),
  );
  const texts = promptTexts();
  const rows = rowsWhere("diversity_vectors", { study_name: state.study, story_source_name: state.story_source })
    .map((row) => ({
      study_name: row.study_name,
      story_source_name: row.story_source_name,
      prompt_id: row.prompt_id,
      prompt_text: texts.get(row.prompt_id) ?? row.prompt_id,
      horizontal: human.get(row.prompt_id) ?? null,
      vertical: row[column],
    }))
    .filter((row) => row.horizontal !== null && row.vertical !== null);
  const all = rows.flatMap((row) => [row.horizontal, row.vertical]);
  const ends = [Math.min(...all), Math.max(...all)].map((end) => ({ horizontal: end, vertical: end }));
  return {
    rows,
    sets: { diagonal: rows.length ? ends : [] },
    titles: { horizontal: `people: ${column}`, vertical: `story source: ${column}` },
    alternative: `${column} of ${state.story_source} against that of people, one point a prompt.`,
    absence: "No prompt has both a human and a generated diversity on this axis.",
  };
}
