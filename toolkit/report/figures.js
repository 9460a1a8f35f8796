"use strict";
// Figures: drawn by Vega from the specification that stands beside each, those near the window first, the others when there
// is time. A click on a mark or a legend's entry chooses its run, in every figure and table of the page.

const figures = {views: [], chosen: new Set(), baseline: null, listeners: []};

async function drawFigure(chart) {
  if (chart.dataset.state) return;
  chart.dataset.state = "drawing";
  const spec = JSON.parse(chart.querySelector("script").textContent);
  const place = element("div");
  chart.append(place);
  const {view} = await vegaEmbed(place, spec, {ast: true, renderer: "svg", actions: false, tooltip: {theme: "custom"}});
  view.signal("focus", [...figures.chosen]);
  if (figures.baseline !== null) setBaseline(view);
  view.addEventListener("click", (event, item) => item && item.datum && clicked(item));
  figures.views.push(view);
  await view.runAsync();
  chart.dataset.state = "drawn";
}

// a mark of one query opens it among the queries, any other mark and a legend's entry chooses the run
function clicked({datum, mark}) {
  if (datum.query !== undefined) {
    const words = new URLSearchParams({q: datum.query, ...(datum.measure === undefined ? {} : {m: datum.measure})});
    location.hash = words.toString().replaceAll("+", "%20");
    return;
  }
  const run = datum.run ?? (mark.role && mark.role.startsWith("legend") ? datum.value : undefined);
  if (typeof run === "string") chooseRun(run);
}

function setBaseline(view) {
  if (view.getState({signals: (name) => name === "baseline"}).signals.baseline !== undefined) view.signal("baseline", figures.baseline);
}

// the run that differences are to: a signal of the figures that have one
document.addEventListener("baseline", ({detail}) => {
  figures.baseline = detail;
  for (const view of figures.views) {
    setBaseline(view);
    view.runAsync();
  }
});

// the runs that are chosen, in all figures; `figures.listeners` are called with them, so that tables follow
function chooseRun(run) {
  if (!figures.chosen.delete(run)) figures.chosen.add(run);
  for (const view of figures.views) view.signal("focus", [...figures.chosen]).runAsync();
  for (const listener of figures.listeners) listener(figures.chosen);
}

{
  const waiting = [...document.querySelectorAll(".chart")];
  const near = new IntersectionObserver((entries) => {
    for (const {target, isIntersecting} of entries) if (isIntersecting) drawFigure(target);
  }, {rootMargin: "600px"});
  waiting.forEach((chart) => near.observe(chart));
  const next = () => {
    const chart = waiting.find((each) => !each.dataset.state);
    if (chart) drawFigure(chart).then(() => requestIdleCallback(next));
  };
  addEventListener("load", () => requestIdleCallback(next));
}
