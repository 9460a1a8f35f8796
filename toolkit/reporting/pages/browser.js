"use strict";
// All texts reach the page through textContent: what is in a query or a document is never read as HTML.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") made.className = value; else made.setAttribute(key, value);
  }
  for (const child of children) if (child !== null) made.append(child);
  return made;
}

function button(text, attributes, clicked) {
  const made = element("button", {type: "button", ...attributes}, text);
  made.addEventListener("click", () => clicked(made));
  return made;
}

async function unpacked(script) {
  const text = atob(script.textContent), packed = new Uint8Array(text.length);
  for (let place = 0; place < text.length; place++) packed[place] = text.charCodeAt(place);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// puts a text on the clipboard; whether the browser allowed it
async function onClipboard(text, asked) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {  // no permission, or a page that no secure address served
    const box = element("textarea", {class: "clipboard"});
    box.value = text;
    document.body.append(box);
    box.select();
    const copied = document.execCommand("copy");
    box.remove();
    asked.focus();
    return copied;
  }
}

// the same, and says so on the button that asked for it
async function copyText(text, asked) {
  const copied = await onClipboard(text, asked);
  asked.dataset.label ??= asked.textContent;
  asked.textContent = copied ? "Copied" : "The browser does not allow it";
  setTimeout(() => { asked.textContent = asked.dataset.label; }, 1500);
}

// a spreadsheet takes no text for a formula; numbers with a sign are none
function inSpreadsheet(value) {
  const text = String(value ?? "");
  return /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
}

function csvOf(rows) {
  const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return rows.map((row) => `${row.map((value) => quoted(inSpreadsheet(value))).join(",")}\n`).join("");
}

// ---- words: which of a text are those of the query

const UNSPACED = /[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e00-\u0e7f]/;  // kana, Han, Thai: a dictionary finds their words
const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}\u200c]*/gu;  // Persian words hold joiners
const segmenter = Intl.Segmenter && new Intl.Segmenter(undefined, {granularity: "word"});
const SAMPLE = 200;  // texts by which it is known which words are common
// English words without a subject, and those of which instructions are made
const FUNCTION_WORDS = new Set(("about above after all also and any are because been before being between both but can could did do does doing each " +
  "for from had has have her here his how into its just like make may more most much must not off only other our out over own same she " +
  "should some such than that the their them then there these they this those through under until use very was were what when where " +
  "which while who whom whose why will with would you your give want show find return result text page document passage relevant").split(" "));

function* wordsOf(text) {
  if (segmenter && UNSPACED.test(text)) {
    for (const {segment, index, isWordLike} of segmenter.segment(text)) {
      if (isWordLike && segment.length > 1) yield {start: index, end: index + segment.length, word: segment.toLowerCase()};
    }
    return;
  }
  for (const {0: found, index} of text.matchAll(WORD)) {
    // the plural of an English word finds its singular
    const word = found.toLowerCase().replace(/([a-z]{3}[a-rt-z])s$/, "$1");
    if (word.length > 2 || (word.length > 1 && !/^[a-z]/.test(word))) yield {start: index, end: index + found.length, word};
  }
}

