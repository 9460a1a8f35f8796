"use strict";
// Figures: drawn by Vega from the packed specification that stands beside each, those near the window first, the others when
// there is time. A click on a mark or a legend's entry chooses its run, in every figure and table of the page.

const figures = {views: new Map(), runs: new Set(), chosen: new Set(), baseline: null, listeners: [], near: new Set(), behind: new Set()};
const TRIES = 6, LEAST = 120, NAMES = 0.34;  // as drawing.py has them
// errors alone are logged; the library's style sheet would have all that is in a fold styled again when the fold is opened
const OPTIONS = {ast: true, renderer: "svg", actions: false, defaultStyle: false, logLevel: 1, tooltip: {theme: "custom"}};

function specOf(chart) {
  return unpacked(chart.querySelector("script"));
}

async function drawFigure(chart) {
  if (chart.dataset.state) return;
  chart.dataset.state = "drawing";
  const place = element("div");
  chart.append(place);
  const whole = await specOf(chart);
  for (const {run} of rowsOf(whole)) if (run !== undefined) figures.runs.add(run);
  const room = roomOf(chart);
  let spec = whole, view;
  for (let tries = 0; ; tries += 1) {
    const made = await vegaEmbed(place, structuredClone(spec), OPTIONS);
    view = made.view;
    const wide = Number(place.querySelector("svg").getAttribute("width"));
    if (wide <= room || tries === TRIES) break;
    made.finalize();
    spec = narrowed(spec, wide, room);
  }
  chart.dataset.room = room;
  chart.dataset.narrowed = spec !== whole;
  setSignals(view);
  view.addEventListener("click", (event, item) => item && item.datum && clicked(item));
  figures.views.set(chart, view);
  await view.runAsync();
  chart.dataset.state = "drawn";
}

// pixels that a figure may be wide: of what is folded, those of what is around it
function roomOf(chart) {
  let around = chart;
  while (around.clientWidth === 0 && around.parentElement) around = around.parentElement;
  return around.clientWidth;
}

function* nodesOf(spec) {
  yield spec;
  for (const part of ["concat", "hconcat", "vconcat", "layer"]) for (const child of spec[part] || []) yield* nodesOf(child);
  if (spec.spec) yield* nodesOf(spec.spec);  // of a facet
}

// a step to a narrower figure: fewer panels side by side, then narrower ones
function narrowed(before, wide, room) {
  const spec = structuredClone(before), {legend, axis, title} = spec.config;
  legend.columns = Math.max(1, Math.floor(legend.columns * room / wide));
  axis.labelLimit = Math.min(axis.labelLimit, NAMES * room);
  title.limit = room - 20;
  const nodes = [...nodesOf(spec)];
  const beside = nodes.filter((node) => node.hconcat || node.columns > 1);
  for (const node of beside) {
    if (node.hconcat) {
      node.vconcat = node.hconcat;
      delete node.hconcat;
    } else {
      node.columns = Math.max(1, Math.floor(node.columns * room / wide));
    }
  }
  for (const node of nodes) {
    if (!beside.length && typeof node.width === "number") node.width = Math.max(LEAST, Math.floor(node.width - (wide - room)));
  }
  if (spec.usermeta && spec.usermeta.names === "first column") nameRowsOnce(nodes);
  return spec;
}

function nameRowsOnce(nodes) {
  for (const {concat = [], columns = 1} of nodes) {
    concat.forEach((panel, number) => {
      const first = number % columns === 0;
      for (const {encoding} of nodesOf(panel)) {
        if (encoding && encoding.y && encoding.y.field === "run") encoding.y.axis = {...encoding.y.axis, labels: first, ticks: first};
      }
    });
  }
}

// a mark of one query opens it among the queries, any other mark and a legend's entry chooses the run
function clicked({datum, mark}) {
  if (datum.query !== undefined) {
    const words = new URLSearchParams({q: datum.query, ...(datum.measure === undefined ? {} : {m: datum.measure})});
    location.hash = words.toString().replaceAll("+", "%20");
    return;
  }
  const run = datum.run ?? (mark.role && mark.role.startsWith("legend") ? datum.value : undefined);
  if (figures.runs.has(run)) chooseRun(run);
}

// the chosen runs, and the run that differences are to: a signal of the figures that have one
function setSignals(view) {
  view.signal("focus", [...figures.chosen]);
  if (figures.baseline === null) return view;
  const has = view.getState({signals: (name) => name === "baseline"}).signals.baseline !== undefined;
  return has ? view.signal("baseline", figures.baseline) : view;
}

