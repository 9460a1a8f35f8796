"use strict";
// Tables of systems: a click on a heading sorts the rows of each kind, words filter them, and print shows what is folded.

function keyOf(row, column) {
  const cell = row.children[column];
  if (!cell.classList.contains("number")) return cell.textContent;
  return "value" in cell.dataset ? Number(cell.dataset.value) : null;
}

// modes stand below their measure, and it is they that are sorted by
function headsOf(table) {
  return [...table.tHead.lastElementChild.cells];
}

function compareKeys(a, b) {
  return typeof a === "string" ? a.localeCompare(b) : a - b;
}

function sortTable(table, column) {
  const heads = headsOf(table), head = heads[column];
  // numbers fall first, names rise first
  const first = head.classList.contains("number") ? "descending" : "ascending";
  const other = first === "descending" ? "ascending" : "descending";
  const way = head.getAttribute("aria-sort") === first ? other : first;
  heads.forEach((each) => each.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", way);
  for (const body of table.tBodies) {
    const rows = [...body.querySelectorAll("tr:not(.heading)")].map((row) => ({row, key: keyOf(row, column)}));
    const known = rows.filter(({key}) => key !== null).sort((a, b) => compareKeys(a.key, b.key) * (way === "ascending" ? 1 : -1));
    body.append(...known.map(({row}) => row), ...rows.filter(({key}) => key === null).map(({row}) => row));
  }
}

function filterSystems(section, words) {
  const fits = (text) => words.every((word) => text.toLowerCase().includes(word));
  for (const body of section.querySelectorAll(".scores tbody")) {
    const heading = body.querySelector(".heading");
    const whole = heading !== null && words.length > 0 && fits(heading.textContent);
    const rows = [...body.querySelectorAll("tr:not(.heading)")];
    for (const row of rows) row.hidden = !whole && !fits(row.cells[0].textContent);
    if (heading) heading.hidden = rows.every((row) => row.hidden);
  }
}

document.querySelectorAll(".scores").forEach((table) => {
  headsOf(table).forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => sortTable(table, column));
  });
});
document.querySelectorAll(".systems").forEach((form) => {
  form.addEventListener("submit", (event) => event.preventDefault());
  const words = form.querySelector("input");
  words.addEventListener("input", () => {
    filterSystems(form.closest("section"), words.value.toLowerCase().split(/\s+/).filter(Boolean));
  });
});
// queries and the numbers of figures are too many for paper
addEventListener("beforeprint", () => document.querySelectorAll("details:not(.by-query, .numbers)").forEach((each) => { each.open = true; }));
