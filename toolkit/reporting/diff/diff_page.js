"use strict";
// The tables above the queries: a click on a measure shows it in the browser of queries, whose measure is marked here.

document.querySelectorAll(".pair").forEach((pair) => {
  const table = pair.querySelector(".changes");
  if (!table) return;
  const rows = [...table.tBodies[0].rows];
  for (const row of rows) {
    row.querySelector("button").addEventListener("click", () => {
      browsers[0].start().choose(row.dataset.measure);
      browsers[0].root.scrollIntoView({block: "start"});
    });
  }
  pair.querySelector(".of-group")?.addEventListener("change", ({target}) => {
    for (const row of rows) row.hidden = row.dataset.group !== target.value;
  });
  pair.querySelector(".copy").addEventListener("click", ({currentTarget}) => {
    const shown = [table.tHead.rows[0], ...rows.filter((row) => !row.hidden)];
    copyText(csvOf(shown.map((row) => [...row.cells].filter((cell) => !cell.matches(".drawn, :has(.hidden)")).map((cell) => cell.innerText.trim().replace(/\s+/g, " ")))), currentTarget);
  });
});

function markMeasure(name) {
  for (const row of document.querySelectorAll(".changes tbody tr")) {
    if (row.dataset.measure === name) row.setAttribute("aria-current", "true"); else row.removeAttribute("aria-current");
  }
}

browsers[0].root.addEventListener("measure", ({detail}) => markMeasure(detail));
markMeasure(browsers[0].start().measure());
