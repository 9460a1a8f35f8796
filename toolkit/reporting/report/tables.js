"use strict";
// Tables of systems: DataTables sorts, searches and chooses columns; the baseline and the chosen runs are shown in all of them.

// the number at full precision, where there is one
function exported(data, row, column, cell) {
  return inSpreadsheet(cell.dataset.order ?? cell.textContent.trim());
}

function buttonsOf(table) {
  const latex = table.closest(".table").querySelector(".latex");
  const heading = {header: (data, column, cell) => inSpreadsheet(cell.dataset.label ?? cell.textContent.trim())};
  const options = (format) => ({columns: ":visible", format: {...heading, ...format}});
  return [
    {extend: "colvis", text: "Columns", columns: ":gt(0)", columnText: (api, place) => api.column(place).header().dataset.label},
    {extend: "copyHtml5", text: "Copy", title: null, exportOptions: options({body: (data, row, column, cell) => cell.textContent.trim()})},
    {extend: "csvHtml5", text: "CSV", title: null, filename: table.closest(".table").id, exportOptions: options({body: exported})},
    {text: "LaTeX", action: (event, api, button) => unpacked(latex).then((text) => copyText(text, button[0]))},
  ];
}

function enhance(table) {
  if (DataTable.isDataTable(table)) return;
  const heads = [...table.tHead.rows[0].cells];
  for (const button of table.tHead.querySelectorAll(".about")) {
    // it says what a column is, and does not sort by it
    for (const name of ["click", "mousedown", "keydown", "keypress"]) button.addEventListener(name, (event) => event.stopPropagation());
  }
  const better = (place) => heads[place].dataset.better;
  const rising = heads.map((head, place) => place).filter((place) => !heads[place].classList.contains("number") || better(place) === "lower");
  const select = table.closest(".table.main")?.parentElement.querySelector(":scope > .compare");
  const compare = select ? [() => select] : [];
  new DataTable(table, {
    paging: false, info: false, autoWidth: false, order: [], orderMulti: false,
    columnDefs: [
      {targets: rising, orderSequence: ["asc", "desc", ""]},
      {targets: "_all", orderSequence: ["desc", "asc", ""]},
    ],
    language: {search: "", searchPlaceholder: "search"},
    layout: {topStart: [...compare, {buttons: buttonsOf(table)}], topEnd: table.tBodies[0].rows.length > 3 ? "search" : null, bottomStart: null, bottomEnd: null},
  });
}

// a baseline's name -> the signs of what differs from it
function compareWith(name) {
  for (const select of document.querySelectorAll("select.baseline")) {
    const option = [...select.options].find((each) => each.dataset.run === name || each.value === name);
    if (!option) continue;
    option.selected = true;
    const section = select.closest(".benchmark");
    for (const cell of section.querySelectorAll("td[data-signs]")) cell.querySelector("sup").textContent = JSON.parse(cell.dataset.signs)[option.value] ?? "";
    for (const each of section.querySelectorAll(".baseline-name")) each.textContent = option.value;
  }
}

function whenNear(elements, act) {
  const near = new IntersectionObserver((entries) => {
    for (const {target, isIntersecting} of entries) if (isIntersecting) requestIdleCallback(() => act(target), {timeout: 500});
  }, {rootMargin: "300px"});
  elements.forEach((each) => near.observe(each));
}

whenNear(document.querySelectorAll(".scores"), enhance);
// the first table of a closed fold is laid out when there is time: to open the fold is then to paint it
whenNear(document.querySelectorAll("summary:has(+ .table)"), (summary) => summary.nextElementSibling.querySelector("table").getBoundingClientRect());
for (const select of document.querySelectorAll("select.baseline")) {
  select.closest(".compare").hidden = false;
  select.addEventListener("change", () => document.dispatchEvent(new CustomEvent("baseline", {detail: select.selectedOptions[0].dataset.run})));
}
document.addEventListener("baseline", ({detail}) => compareWith(detail));
document.querySelectorAll(".scores").forEach((table) => table.addEventListener("click", (event) => {
  const button = event.target.closest("button.run");
  if (button) chooseRun(button.closest("tr").dataset.run);
}));
figures.listeners.push((chosen) => {
  for (const row of document.querySelectorAll(".scores tr.chosen")) if (!chosen.has(row.dataset.run)) choose(row, false);
  for (const run of chosen) document.querySelectorAll(`.scores tr[data-run="${CSS.escape(run)}"]:not(.chosen)`).forEach((row) => choose(row, true));
  for (const table of document.querySelectorAll(".scores")) table.classList.toggle("choosing", chosen.size > 0 && table.querySelector("tr.chosen") !== null);
});

function choose(row, own) {
  row.classList.toggle("chosen", own);
  row.querySelector("button.run").setAttribute("aria-pressed", String(own));
}
