"use strict";
// What is known of a cell, on a click, a touch or Enter; each table is one stop of the Tab key, arrow keys move within it.
{
  document.documentElement.classList.add("script");
  const about = document.getElementById("about-cell");
  let opener = null;
  let shownAt = 0;  // where the page stood: scrolled away from its cell it says nothing

  const add = (name, text, place = about) => {
    const made = document.createElement(name);
    made.textContent = text;
    place.append(made);
    return made;
  };

  const show = (button) => {
    const known = JSON.parse(button.dataset.about);
    about.replaceChildren();
    add("h3", known.head);
    const {state, ours, printed, off} = button.dataset;
    add("p", ours ? `${state}: ours ${ours}${known.full && known.full !== ours ? ` (${known.full})` : ""}, printed ${printed}, difference ${off}` : `${state}; printed ${printed}`);
    if (known.scale) add("p", `printed as ${known.scale}`).className = "quiet";
    if (known.best) add("p", known.best);
    if (known.tried) add("p", known.tried);
    if (known.prompt && known.prompt !== "none") add("p", `prompt: ${known.prompt}`);
    if (known.known.length) {
      const list = add("ul", "");
      for (const text of known.known) add("li", text, list);
    }
    if (known.note) add("p", `The paper: ${known.note}`).className = "quiet";
    [opener, shownAt] = [button, scrollY];
    about.showPopover();
    const cell = button.getBoundingClientRect();
    const box = about.getBoundingClientRect();
    const below = cell.bottom + box.height + 12 < innerHeight;
    about.style.top = `${Math.max(8, below ? cell.bottom + 6 : cell.top - box.height - 6)}px`;
    about.style.left = `${Math.max(8, Math.min(cell.left, innerWidth - box.width - 8))}px`;
  };

  about.addEventListener("toggle", (event) => {
    if (event.newState === "closed" && opener) opener.focus({preventScroll: true});
  });
  addEventListener("scroll", () => { if (about.matches(":popover-open") && Math.abs(scrollY - shownAt) > 40) about.hidePopover(); }, {passive: true});

  for (const table of document.querySelectorAll("table.cells")) {
    const buttons = [...table.querySelectorAll("button.cell")];
    buttons.forEach((button, place) => { button.tabIndex = place ? -1 : 0; });
    table.addEventListener("click", (event) => {
      const button = event.target.closest("button.cell");
      if (button) show(button);
    });
    const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};
    table.addEventListener("keydown", (event) => {
      const button = event.target.closest("button.cell");
      if (!button || !step[event.key]) return;
      event.preventDefault();
      const rows = [...table.querySelectorAll("tbody tr:not(.block)")];
      let row = rows.indexOf(button.closest("tr"));
      let column = button.closest("td").cellIndex;
      const [down, right] = step[event.key];
      for (row += down, column += right; rows[row] && column > 0 && column < rows[row].cells.length; row += down, column += right) {
        const next = rows[row].cells[column].querySelector("button.cell");
        if (next) {
          for (const each of buttons) each.tabIndex = -1;
          next.tabIndex = 0;
          next.focus();
          return;
        }
      }
    });
  }
}
