"use strict";
// The tables of a site: searched by words, sorted by a click on a heading.

// DataTables knows dark by a class of the page alone
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark", dark.matches);
dark.addEventListener("change", follow);
follow();

for (const table of document.querySelectorAll("#matrix, #files")) {
  new DataTable(table, {
    paging: false,
    info: false,
    autoWidth: false,
    order: [],
    orderMulti: false,
    columnDefs: [{targets: "number", orderSequence: ["desc", "asc"]}],
    layout: {topStart: "search", topEnd: null},
    language: {search: "Show", searchPlaceholder: "words of a name or kind"},
  });
}