// the words of more than this share of texts
function commonWords(texts, share) {
  const counts = new Map();
  for (const text of texts) {
    for (const word of new Set([...wordsOf(text)].map(({word}) => word))) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return new Set([...counts].filter(([, count]) => texts.length > 9 && count > share * texts.length).map(([word]) => word));
}

// the ranges of a text whose words are in `kinds` (word -> class)
function rangesOf(text, kinds) {
  return [...wordsOf(text)].filter(({word}) => kinds.has(word)).map(({start, end, word}) => ({start, end, kind: kinds.get(word)}));
}

// a text with some of its ranges marked, as nodes
function marked(text, ranges, from = 0, to = text.length) {
  const nodes = [];
  let place = from;
  for (const {start, end, kind} of ranges) {
    if (start < place || end > to) continue;
    nodes.push(text.slice(place, start), element("mark", {class: kind}, text.slice(start, end)));
    place = end;
  }
  return [...nodes, text.slice(place, to)];
}

const SNIPPET = 170;  // characters

// the part of a text with most of the marked words, marked
function snippet(text, ranges) {
  if (text.length <= SNIPPET) return marked(text, ranges);
  let best = 0, most = -1;
  for (let first = 0; first < ranges.length; first++) {
    let last = first;
    while (last + 1 < ranges.length && ranges[last + 1].end - ranges[first].start < SNIPPET - 40) last++;
    if (last - first > most) [best, most] = [ranges[first].start, last - first];
  }
  let from = Math.max(0, Math.min(best - 40, text.length - SNIPPET));
  if (from > 0) from = Math.max(from, text.lastIndexOf(" ", from + 20) + 1);
  let to = Math.min(text.length, from + SNIPPET);
  if (to < text.length && text.lastIndexOf(" ", to) > to - 20) to = text.lastIndexOf(" ", to);
  return [from > 0 ? "\u2026" : "", ...marked(text, ranges, from, to), to < text.length ? "\u2026" : ""];
}

// a language by the script that it is written in: a text in another one is not of that language (a query in English for
// documents in Persian)
const SCRIPTS = {
  ar: /\p{Script=Arabic}/u, fa: /\p{Script=Arabic}/u, ur: /\p{Script=Arabic}/u, zh: /\p{Script=Han}/u, ru: /\p{Script=Cyrillic}/u,
  uk: /\p{Script=Cyrillic}/u, ja: /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u, ko: /\p{Script=Hangul}/u,
  he: /\p{Script=Hebrew}/u, hi: /\p{Script=Devanagari}/u, th: /\p{Script=Thai}/u, el: /\p{Script=Greek}/u,
};

function asText(text, language) {
  const script = SCRIPTS[language];
  return {dir: "auto", lang: !script || script.test(text) ? language : "en"};
}

// ---- the panel at the side, one for the page: a document's full text

const panel = {
  root: null, opener: null,
  build() {
    this.title = element("h2", {id: "panel-title", tabindex: "-1"});
    this.body = element("div", {class: "panel-body"});
    const close = button("Close", {class: "close", "aria-label": "Close the text"}, () => this.close());
    this.root = element("dialog", {class: "panel", "aria-labelledby": "panel-title"}, element("header", {}, this.title, close), this.body);
    document.body.append(this.root);
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.root.open) { event.preventDefault(); this.close(); }
    });
  },
  show(opener, title, content) {
    if (!this.root) this.build();
    this.opener?.setAttribute("aria-expanded", "false");
    this.opener = opener;
    opener.setAttribute("aria-expanded", "true");
    this.title.textContent = title;
    this.body.replaceChildren(...content);
    this.body.scrollTop = 0;
    if (!this.root.open) this.root.show();
    this.title.focus({preventScroll: true});
  },
  close() {
    this.root.close();
    this.opener.setAttribute("aria-expanded", "false");
    if (this.opener.isConnected) this.opener.focus({preventScroll: true});
  },
};

// ---- ranks

const KINDS = {
  gold: "gold: relevant with and without the instruction",
  negative: "negative: relevant only without the instruction, which excludes it",
  relevant: "relevant",
  other: "other: judged, not relevant",
  unjudged: "unjudged",
};

// of a rank: a number, null where the document was not retrieved, undefined where it stands below what this page holds
function rankText(rank, top) {
  return rank === null ? "absent" : rank === undefined ? `>${top}` : String(rank);
}

function direction(from, to) {
  const place = (rank) => (rank === null ? 1e9 : rank === undefined ? 1e8 : rank);
  return Math.sign(place(from) - place(to));
}

const ARROWS = new Map([[1, ["\u25b2", "up"]], [-1, ["\u25bc", "down"]], [0, ["=", "same"]]]);

function arrow(from, to) {
  const [sign, name] = ARROWS.get(direction(from, to));
  return element("span", {class: `arrow ${name}`, role: "img", "aria-label": name}, sign);
}

const STEP = 100, FIRST = 25;  // rows of the table at a time, and those that a window shows
const COLUMNS = 5;  // runs that fit beside each other
const LIST = 10, JUDGED = 12;  // documents of a list, and rows of judged documents, before more are asked for

