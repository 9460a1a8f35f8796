"use strict";
// queries are too many for paper
addEventListener("beforeprint", () => document.querySelectorAll("details:not(.by-query, .run)").forEach((each) => { each.open = true; }));
