"use strict";
// Texts of items and questions come from outside: they are written as text alone (textContent), never as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const made = (name, text, more = {}) => Object.assign(document.createElement(name), text === undefined ? {} : { textContent: text }, more);
const say = (text) => { element("said").textContent = text; };

let reviewer = "", place = 0, order = [], answers = {};

// FNV-1a with murmur's last step: the same name gives the same order, another name another one
function hashed(text) {
  let hash = 0x811c9dc5;
  for (const unit of text) hash = Math.imul(hash ^ unit.codePointAt(0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
function shuffled(list, name) {
  const numbers = new Map(list.map((each) => [each, hashed(`${data.seed}|${reviewer}|${name(each)}`)]));
  return [...list].sort((a, b) => numbers.get(a) - numbers.get(b) || (name(a) < name(b) ? -1 : 1));
}

// what a browser keeps: with pages opened as files it may keep nothing, and then the file is all there is
function stored(name, value) {
  try {
    if (value === undefined) return JSON.parse(localStorage.getItem(name));
    localStorage.setItem(name, JSON.stringify(value));
  } catch (error) {
    if (value !== undefined) say("This browser keeps no progress for this page: save your file before you close it.");
  }
  return null;
}
const slot = () => `tandem-review ${data.export} ${reviewer}`;

const answerOf = (item) => answers[item.key] ?? { choices: {}, comment: "" };
const isComplete = (item) => data.questions.every((question) => question.id in answerOf(item).choices);
const choicesOf = (item, question) => {
  const choices = question.choices ?? item.choices[question.id];
  return question.choices ? choices : shuffled(choices, (choice) => choice.id);
};

function start(name) {
  reviewer = name;
  stored(`tandem-review ${data.export}`, name);
  order = shuffled(data.items, (item) => item.key);
  answers = valid(stored(slot())) ?? {};
  place = Math.max(0, order.findIndex((item) => !isComplete(item)));
  element("start").hidden = true;
  element("sheet").hidden = element("about").hidden = false;
  show();
}

function show() {
  const item = order[place];
  element("place").textContent = `Item ${place + 1} of ${order.length}`;
  element("fields").replaceChildren(...data.fields.flatMap((label, number) => [
    made("dt", label), made("dd", item.texts[number], { dir: "auto" }),
  ]));
  element("questions").replaceChildren(...data.questions.map((question) => questionOf(item, question)));
  element("comment").value = answerOf(item).comment;
  progress();
  mark();
  element("place").focus();
  scrollTo(0, 0);
}

function questionOf(item, question) {
  const set = made("fieldset", undefined, { id: `question-${question.id}` });
  set.append(made("legend", question.text, { dir: "auto" }));
  if (question.written) {
    const text = made("textarea", undefined, { rows: 6, maxLength: 10000, dir: "auto" });
    text.setAttribute("aria-label", question.text);
    text.value = answerOf(item).choices[question.id] ?? "";
    text.addEventListener("input", () => answer(item, question, text.value.trim() ? text.value : undefined));
    set.append(text);
    return set;
  }
  choicesOf(item, question).forEach((choice, number) => {
    const label = made("label", undefined, { className: "choice" });
    const input = made("input", undefined, { type: "radio", name: question.id, value: choice.id });
    input.checked = answerOf(item).choices[question.id] === choice.id;
    input.addEventListener("change", () => answer(item, question, choice.id));
    label.append(input, made("kbd", String(number + 1)), made("span", choice.text, { className: "option", dir: "auto" }));
    set.append(label);
  });
  return set;
}

function answer(item, question, choice) {
  const before = answerOf(item);
  const choices = { ...before.choices, [question.id]: choice };
  if (choice === undefined) delete choices[question.id];
  answers[item.key] = { ...before, choices };
  stored(slot(), answers);
  progress();
  mark();
}

function progress() {
  const complete = order.filter(isComplete).length;
  element("about").textContent = `${reviewer}: ${complete} of ${order.length} items answered`;
  if (complete === order.length) say("All items are answered. Save your file and send it back.");
}

// the question that digits answer: the one with the focus, else the first without an answer
function current() {
  const focused = document.activeElement?.closest("fieldset");
  if (focused) return data.questions.find((question) => focused.id === `question-${question.id}`);
  const item = order[place];
  return data.questions.find((question) => !(question.id in answerOf(item).choices));
}
function mark() {
  const question = current();
  for (const set of document.querySelectorAll("fieldset")) set.classList.toggle("current", set.id === `question-${question?.id}`);
}

function move(step) {
  const to = place + step;
  if (to < 0 || to >= order.length) return say(to < 0 ? "This is the first item." : "This is the last item.");
  place = to;
  say("");
  show();
}
function unanswered() {
  const after = [...order.keys()].map((step) => (place + 1 + step) % order.length);
  const found = after.find((number) => !isComplete(order[number]));
  if (found === undefined) return say("All items are answered. Save your file and send it back.");
  place = found;
  say("");
  show();
}

function choose(number) {
  const question = current();
  if (!question) return;
  const input = document.querySelectorAll(`#question-${question.id} input`)[number - 1];
  if (!input) return;
  document.activeElement?.blur();
  input.checked = true;
  answer(order[place], question, input.value);
  const following = data.questions[data.questions.indexOf(question) + 1];
  const target = following ? element(`question-${following.id}`).querySelector("input:checked, input, textarea") : element("next");
  target.focus();
  mark();
}

function save() {
  const rows = order.filter((item) => Object.keys(answerOf(item).choices).length)
    .map((item) => ({ item: item.key, ...answerOf(item) }));
  const content = { tandem_review: 1, export: data.export, form: data.form, reviewer, answers: rows };
  const address = URL.createObjectURL(new Blob([JSON.stringify(content, null, 1)], { type: "application/json" }));
  const name = reviewer.replace(/[^\p{L}\p{N}_-]+/gu, "-");
  made("a", undefined, { href: address, download: `${data.form}.${name}.json` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
  say(`Saved: ${rows.filter((row) => isComplete({ key: row.item })).length} of ${order.length} items are answered.`);
}

// answers to items, questions and choices that are here; null where there is anything else in them
function valid(given) {
  if (given === null || typeof given !== "object" || Array.isArray(given)) return null;
  const items = new Map(data.items.map((item) => [item.key, item]));
  const fits = ([key, row]) => items.has(key) && typeof row?.comment === "string" && row.choices !== null && typeof row.choices === "object"
    && Object.entries(row.choices).every(([name, choice]) => {
      const question = data.questions.find((each) => each.id === name);
      if (question?.written) return typeof choice === "string" && choice.trim() !== "" && choice.length <= 10000;
      return question && choicesOf(items.get(key), question).some((each) => each.id === choice);
    });
  return Object.entries(given).every(fits) ? given : null;
}

function load(text) {
  let content = null;
  try { content = JSON.parse(text); } catch (error) { return say("Not loaded: this is no file that the page has saved."); }
  if (content?.tandem_review !== 1 || !Array.isArray(content.answers)) return say("Not loaded: this is no file that the page has saved.");
  if (content.export !== data.export) return say("Not loaded: the file has answers to other items.");
  if (content.reviewer !== reviewer) return say(`Not loaded: the file is that of ${content.reviewer}.`);
  const rows = valid(Object.fromEntries(content.answers.map((row) => [row?.item, { choices: row?.choices, comment: row?.comment ?? "" }])));
  if (!rows) return say("Not loaded: the file has answers that this form does not know.");
  answers = { ...answers, ...rows };
  stored(slot(), answers);
  show();
  say(`Loaded: answers to ${Object.keys(rows).length} items.`);
}

function whoAnswers() {
  const before = stored(`tandem-review ${data.export}`);
  if (!data.reviewers.length) {
    return made("input", undefined, { id: "name", required: true, maxLength: 100, autocomplete: "off", value: typeof before === "string" ? before : "" });
  }
  const select = made("select", undefined, { id: "name" });
  select.append(...data.reviewers.map((name) => made("option", name, { value: name, selected: name === before })));
  return select;
}

element("who").append(whoAnswers());
element("start").hidden = false;
element("name").focus();
element("name").addEventListener("keydown", (event) => {  // in a select, browsers do not begin with it
  if (event.key === "Enter") { event.preventDefault(); element("start").requestSubmit(); }
});
element("start").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = element("name").value.trim();
  if (name) start(name);
});
element("questions").addEventListener("submit", (event) => event.preventDefault());
element("questions").addEventListener("focusin", mark);
element("previous").addEventListener("click", () => move(-1));
element("next").addEventListener("click", () => move(1));
element("unanswered").addEventListener("click", unanswered);
element("save").addEventListener("click", save);
element("comment").addEventListener("input", (event) => {
  const item = order[place];
  answers[item.key] = { ...answerOf(item), comment: event.target.value };
  stored(slot(), answers);
});
element("load").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  if (!file) return;
  if (!reviewer) say("Choose your name and press Start first, then load the file.");
  else load(await file.text());
  event.target.value = "";
});
document.addEventListener("keydown", (event) => {
  const typing = event.target.matches?.("textarea, select, input:not([type=radio], [type=checkbox])");
  if (!reviewer || typing || !element("keys").checked || event.ctrlKey || event.altKey || event.metaKey) return;
  const keys = { n: () => move(1), p: () => move(-1), u: unanswered, s: save };
  const action = /^[1-9]$/.test(event.key) ? () => choose(Number(event.key)) : keys[event.key.toLowerCase()];
  if (!action) return;
  event.preventDefault();
  action();
});