// One browser of queries: everything in `root` is its own, so that a page may have several.
function browse(root, data) {
  const one = (selector) => root.querySelector(selector);
  const measure = one(".measure"), group = one(".group"), reference = one(".reference"), search = one(".filter");
  const sortBy = one(".sort"), head = one("thead"), body = one("tbody"), more = one(".more"), chooser = one(".chosen");
  const groups = [...new Set(data.questions.map((question) => question.group))];
  let sorted = {key: "order", up: true};
  let packed = null;  // rankings and texts: most of a page, and read on a click or when there is time
  let chosen = [], ordered = [], fitting = [], shown = 0, largest = 0, version = 0, later = 0;

  const entries = data.questions.map((question, order) => ({
    question, order, row: null, detail: null,
    words: [question.id, question.group, question.text, ...question.modes.map(([, text]) => text)].join(" ").toLowerCase(),
  }));

  // ---- values

  const column = () => data.columns[Number(measure.value)];
  const base = () => Number(reference.value);
  const others = () => chosen.filter((run) => run !== base());

  function valueOf(entry, run) {
    return entry.question.values[measure.value]?.[run] ?? null;
  }

  function changeOf(entry, run) {
    const [from, to] = [valueOf(entry, base()), valueOf(entry, run)];
    return from === null || to === null ? null : Math.round((to - from) * 1e6) / 1e6;
  }

  // the run that moved most from the reference, and by how much; null without values
  function mostOf(entry) {
    if (entry.mostKey === version) return entry.most;
    let most = null;
    for (const run of others()) {
      const change = changeOf(entry, run);
      if (change !== null && (most === null || Math.abs(change) > Math.abs(most.change))) most = {run, change};
    }
    [entry.mostKey, entry.most] = [version, most];
    return most;
  }

  function shownNumber(value, signed = false) {
    if (value === null) return "-";
    const text = column().share ? value.toFixed(3) : String(Number(value.toFixed(1)));
    return (signed && value > 0 ? "+" : "") + (Number(text) === 0 ? text.replace("-", "") : text);
  }

  // ---- the table

  function headings() {
    const several = others().length > 1;
    return [
      {key: "id", name: "query", up: true},
      ...chosen.map((run) => ({key: `run${run}`, name: data.runs[run], number: true, note: run === base() && others().length ? "reference" : ""})),
      ...(others().length ? [{key: "difference", name: several ? "largest difference" : "difference", number: true, absolute: true}] : []),
    ];
  }

  function keyOf(entry) {
    if (sorted.key === "difference") {
      const most = mostOf(entry);
      return most === null ? null : sorted.absolute ? Math.abs(most.change) : most.change;
    }
    if (sorted.key.startsWith("run")) return valueOf(entry, Number(sorted.key.slice(3)));
    return sorted.key === "order" ? entry.order : entry.question[sorted.key];
  }

  function compare(a, b) {
    if (a.key === b.key) return a.entry.order - b.entry.order;
    if (a.key === null) return 1;  // without a value: last, whichever way it is sorted
    if (b.key === null) return -1;
    const less = typeof a.key === "string" ? a.key.localeCompare(b.key) : a.key - b.key;
    return sorted.up ? less : -less;
  }

  // differences: by size, then falling, then rising; other columns one way and the other
  function nextSort({key, up, absolute}) {
    if (sorted.key !== key) return {key, up: Boolean(up), absolute: Boolean(absolute)};
    if (!absolute) return {key, up: !sorted.up};
    return sorted.absolute ? {key, up: false} : sorted.up ? {key, up: false, absolute: true} : {key, up: true};
  }

  function buildHead() {
    head.replaceChildren(element("tr", {}, ...headings().map((heading) => {
      const sort = button(heading.name, {dir: "auto"}, () => { sorted = nextSort(heading); show(); });
      const note = heading.note ? element("small", {}, heading.note) : null;
      return element("th", {scope: "col", "data-key": heading.key, class: heading.number && "number"}, sort, note);
    })));
    const ways = [["order", "as in the benchmark", {key: "order", up: true}]];
    for (const {key, name, number, absolute} of headings()) {
      if (absolute) ways.push([`${key} size`, `${name}, by size`, {key, absolute: true, up: false}]);
      ways.push([`${key} up`, `${name}, ${number ? "lowest" : "A"} first`, {key, up: true}]);
      if (number) ways.push([`${key} down`, `${name}, highest first`, {key, up: false}]);
    }
    sortBy.replaceChildren(...ways.map(([value, name, how]) => Object.assign(element("option", {value}, name), {how})));
  }

  function markSort() {
    for (const cell of head.querySelectorAll("th")) {
      cell.classList.toggle("by-size", cell.dataset.key === sorted.key && Boolean(sorted.absolute));
      if (cell.dataset.key === sorted.key) cell.setAttribute("aria-sort", sorted.absolute ? "other" : sorted.up ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    }
    const place = [...sortBy.options].findIndex(({how}) => how.key === sorted.key && how.up === sorted.up && !how.absolute === !sorted.absolute);
    sortBy.selectedIndex = Math.max(place, 0);
  }

  function instructionsOf(question) {
    const instructed = question.modes.filter(([mode, text]) => text && data.roles[mode] !== "reversed");
    // a base mode with an instruction of its own (FollowIR's) is shown where the query is opened
    const changed = instructed.filter(([mode]) => data.roles[mode] === "instructed");
    return changed.length ? changed : instructed;
  }

  function build(entry) {
    const {question} = entry, language = data.languages[question.group];
    entry.toggle = button(question.id, {class: "open", "aria-expanded": "false"}, () => toggle(entry));
    const texts = [["", question.text], ...instructionsOf(question)].filter(([, text]) => text);
    entry.texts = texts.map(([mode, text]) => ({text, place: element("span", {class: "words", ...asText(text, language)}), mode}));
    const about = element("th", {scope: "row", class: "about"},
      element("div", {class: "name"}, entry.toggle, groups.length > 1 ? element("span", {class: "tag"}, question.group) : null),
      ...entry.texts.map(({place, mode}) => element("div", {class: mode ? "instruction" : "query"}, mode ? element("span", {class: "tag"}, mode) : null, place)));
    entry.cells = new Map(chosen.map((run) => [run, element("td", {class: "number", "data-label": data.runs[run]})]));
    entry.difference = element("td", {class: "number difference", "data-label": others().length > 1 ? "largest difference" : "difference"});
    entry.row = element("tr", {"data-query": question.id}, about, ...entry.cells.values(), others().length ? entry.difference : null);
  }

  function fill(entry, needles) {
    if (!entry.row) build(entry);
    for (const {text, place} of entry.texts) place.replaceChildren(...marked(text, foundIn(text, needles)));
    const several = others().length > 1, most = mostOf(entry);
    for (const [run, cell] of entry.cells) {
      const change = several && run !== base() ? changeOf(entry, run) : null;
      cell.replaceChildren(shownNumber(valueOf(entry, run)), ...(change === null ? [] : [changed(change)]));
      cell.classList.toggle("most", several && most !== null && most.run === run && most.change !== 0);
    }
    entry.difference.replaceChildren(most === null ? "-" : changed(most.change));
    entry.difference.style.setProperty("--size", most && largest ? `${50 * Math.abs(most.change) / largest}%` : "0%");
    entry.difference.classList.toggle("falls", most !== null && most.change < 0);
  }

  function changed(change) {
    return element("span", {class: `change ${change > 0 ? "up" : change < 0 ? "down" : "same"}`}, shownNumber(change, true));
  }

  // where words that are searched for stand in a text
  function foundIn(text, needles) {
    const lower = text.toLowerCase(), ranges = [];
    if (lower.length !== text.length) return [];  // a letter that is two in lower case moves all places
    for (const needle of needles) {
      for (let start = lower.indexOf(needle); start >= 0; start = lower.indexOf(needle, start + needle.length)) {
        ranges.push({start, end: start + needle.length, kind: "found"});
      }
    }
    return ranges.sort((a, b) => a.start - b.start);
  }

  function show() {
    root.dispatchEvent(new CustomEvent("measure", {detail: column().name}));
    markSort();
    version++;  // of what is compared: differences are computed once for each
    largest = 0;
    for (const entry of entries) largest = Math.max(largest, Math.abs(mostOf(entry)?.change ?? 0));
    ordered = entries.map((entry) => ({entry, key: keyOf(entry)})).sort(compare).map(({entry}) => entry);
    filter();
  }

  const needles = () => search.value.toLowerCase().split(/\s+/).filter(Boolean);

  function filter() {
    const wanted = needles();
    fitting = ordered.filter((entry) => (!group.value || entry.question.group === group.value) &&
      wanted.every((word) => entry.words.includes(word)));
    refresh();
    one(".count").textContent = `${fitting.length} of ${entries.length} queries`;
  }

  // what the window shows at once, and the rest of the first rows after it is painted: most of the time goes into layout
  function refresh() {
    shown = 0;
    body.replaceChildren();
    showMore(FIRST);
    cancelAnimationFrame(later);
    later = requestAnimationFrame(() => setTimeout(() => { if (shown < STEP) showMore(STEP - shown); }));
  }

  // a browser takes long over thousands of rows: more come when the end of the table is near, or is asked for
  function showMore(count) {
    const parts = document.createDocumentFragment(), wanted = needles();
    for (const entry of fitting.slice(shown, shown + count)) {
      fill(entry, wanted);
      parts.append(entry.row);
      if (entry.detail) parts.append(entry.detail);
    }
    body.append(parts);
    shown = Math.min(shown + count, fitting.length);
    more.hidden = shown === fitting.length;
    more.textContent = `${fitting.length - shown} more queries`;
  }

  // other runs in the columns, or another reference: all rows are made again when they are shown
  function rebuild() {
    chosen = [base(), ...chosen.filter((run) => run !== base())].sort((a, b) => a - b);
    for (const entry of entries) {
      const isOpen = entry.detail !== null;
      entry.row = entry.detail = null;
      if (isOpen) { build(entry); detail(entry); }
    }
    if (chooser.hidden === false) {
      chooser.querySelector("summary").textContent = `Runs: ${chosen.length} of ${data.runs.length}`;
      for (const box of chooser.querySelectorAll("input")) {
        box.checked = chosen.includes(Number(box.value));
        box.disabled = Number(box.value) === base();
      }
    }
    root.style.setProperty("--run", chosen.length > 3 ? "6.6rem" : "7.5rem");
    buildHead();
    show();
  }

  // the reference and the runs that moved most from it, by the measure that is shown
  function widest() {
    const moved = data.runs.map((_, run) => {
      const changes = entries.map((entry) => changeOf(entry, run)).filter((change) => change !== null);
      return {run, mean: changes.reduce((sum, change) => sum + Math.abs(change), 0) / Math.max(changes.length, 1)};
    });
    const best = moved.filter(({run}) => run !== base()).sort((a, b) => b.mean - a.mean).slice(0, COLUMNS - 1);
    return [base(), ...best.map(({run}) => run)];
  }

  // ---- an opened query

  const ready = async () => { packed ??= {...await unpacked(one(".packed")), texts: await unpacked(one(".texts"))}; };

  async function toggle(entry) {
    await ready();
    if (entry.detail) {
      entry.detail.remove();
      entry.detail = null;
      if (new URLSearchParams(location.hash.slice(1)).get("q") === entry.question.id) history.replaceState(null, "", location.href.split("#")[0]);
    } else {
      detail(entry);
      entry.row.after(entry.detail);
      history.replaceState(null, "", linkTo(entry));
    }
    markOpen(entry);
  }

  function markOpen(entry) {
    entry.toggle.setAttribute("aria-expanded", String(entry.detail !== null));
    entry.row.classList.toggle("is-open", entry.detail !== null);
  }

  function linkTo(entry) {
    return `#q=${encodeURIComponent(entry.question.id)}&m=${encodeURIComponent(column().name)}`;
  }

  function detail(entry) {
    if (!entry.row) build(entry);  // the rows were recomputed while the rankings were waited for
    const modes = entry.question.modes.map(([mode]) => mode);
    const mode = modes.includes(column().mode) ? column().mode : modes.find((each) => data.roles[each] === "instructed") ?? modes[0];
    entry.view ??= {mode: modes.indexOf(mode)};
    entry.opened = element("div", {class: "opened", role: "region", "aria-label": `Query ${entry.question.id}`});
    entry.detail = element("tr", {class: "detail"}, element("td", {colspan: headings().length}, entry.opened));
    markOpen(entry);
    fillDetail(entry);
  }

  // word -> its class: those of the query, then those of the instructions, without what most texts hold
  function kindsOf(entry) {
    const {question} = entry, common = commonOf(data.languages[question.group]), kinds = new Map();
    for (const [, text] of question.modes) for (const {word} of wordsOf(text)) kinds.set(word, "of-instruction");
    for (const {word} of wordsOf(question.text)) kinds.set(word, "of-query");
    for (const word of kinds.keys()) if (common.texts.has(word) || common.asked.has(word) || FUNCTION_WORDS.has(word)) kinds.delete(word);
    return kinds;
  }

  const commons = new Map();

  // the common words of the documents, queries and instructions in one language
  function commonOf(language) {
    if (!commons.has(language)) {
      const own = entries.filter((entry) => data.languages[entry.question.group] === language);
      const docs = new Set();
      // some of every query: one query's documents share the words that tell
      const step = Math.max(1, Math.floor(own.length / SAMPLE));
      for (let depth = 0; depth < data.top && docs.size < SAMPLE; depth++) {
        for (let place = 0; place < own.length && docs.size < SAMPLE; place += step) {
          const first = packed.modes[own[place].order][0]?.lists[0]?.[depth];
          if (first) docs.add(first[0]);
        }
      }
      const queries = [...new Set(own.map((entry) => entry.question.text))];
      const instructions = [...new Set(own.flatMap((entry) => entry.question.modes.map(([, text]) => text)).filter(Boolean))];
      // a subject's own words are in the documents of one query among these
      const share = Math.min(0.5, Math.max(0.15, 1.5 / queries.length));
      commons.set(language, {
        texts: commonWords([...docs].map((doc) => packed.texts[doc].slice(0, 1000)).filter(Boolean), share),
        asked: commonWords([...queries, ...instructions].slice(0, SAMPLE), 0.3),
      });
    }
    return commons.get(language);
  }

  // the columns that are compared: runs in one mode, or modes of one run; arrows are from the first
  function compared(entry) {
    const {question, view} = entry;
    if (view.mode !== undefined) {
      const runs = [base(), ...others()];
      return {columns: runs.map((run) => ({mode: view.mode, run, name: data.runs[run]})), where: modeName(question, view.mode)};
    }
    const columns = question.modes.map(([mode], place) => ({mode: place, run: view.run, name: mode || "ranking"}));
    return {columns, where: data.runs[view.run]};
  }

  const modeName = (question, place) => (question.modes[place][0] ? `mode ${question.modes[place][0]}` : "");

  function rankOf(entry, {mode, run}, doc) {
    const {judged, lists} = packed.modes[entry.order][mode];
    const known = judged.find(([each]) => each === doc);
    if (known) return known[3][run];
    const place = lists[run].findIndex(([each]) => each === doc);
    return place < 0 ? (lists[run].length < data.top ? null : undefined) : place + 1;
  }

  function fillDetail(entry) {
    const {question} = entry, language = data.languages[question.group], kinds = kindsOf(entry);
    const own = packed.modes[entry.order];
    const texts = question.modes.filter(([, text]) => text);
    const before = new Set([...wordsOf(texts[0]?.[1] ?? "")].map(({word}) => word));
    const asked = element("dl", {class: "asked"});
    if (question.text) asked.append(element("dt", {}, "query"), element("dd", asText(question.text, language), question.text));
    texts.forEach(([mode, text], place) => {
      // of an instruction that changes another one, what is new
      const isNew = place > 0 && data.roles[texts[0][0]] === "base" ? [...wordsOf(text)].filter(({word}) => !before.has(word)) : [];
      asked.append(element("dt", {}, mode || "instruction"), element("dd", asText(text, language), ...marked(text, isNew.map((each) => ({...each, kind: "new"})))));
    });
    const {columns, where} = compared(entry);
    entry.opened.replaceChildren(
      element("div", {class: "tools"}, views(entry),
        button("Copy link", {class: "copy"}, (asked) => copyText(location.href.split("#")[0] + linkTo(entry), asked)),
        button("Close", {}, () => { toggle(entry); entry.toggle.focus(); })),
      asked, judgedOf(entry, own, columns, where),
      element("div", {class: columns.length > 3 ? "lists many" : "lists"}, ...columns.map((each, place) => listOf(entry, each, place ? columns[0] : null, kinds, language))));
  }

  function views(entry) {
    const {question, view} = entry;
    const choice = (name, pressed, wanted) => button(name, {"aria-pressed": String(pressed), dir: "auto"}, () => {
      entry.view = wanted;
      fillDetail(entry);
      entry.opened.querySelector("[aria-pressed=true]").focus();
    });
    const rows = [];
    if (chosen.length > 1 || question.modes.length < 2) {
      const names = question.modes.map(([mode], place) => choice(mode || "all", view.mode === place, {mode: place}));
      rows.push(element("div", {class: "choices", role: "group", "aria-label": "Runs beside each other, in mode"}, element("span", {}, "Runs in mode"), ...names));
    }
    if (question.modes.length > 1) {
      const names = chosen.map((run) => choice(data.runs[run], view.run === run, {run}));
      rows.push(element("div", {class: "choices", role: "group", "aria-label": "Modes beside each other, of run"}, element("span", {}, "Modes of"), ...names));
    }
    return element("div", {class: "views"}, ...(rows.length > 1 || question.modes.length > 1 ? rows : []));
  }

  const WEIGHT = ["gold", "negative", "relevant"];

  function judgedOf(entry, own, columns, where) {
    const docs = new Map();
    let left = 0;
    for (const mode of new Set(columns.map((each) => each.mode))) {
      for (const [doc, label, kind] of own[mode].judged) if (kind !== "other" && !docs.has(doc)) docs.set(doc, {doc, label, kind});
      left = Math.max(left, own[mode].more);
    }
    const rows = [...docs.values()].map((row) => ({...row, ranks: columns.map((each) => rankOf(entry, each, row.doc))}));
    const top = (row) => Math.min(...row.ranks.map((rank) => rank ?? 1e9));
    rows.sort((a, b) => WEIGHT.indexOf(a.kind) - WEIGHT.indexOf(b.kind) || b.label - a.label || top(a) - top(b));
    const labels = new Set(rows.map((row) => row.label)).size > 1;
    const heads = ["document", "judged", ...columns.map(({name}, place) => (place ? `${columns[0].name} \u2192 ${name}` : name))];
    const made = element("tbody");
    const add = (from, to) => made.append(...rows.slice(from, to).map((row) => element("tr", {},
      element("th", {scope: "row"}, documentButton(entry, row.doc, row.kind)),
      element("td", {"data-label": "judged"}, badge(row.kind), labels ? ` label ${row.label}` : ""),
      ...row.ranks.map((rank, place) => element("td", {class: "number", "data-label": heads[place + 2]}, ...(place
        ? [rank === row.ranks[0] ? "" : `${rankText(row.ranks[0], data.top)} \u2192 `, `${rankText(rank, data.top)} `, arrow(row.ranks[0], rank)]
        : [rankText(rank, data.top)]))))));
    add(0, JUDGED);
    const table = element("table", {class: "ranks"},
      element("caption", {}, `Ranks of relevant documents${where ? `, ${where}` : ""}`),
      element("thead", {}, element("tr", {}, ...heads.map((name, place) => element("th", {scope: "col", class: place > 1 && "number", dir: "auto"}, name)))), made);
    const parts = [table];
    if (rows.length > JUDGED) parts.push(button(`${rows.length - JUDGED} more relevant documents`, {}, (asked) => { add(JUDGED, rows.length); asked.remove(); }));
    if (left) parts.push(element("p", {class: "left"}, `and ${left} more relevant documents, which are not in this page`));
    return element("div", {class: "judged"}, ...parts);
  }

  function badge(kind) {
    return element("span", {class: `badge ${kind}`, title: KINDS[kind]}, kind);
  }

  function documentButton(entry, doc, kind) {
    return button(packed.docs[doc], {class: `mark ${kind}`, "aria-haspopup": "dialog", "aria-expanded": "false", dir: "auto"}, (asked) => read(entry, doc, kind, asked));
  }

  function kindIn(own, doc) {
    return own.judged.find(([each]) => each === doc)?.[2] ?? "unjudged";
  }

  function listOf(entry, here, from, kinds, language) {
    const own = packed.modes[entry.order][here.mode], list = own.lists[here.run];
    const value = column().mode === "paired" || !column().mode || entry.question.modes[here.mode][0] === column().mode ? valueOf(entry, here.run) : null;
    const items = element("ol");
    const add = (start, end) => items.append(...list.slice(start, end).map(([doc, score], place) => {
      const kind = kindIn(own, doc), rank = start + place + 1, text = packed.texts[doc];
      const move = from ? moved(rankOf(entry, from, doc), rank, from.name) : null;
      return element("li", {value: rank}, element("div", {class: "item", title: `score ${score}`}, documentButton(entry, doc, kind), badge(kind), move, element("span", {class: "score"}, String(score))),
        text ? element("p", {class: "snippet", ...asText(text, language)}, ...snippet(text, rangesOf(text, kinds))) : null);
    }));
    add(0, LIST);
    const parts = [element("h4", {dir: "auto"}, here.name, value === null ? null : element("span", {class: "value"}, ` ${column().name} ${shownNumber(value)}`)), items];
    if (!list.length) parts.push(element("p", {class: "left"}, "no documents"));
    if (list.length > LIST) parts.push(button(`${list.length - LIST} more documents`, {}, (asked) => { add(LIST, list.length); asked.remove(); }));
    return element("section", {}, ...parts);
  }

  function moved(before, now, name) {
    const step = before === null || before === undefined ? "" : Math.abs(before - now) || "";
    return element("span", {class: "move", title: `rank ${rankText(before, data.top)} in ${name}, ${now} here`}, arrow(before, now), String(step),
      before === now ? "" : ` from ${rankText(before, data.top)}`);
  }

  function read(entry, doc, kind, asked) {
    const language = data.languages[entry.question.group], text = packed.texts[doc];
    const ranges = rangesOf(text, kindsOf(entry));
    const runs = [base(), ...others()];
    const rows = entry.question.modes.map(([mode], place) => element("tr", {}, element("th", {scope: "row"}, mode || "rank"),
      ...runs.map((run) => element("td", {class: "number"}, rankText(rankOf(entry, {mode: place, run}, doc), data.top)))));
    const content = [element("p", {}, badge(kind), ` ${KINDS[kind].replace(/^\w+:? ?/, "")}`),
      element("table", {class: "ranks"}, element("caption", {}, `Ranks for ${entry.question.id}`),
        element("thead", {}, element("tr", {}, element("th", {scope: "col"}, "mode"), ...runs.map((run) => element("th", {scope: "col", class: "number", dir: "auto"}, data.runs[run])))),
        element("tbody", {}, ...rows)),
      element("div", {class: "text", ...asText(text, language)}, ...(text ? marked(text, ranges) : ["its text is not in this page"]))];
    if (text && text.length >= data.characters) content.push(element("p", {class: "left"}, `This page holds the first ${data.characters} characters of each document.`));
    panel.show(asked, packed.docs[doc], content);
  }

  // ---- the start

  function fillControls() {
    data.columns.forEach(({name}, place) => measure.append(element("option", {value: place}, name)));
    measure.value = String(data.opening);
    group.append(element("option", {value: ""}, "all"), ...groups.map((name) => element("option", {value: name}, name)));
    data.runs.forEach((name, run) => reference.append(element("option", {value: run}, name)));
    one(".only-groups").hidden = groups.length < 2;
    one(".only-runs").hidden = data.runs.length < 2;
    if (data.runs.length > 2) {
      chooser.hidden = false;
      chooser.querySelector("fieldset").append(...data.runs.map((name, run) => {
        const box = element("input", {type: "checkbox", value: run});
        box.addEventListener("change", () => {
          chosen = data.runs.map((_, each) => each).filter((each) => chooser.querySelector(`input[value="${each}"]`).checked);
          rebuild();
        });
        return element("label", {}, box, " ", name);
      }));
    }
    one(".legend").append(
      ...data.kinds.map((kind) => element("li", {}, badge(kind), ` ${KINDS[kind].replace(/^\w+:? ?/, "")}`)),
      element("li", {}, element("mark", {class: "of-query"}, "word"), " of the query"),
      ...(data.questions.some((question) => question.modes.some(([, text]) => text)) ? [element("li", {}, element("mark", {class: "of-instruction"}, "word"), " of an instruction")] : []),
      element("li", {}, element("span", {class: "arrow up"}, "\u25b2"), " / ", element("span", {class: "arrow down"}, "\u25bc"), " nearer to the top / further down"));
    one(".summary").textContent = `${data.questions.length.toLocaleString("en")} queries, ${data.runs.length > 2 ? `${data.runs.length} runs` : data.runs.join(" and ")}. ${data.about}`;
    data.notes.forEach((note) => one(".notes").append(element("li", {}, note)));
  }

  // no focus goes below the head that stays at the top
  new ResizeObserver(() => root.style.setProperty("--head", `${head.offsetHeight}px`)).observe(head);
  more.addEventListener("click", () => showMore(STEP));
  new IntersectionObserver(([seen]) => seen.isIntersecting && showMore(shown < STEP ? STEP - shown : STEP), {rootMargin: "1000px"}).observe(more);
  window.addEventListener("beforeprint", () => showMore(fitting.length));
  measure.addEventListener("change", show);
  group.addEventListener("change", filter);
  reference.addEventListener("change", rebuild);
  search.addEventListener("input", filter);
  sortBy.addEventListener("change", () => { sorted = {...sortBy.selectedOptions[0].how}; show(); });
  one(".controls").addEventListener("submit", (event) => event.preventDefault());
  one(".controls .copy").addEventListener("click", (event) => {
    const rows = fitting.map((entry) => [entry.question.id, entry.question.group, entry.question.text,
      instructionsOf(entry.question).map(([, text]) => text).join(" | "), ...chosen.map((run) => shownNumber(valueOf(entry, run))),
      ...(others().length ? [shownNumber(mostOf(entry)?.change ?? null, true)] : [])]);
    copyText(csvOf([["query", "group", "text", "instruction", ...headings().slice(1).map(({name}) => name)], ...rows]), event.currentTarget);
  });
  // the baseline of a report's tables is that of its queries
  document.addEventListener("baseline", ({detail: run}) => {
    if (!data.runs.includes(run)) return;
    reference.value = String(data.runs.indexOf(run));
    rebuild();
  });
  fillControls();
  chosen = data.runs.length > COLUMNS ? widest() : data.runs.map((_, run) => run);
  if (data.runs.length > 1) sorted = {key: "difference", up: false, absolute: true};
  rebuild();
  if (window.requestIdleCallback) requestIdleCallback(ready);

  return {
    measure: () => column().name,
    // shows a measure, by its name as printed or as ir_measures has it
    choose(name) {
      const place = data.columns.findIndex((each) => each.name === name || each.id === name);
      if (place >= 0) measure.value = String(place);
      show();
    },
    async open(entry, name) {
      const own = entries[entry];
      if (name) this.choose(name);
      await ready();
      if (!fitting.includes(own)) { search.value = group.value = ""; filter(); }
      // one that would come after thousands of rows comes first
      if (fitting.indexOf(own) >= shown) { fitting = [own, ...fitting.filter((each) => each !== own)]; refresh(); }
      if (!own.detail) await toggle(own);
      own.row.scrollIntoView({block: "start"});
      own.toggle.focus({preventScroll: true});
    },
  };
}

// ---- all browsers of the page, and what its address names: #q=QUERY&m=MEASURE

const browsers = [...document.querySelectorAll(".browser")].map((root) => {
  let data = null, made = null;
  const read = () => (data ??= JSON.parse(root.querySelector(".data").textContent));
  const start = () => (made ??= browse(root, read()));
  const folded = root.closest("details:not([open])");  // thousands of rows are built when somebody wants to see them
  if (folded) folded.addEventListener("toggle", start, {once: true});
  else start();
  return {root, read, start};
});

// the place of a query by its id, by the id with its mode, or of the first query of a core query
function placeOf(questions, id) {
  const exact = questions.findIndex((question) => question.id === id || question.modes.some(([mode]) => mode && `${question.id}-${mode}` === id));
  return exact >= 0 ? exact : questions.findIndex((question) => question.id.startsWith(`${id}-`));
}

async function followAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B")), id = wanted.get("q");
  if (!id) return;
  for (const {root, read, start} of browsers) {
    const place = placeOf(read().questions, id);
    if (place < 0) continue;
    for (let fold = root.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    await start().open(place, wanted.get("m"));
    return;
  }
  if (browsers.length) browsers[0].root.querySelector(".count").textContent = `no query ${id} in this page`;
}

window.addEventListener("hashchange", followAddress);
followAddress();
