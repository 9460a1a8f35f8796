"use strict";
// queries and the numbers of figures are too many for paper
addEventListener("beforeprint", () => document.querySelectorAll("details:not(.by-query, .numbers)").forEach((each) => { each.open = true; }));
