"use strict";
// Errors are left where a test, or whoever reports them, can find them.
window.onerror = (message) => { document.documentElement.dataset.error = String(message); };

const number = (cell) => {
  const text = cell.dataset.value ?? cell.textContent.trim();
  return text === "" ? NaN : Number(text);
};

function compare(a, b, column, sign) {
  const [left, right] = [a.cells[column], b.cells[column]];
  const [x, y] = [number(left), number(right)];
  if (!Number.isNaN(x) && !Number.isNaN(y)) return sign * (x - y);
  // What has no value comes last, whatever the order.
  if (left.dataset.value === undefined && left.textContent.trim() === "") return right.textContent.trim() === "" ? 0 : 1;
  if (right.dataset.value === undefined && right.textContent.trim() === "") return -1;
  return sign * left.textContent.localeCompare(right.textContent, "en", { numeric: true });
}

function sort(table, column, descending) {
  const body = table.tBodies[0];
  const rows = [...body.rows].sort((a, b) => compare(a, b, column, descending ? -1 : 1));
  body.append(...rows);
  [...table.tHead.rows[0].cells].forEach((th, i) => {
    th.setAttribute("aria-sort", i === column ? (descending ? "descending" : "ascending") : "none");
  });
}

function filter(table, text, status) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of table.tBodies[0].rows) {
    const content = [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase();
    row.hidden = !words.every((word) => content.includes(word));
    shown += row.hidden ? 0 : 1;
  }
  status.textContent = `${shown} of ${table.tBodies[0].rows.length} rows`;
}

function equip(table, index) {
  table.id = `table${index + 1}`;
  [...table.tHead.rows[0].cells].forEach((th, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...th.childNodes);
    button.addEventListener("click", () => sort(table, column, th.getAttribute("aria-sort") === "ascending"));
    th.append(button);
    th.setAttribute("aria-sort", "none");
  });
  const label = document.createElement("label");
  label.className = "filter";
  const input = document.createElement("input");
  input.type = "search";
  input.id = `${table.id}-filter`;
  const status = document.createElement("span");
  status.setAttribute("role", "status");
  input.addEventListener("input", () => filter(table, input.value, status));
  label.append("Rows with all of these words: ", input, status);
  table.parentElement.before(label);
  filter(table, "", status);
  return (text) => { input.value = text; filter(table, text, status); };
}

// The state of tables may be given in the address: #table1-sort=3-descending&table1-filter=rhale
const given = new URLSearchParams(location.hash.slice(1));
document.querySelectorAll("table.sortable").forEach((table, index) => {
  const show = equip(table, index);
  const order = given.get(`${table.id}-sort`);
  if (order) {
    const [column, direction] = order.split("-");
    // Columns are counted without that of all keys, which only narrow screens show.
    const before = table.tHead.querySelectorAll(".keys").length;
    sort(table, Number(column) - 1 + before, direction === "descending");
  }
  const words = given.get(`${table.id}-filter`);
  if (words) show(words);
});

// On paper nothing can be opened.
const opened = [];
addEventListener("beforeprint", () => {
  document.querySelectorAll("details:not([open])").forEach((details) => { details.open = true; opened.push(details); });
});
addEventListener("afterprint", () => { opened.splice(0).forEach((details) => { details.open = false; }); });
