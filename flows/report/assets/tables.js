"use strict";
// What the page carries: the answers to its queries, by column. Nothing is fetched.

const carried = JSON.parse(document.getElementById("report-data").textContent);
const unpackedTables = new Map();

/** Return all rows of a query as objects. */
function rowsOf(name) {
  if (!unpackedTables.has(name)) {
    const { row_count: rowCount, columns } = carried.tables[name];
    const rows = Array.from({ length: rowCount }, () => ({}));
    for (const [column, packed] of Object.entries(columns)) {
      for (let index = 0; index < rowCount; index += 1) {
        rows[index][column] = packed.different
          ? packed.different[packed.places[index]]
          : packed.values[index];
      }
    }
    unpackedTables.set(name, rows);
  }
  return unpackedTables.get(name);
}

/** Return the rows of a query whose columns have the values of *wanted*. */
function rowsWhere(name, wanted) {
  const columns = Object.keys(wanted);
  return rowsOf(name).filter((row) => columns.every((column) => row[column] === wanted[column]));
}

/** Return the different values of a column in order of their coming. */
function valuesOf(rows, column) {
  return [...new Set(rows.map((row) => row[column]))].filter((value) => value !== null && value !== undefined);
}

/** Return a value for reading: four digits of what is no whole number. */
function shown(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") {
    if (Number.isInteger(value)) return value.toLocaleString("en");
    return Math.abs(value) >= 1e-4 ? String(Number(value.toPrecision(4))) : value.toExponential(2);
  }
  return String(value);
}

/** Return *rows* as CSV in which every double keeps all its digits. */
function asCsv(rows) {
  if (!rows.length) return "";
  const columns = Object.keys(rows[0]);
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows.map((row) => columns.map((column) => row[column]))]
    .map((cells) => cells.map(cell).join(",") + "\n")
    .join("");
}

/** Return an element with text, which is never read as markup. */
function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== null) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/** Return the cell of a value; a number shows all its digits when pointed at. */
function cellOf(value) {
  const attributes = typeof value === "number" ? { class: "number", title: String(value) } : {};
  return element("td", shown(value), attributes);
}

/** Fill *place* with the one *row* as names beside values. */
function fillList(place, row, caption) {
  const table = element("table", null, { class: "list" });
  table.append(element("caption", caption, { class: "visually-hidden" }));
  for (const [column, value] of Object.entries(row)) {
    const line = element("tr", null);
    line.append(element("th", column, { scope: "row" }), element("td", shown(value)));
    table.append(line);
  }
  place.replaceChildren(table);
}

/** Fill *place* with *rows* as a table. */
function fillTable(place, rows, caption) {
  const table = element("table", null);
  table.append(element("caption", caption, { class: "visually-hidden" }));
  const columns = Object.keys(rows[0] || {});
  const head = element("tr", null);
  for (const column of columns) {
    const isNumber = rows.some((row) => typeof row[column] === "number");
    head.append(element("th", column, { scope: "col", class: isNumber ? "number" : "text" }));
  }
  const top = element("thead", null);
  top.append(head);
  const body = element("tbody", null);
  for (const row of rows) {
    const line = element("tr", null);
    for (const column of columns) {
      line.append(cellOf(row[column]));
    }
    body.append(line);
  }
  table.append(top, body);
  place.replaceChildren(table);
}
