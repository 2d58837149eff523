"use strict";
// Drawing one figure: its chart, its table, its downloads.

const drawnViews = new Map();
const currentRows = new Map();

/** Return the place of a figure's part. */
function part(name, role) {
  return document.querySelector(`[data-figure="${name}"] [data-role="${role}"]`);
}

/** Draw figure *name* with what `selections` chose: `{rows, sets, titles, alternative, absence}`. */
async function drawFigure(name, selected) {
  const { specification } = carried.figures[name];
  currentRows.set(name, selected.rows);
  const message = part(name, "absence");
  // A table that was never published says so already.
  if (message) {
    message.textContent = selected.absence || "There are no rows to show.";
    message.hidden = selected.rows.length > 0;
  }
  const note = part(name, "note");
  note.textContent = selected.note || "";
  note.hidden = !selected.note;
  part(name, "body").hidden = !selected.rows.length;
  const table = part(name, "table");
  if (!specification || table.closest("details").open) fillFigureTable(name);
  else table.replaceChildren();
  if (!specification || !selected.rows.length) return;
  const place = part(name, "chart");
  const alternative = selected.alternative || "";
  place.setAttribute("aria-label", `Chart. ${alternative} The figures are in the table below.`);
  // The library writes attributes of its own on the element it draws in: it gets an inner one.
  await drawChart(name, place.firstElementChild, withTitles(specification, selected.titles || {}), {
    rows: selected.rows,
    ...selected.sets,
  });
}

/** Return a specification whose titles in braces are what the reader chose. */
function withTitles(specification, titles) {
  return JSON.parse(JSON.stringify(specification), (key, value) => {
    const match = typeof value === "string" && /^\{(\w+)\}$/.exec(value);
    return match ? titles[match[1]] || match[1] : value;
  });
}

async function drawChart(name, place, specification, sets) {
  const key = JSON.stringify(specification);
  const drawn = drawnViews.get(name);
  if (drawn && drawn.key === key) {
    for (const { name: set } of specification.data) {
      if (sets[set]) drawn.view.data(set, plain(sets[set]));
    }
    await drawn.view.runAsync();
    return;
  }
  if (drawn) drawn.view.finalize();
  for (const set of specification.data) {
    if (sets[set.name]) set.values = plain(sets[set.name]);
  }
  // A phone has no room for long names beside the bars, nor for legends in a row.
  const isNarrow = window.innerWidth < 600;
  specification.config.axis.labelLimit = isNarrow ? 130 : 280;
  specification.config.legend.columns = isNarrow ? 1 : 3;
  const { view } = await vegaEmbed(place, specification, {
    mode: "vega",
    actions: false,
    renderer: "svg",
    logLevel: 1, // errors: a set without rows, such as a fit that found nothing, is no fault
    ast: true, // expressions are walked, so that the page may forbid `eval`
  });
  drawnViews.set(name, { view, key });
}

/** Return copies: the library writes its own marks into the rows it is given. */
function plain(rows) {
  return rows.map((row) => ({ ...row }));
}

function fillFigureTable(name) {
  const title = part(name, "title").textContent;
  const rows = currentRows.get(name) || [];
  if (name === "studies" && rows.length === 1) fillList(part(name, "table"), rows[0], title);
  else fillTable(part(name, "table"), rows, title);
}

/** Offer *text* as a file. */
function download(fileName, text, kind) {
  const address = URL.createObjectURL(new Blob([text], { type: kind }));
  const link = element("a", null, { href: address, download: fileName });
  document.body.append(link);
  link.click();
  link.remove();
  URL.revokeObjectURL(address);
}

async function downloadSvg(name) {
  const style = getComputedStyle(document.documentElement);
  const svg = await drawnViews.get(name).view.toSVG();
  // Outside this page its variables have no value: write the colours in.
  const coloured = svg.replace(/var\((--[\w-]+)\)/g, (_, variable) => style.getPropertyValue(variable).trim());
  const background = style.getPropertyValue("--surface").trim();
  download(`${name}.svg`, coloured.replace("<svg ", `<svg style="background:${background}" `), "image/svg+xml");
}

function connectFigure(figure) {
  const name = figure.dataset.figure;
  figure.querySelector('[data-role="csv"]').addEventListener("click", () => {
    download(`${name}.csv`, asCsv(currentRows.get(name) || []), "text/csv");
  });
  const svg = figure.querySelector('[data-role="svg"]');
  if (svg) svg.addEventListener("click", () => downloadSvg(name));
  const details = part(name, "table").closest("details");
  if (details) details.addEventListener("toggle", () => details.open && fillFigureTable(name));
}