// figures near the window follow after the next frame, one after the other, the others when they come near: a reader waits for none
function follow() {
  for (const chart of figures.views.keys()) figures.behind.add(chart);
  requestAnimationFrame(() => figures.near.forEach((chart) => setTimeout(() => catchUp(chart))));
}

async function catchUp(chart) {
  if (figures.behind.delete(chart) && figures.views.has(chart)) await setSignals(figures.views.get(chart)).runAsync();
}

// paper waits for nothing
addEventListener("beforeprint", () => {
  for (const chart of figures.behind) if (figures.views.has(chart)) setSignals(figures.views.get(chart)).run();
  figures.behind.clear();
});

document.addEventListener("baseline", ({detail}) => {
  figures.baseline = detail;
  follow();
});

// the runs that are chosen, in all figures; `figures.listeners` are called with them, so that tables follow
function chooseRun(run) {
  if (!figures.chosen.delete(run)) figures.chosen.add(run);
  for (const listener of figures.listeners) listener(figures.chosen);
  follow();
}

// Copies and files of a figure

function rowsOf(spec) {
  return Object.values(spec.datasets || {}).concat([...nodesOf(spec)].flatMap(({data}) => data && data.values ? [data.values] : [])).flat();
}

// the rows that a figure draws
function numbersOf(spec) {
  const all = rowsOf(spec).filter((row) => Object.keys(row).some((name) => !name.startsWith("_")));
  const ofRuns = all.filter((row) => "run" in row);
  const rows = ofRuns.length ? ofRuns : all;
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => !name.startsWith("_"));
  const lines = [names, ...rows.map((row) => names.map((name) => row[name]))].map((row) => csvOf([row]));
  return [...new Set(lines)].join("");  // layers have the same rows for marks and for labels
}

async function contentOf(chart, format) {
  if (format === "csv") return new Blob([numbersOf(await specOf(chart))], {type: "text/csv"});
  await drawFigure(chart);
  await catchUp(chart);
  const view = figures.views.get(chart);
  if (format === "svg") return new Blob([await view.toSVG()], {type: "image/svg+xml"});
  const ground = view.background();
  const canvas = await view.background("white").toCanvas(3);
  view.background(ground);
  return new Promise((made) => canvas.toBlob(made, "image/png"));
}

async function take(button) {
  const figure = button.closest("figure"), chart = figure.querySelector(".chart"), said = figure.querySelector("output");
  const {format} = button.dataset;
  try {
    const content = await contentOf(chart, format);
    if (button.dataset.way === "save") {
      const link = element("a");
      link.href = URL.createObjectURL(content);
      link.download = `${chart.dataset.file}.${format}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60000);
      said.textContent = `saved: ${link.download}`;
    } else {
      if (format === "png") await navigator.clipboard.write([new ClipboardItem({"image/png": content})]);
      else if (!await onClipboard(await content.text(), button)) throw new Error("the browser does not allow it");
      said.textContent = `${format.toUpperCase()} copied`;
    }
  } catch (error) {
    said.textContent = `not possible here: ${error.message}`;
  }
}

{
  const waiting = [...document.querySelectorAll(".chart")];
  const near = new IntersectionObserver((entries) => {
    for (const {target, isIntersecting} of entries) {
      figures.near[isIntersecting ? "add" : "delete"](target);
      if (isIntersecting) drawFigure(target).then(() => catchUp(target));
    }
  }, {rootMargin: "600px"});
  waiting.forEach((chart) => near.observe(chart));
  const next = () => {
    const chart = waiting.find((each) => !each.dataset.state);
    if (chart) drawFigure(chart).then(() => requestIdleCallback(next));
  };
  addEventListener("load", () => requestIdleCallback(next));
  document.querySelectorAll("figure .take button").forEach((button) => button.addEventListener("click", () => take(button)));
  // a window of another width: what was narrowed, or is now too wide, is drawn again
  let later;
  addEventListener("resize", () => {
    clearTimeout(later);
    later = setTimeout(() => {
      for (const [chart, view] of figures.views) {
        const room = roomOf(chart), wide = Number(chart.querySelector("svg").getAttribute("width"));
        if (chart.dataset.state !== "drawn" || room === Number(chart.dataset.room)) continue;
        if (wide <= room && chart.dataset.narrowed !== "true") continue;
        view.finalize();
        figures.views.delete(chart);
        chart.lastElementChild.remove();
        delete chart.dataset.state;
        drawFigure(chart);
      }
    }, 200);
  });
}
