"use strict";
// The page itself: choices in, figures redrawn.

const figureNames = [...document.querySelectorAll("[data-figure]")].map((figure) => figure.dataset.figure);
const MOVED_BY_SLIDER = ["reliability_diagram", "error_curve", "loss_curve"];

/** Fill every choice with its options, keeping what was chosen where it still exists. */
function fillControls() {
  for (const [name, list] of Object.entries(options)) {
    const values = list();
    if (!values.includes(state[name])) state[name] = values.length ? values[0] : null;
    for (const control of document.querySelectorAll(`[data-control="${name}"]`)) {
      const texts = values.map(String);
      const current = [...control.options].map((option) => option.value);
      if (texts.join("\u0000") !== current.join("\u0000")) {
        control.replaceChildren(...texts.map((text) => element("option", text, { value: text })));
      }
      control.value = String(state[name]);
      control.disabled = values.length < 2;
      control.closest("label").hidden = !values.length;
    }
  }
  prepareSlider();
}

/** Show which sections have rows of the study; one without any says so in its own sentence. */
function showSections() {
  for (const section of document.querySelectorAll("[data-section]")) {
    const tables = carried.section_tables[section.dataset.section];
    const isEmpty = !tables.some((table) => rowsOf(table).some((row) => row.study_name === state.study));
    section.querySelector('[data-role="section-absence"]').hidden = !isEmpty;
    section.querySelector('[data-role="figures"]').hidden = isEmpty;
  }
}

const waiting = new Set();
let isDrawing = false;

/** Redraw *names* one after the other: a slider moves faster than a chart is drawn. */
async function redraw(names = figureNames) {
  showSections();
  showReadouts();
  names.forEach((name) => waiting.add(name));
  if (isDrawing) return;
  isDrawing = true;
  try {
    while (waiting.size) {
      const [name] = waiting;
      waiting.delete(name);
      const place = document.querySelector(`[data-figure="${name}"]`);
      if (!place.closest("[hidden]")) await drawFigure(name, selections[name]());
    }
  } finally {
    isDrawing = false;
  }
  document.documentElement.dataset.drawn = String(Number(document.documentElement.dataset.drawn || 0) + 1);
}

function choose(control) {
  const name = control.dataset.control;
  const values = options[name]();
  state[name] = values.find((value) => String(value) === control.value);
  fillControls();
  return redraw();
}

function chooseTemperature(slider) {
  state.temperature = storedTemperatures()[Number(slider.value)];
  prepareSlider();
  return redraw(MOVED_BY_SLIDER);
}

function turnTheme(button) {
  const isDark = getComputedStyle(document.documentElement).getPropertyValue("--is-dark").trim() === "1";
  document.documentElement.dataset.theme = isDark ? "light" : "dark";
  button.setAttribute("aria-pressed", String(!isDark));
}

for (const control of document.querySelectorAll("[data-control]")) {
  control.addEventListener("change", () => choose(control));
}
const slider = document.getElementById("temperature");
if (slider) slider.addEventListener("input", () => chooseTemperature(slider));
const themeButton = document.getElementById("theme");
themeButton.addEventListener("click", () => turnTheme(themeButton));
document.querySelectorAll("[data-figure]").forEach(connectFigure);
state.temperature = 1;
fillControls();
redraw();
