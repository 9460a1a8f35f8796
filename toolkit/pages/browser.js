"use strict";
// All texts reach the page through textContent: what is in a query or a document is never read as HTML.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value; else made.setAttribute(key, value);
  }
  for (const child of children) made.append(child);
  return made;
}

async function unpacked(script) {
  const text = atob(script.textContent), packed = new Uint8Array(text.length);
  for (let place = 0; place < text.length; place++) packed[place] = text.charCodeAt(place);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function number(value) {
  return value === null || value === undefined ? "-" : value.toFixed(4);
}

function columnName([measure, mode]) {
  return mode && mode !== "paired" ? `${measure} ${mode}` : measure;
}

const STEP = 100;  // rows of the table at a time

// One browser of queries: everything in `root` is its own, so that a page may have several.
function browse(root) {
  const one = (selector) => root.querySelector(selector);
  const data = JSON.parse(one(".data").textContent);
  const two = data.runs.length === 2;
  let sorted = {key: "order", up: true};
  let packed = null;  // rankings and texts: most of a page, and read on a click

  const rows = data.questions.map((question, order) => ({
    question, order, row: null, detail: null,
    words: `${question.id} ${question.text}`.toLowerCase(),
  }));

  function valuesOf(entry) {
    return entry.question.values[select.measure.value] ?? data.runs.map(() => null);
  }

  function difference(values) {
    return values[0] === null || values[1] === null ? null : values[1] - values[0];
  }

  const select = {measure: one(".measure"), group: one(".group"), filter: one(".filter")};
  data.columns.forEach((column, place) => select.measure.append(element("option", {value: place}, columnName(column))));
  select.group.append(element("option", {value: ""}, "all"));
  [...new Set(data.questions.map((question) => question.group))].forEach(
    (group) => select.group.append(element("option", {value: group}, group)));
  one(".summary").textContent =
    `${data.questions.length} queries, ${data.runs.join(", ")}. Lists show their top ${data.top}, judged documents their true ranks` +
    `${data.characters ? `, documents their first ${data.characters} characters` : ""}.`;
  data.notes.forEach((note) => one(".notes").append(element("li", {}, note)));

  const head = one("thead"), body = one("tbody"), more = one(".more");
  let ordered = [], fitting = [], shown = 0;

  function heading(key, name, isNumber) {
    const button = element("button", {type: "button"}, name);
    button.addEventListener("click", () => {
      sorted = {key, up: sorted.key === key ? !sorted.up : !isNumber};
      show();
    });
    const cell = element("th", {scope: "col", "data-key": key}, button);
    if (isNumber) cell.className = "number";
    return cell;
  }

  function buildHead() {
    const cells = [heading("id", "query"), heading("group", "group"), heading("text", "text")];
    data.runs.forEach((run, place) => cells.push(heading(`run${place}`, run, true)));
    if (two) cells.push(heading("difference", "difference", true));
    head.replaceChildren(element("tr", {}, ...cells));
  }

  function keyOf(entry) {
    const values = valuesOf(entry);
    if (sorted.key === "difference") return difference(values);
    if (sorted.key.startsWith("run")) return values[Number(sorted.key.slice(3))];
    return sorted.key === "order" ? entry.order : entry.question[sorted.key];
  }

  function compare(a, b) {
    if (a.key === b.key) return a.entry.order - b.entry.order;
    if (a.key === null) return 1;  // without a value: last, whichever way it is sorted
    if (b.key === null) return -1;
    const less = typeof a.key === "string" ? a.key.localeCompare(b.key) : a.key - b.key;
    return sorted.up ? less : -less;
  }

  function build(entry) {
    const {question} = entry;
    const button = element("button", {type: "button", "aria-expanded": "false"}, question.id);
    button.addEventListener("click", () => toggle(entry, button));
    entry.cells = data.runs.map(() => element("td", {class: "number"}));
    entry.difference = element("td", {class: "number"});
    entry.row = element("tr", {}, element("td", {}, button), element("td", {}, question.group),
      element("td", {class: "query"}, question.text), ...entry.cells, ...(two ? [entry.difference] : []));
  }

  function fill(entry) {
    if (!entry.row) build(entry);
    const values = valuesOf(entry);
    entry.cells.forEach((cell, place) => { cell.textContent = number(values[place]); });
    if (two) {
      const change = difference(values);
      entry.difference.textContent = change === null ? "-" : (change > 0 ? "+" : "") + change.toFixed(4);
    }
  }

  function show() {
    for (const cell of head.querySelectorAll("th")) {
      if (cell.dataset.key === sorted.key) cell.setAttribute("aria-sort", sorted.up ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    }
    ordered = rows.map((entry) => ({entry, key: keyOf(entry)})).sort(compare).map(({entry}) => entry);
    filter();
  }

  function filter() {
    const words = select.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    fitting = ordered.filter((entry) => (!select.group.value || entry.question.group === select.group.value) &&
      words.every((word) => entry.words.includes(word)));
    shown = 0;
    body.replaceChildren();
    showMore(STEP);
    one(".count").textContent = `${fitting.length} of ${rows.length} queries`;
  }

  // a browser takes long over thousands of rows: more come when the end of the table is near, or is asked for
  function showMore(count) {
    const parts = document.createDocumentFragment();
    for (const entry of fitting.slice(shown, shown + count)) {
      fill(entry);
      parts.append(entry.row);
      if (entry.detail) parts.append(entry.detail);
    }
    body.append(parts);
    shown = Math.min(shown + count, fitting.length);
    more.hidden = shown === fitting.length;
    more.textContent = `${fitting.length - shown} more queries`;
  }

  async function toggle(entry, button) {
    packed ??= await unpacked(one(".packed"));
    if (entry.detail) {
      entry.detail.remove();
      entry.detail = null;
    } else {
      const width = 3 + data.runs.length + (two ? 1 : 0);
      const modes = element("div", {class: "modes"}, ...packed.modes[entry.order].map(modeOf));
      entry.detail = element("tr", {class: "detail"}, element("td", {colspan: width}, modes));
      entry.row.after(entry.detail);
    }
    button.setAttribute("aria-expanded", String(entry.detail !== null));
  }

  function modeOf(mode) {
    const kinds = new Map(mode.judged.map(([doc, label, kind]) => [doc, {label, kind}]));
    const ranks = mode.judged.filter(([, label, kind]) => kind !== "other").map(([doc, label, kind, where]) =>
      element("div", {}, element("span", {class: `mark ${kind}`}, packed.docs[doc]),
        ` ${kind}, label ${label}: ranks ${where.map((rank) => rank ?? "-").join(" / ")}`));
    if (mode.more) ranks.push(element("div", {}, `and ${mode.more} more relevant documents, which are not in this page`));
    return element("div", {class: "mode"}, element("h3", {}, mode.mode || mode.id),
      element("p", {class: "query"}, mode.text), element("div", {class: "ranks"}, ...ranks),
      element("div", {class: "lists"}, ...mode.lists.map((list, place) => element("section", {},
        element("h4", {}, data.runs[place]), element("ol", {}, ...list.map(([doc, score]) => itemOf(doc, score, kinds.get(doc))))))));
  }

  function itemOf(doc, score, judged) {
    const button = element("button", {type: "button", class: judged ? `mark ${judged.kind}` : "unjudged"}, packed.docs[doc]);
    const item = element("li", {}, button, ` ${score}`, judged ? ` ${judged.kind}` : " unjudged");
    let shown = null;
    button.addEventListener("click", () => {
      if (shown) {
        shown.remove();
        shown = null;
      } else {
        shown = element("div", {class: "text"}, packed.texts[doc] || "its text is not in this page");
        item.append(shown);
      }
    });
    return item;
  }

  buildHead();
  more.addEventListener("click", () => showMore(STEP));
  new IntersectionObserver(([seen]) => seen.isIntersecting && showMore(STEP), {rootMargin: "1000px"}).observe(more);
  window.addEventListener("beforeprint", () => showMore(fitting.length));
  select.measure.addEventListener("change", show);
  select.group.addEventListener("change", filter);
  select.filter.addEventListener("input", filter);
  one(".controls").addEventListener("submit", (event) => event.preventDefault());
  if (two) sorted = {key: "difference", up: true};
  show();
}

document.querySelectorAll(".browser").forEach((root) => {
  const folded = root.closest("details:not([open])");  // thousands of rows are built when somebody wants to see them
  if (folded) folded.addEventListener("toggle", () => browse(root), {once: true});
  else browse(root);
});
