"use strict";
// All of this is convenience. Without it, the page shows all pictures one below the other.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Shows one picture of the phases at a time. Buttons, arrow keys, Home and End change it.
  for (const stage of all("[data-stepper]")) {
    const pictures = all("figure", stage);
    if (pictures.length < 2) continue;
    const bar = document.createElement("div");
    bar.className = "steps";
    const button = (text, label) => {
      const made = document.createElement("button");
      made.type = "button";
      made.textContent = text;
      made.setAttribute("aria-label", label);
      bar.append(made);
      return made;
    };
    const back = button("←", "Picture before");
    const where = document.createElement("output");
    bar.append(where);
    const on = button("→", "Next picture");
    let shown = 0;
    const show = (number) => {
      shown = Math.max(0, Math.min(pictures.length - 1, number));
      pictures.forEach((picture, each) => { picture.hidden = each !== shown; });
      where.textContent = `${shown + 1} of ${pictures.length}`;
      back.setAttribute("aria-disabled", String(shown === 0));
      on.setAttribute("aria-disabled", String(shown === pictures.length - 1));
    };
    back.addEventListener("click", () => show(shown - 1));
    on.addEventListener("click", () => show(shown + 1));
    stage.addEventListener("keydown", (event) => {
      const to = { ArrowLeft: shown - 1, ArrowRight: shown + 1, Home: 0, End: pictures.length - 1 }[event.key];
      if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      show(to);
    });
    const open = () => {
      const asked = pictures.findIndex((picture) => `#${picture.id}` === location.hash);
      if (asked >= 0) show(asked);
    };
    window.addEventListener("hashchange", open);
    window.addEventListener("beforeprint", () => pictures.forEach((picture) => { picture.hidden = false; }));
    window.addEventListener("afterprint", () => show(shown));
    stage.prepend(bar);
    show(0);
    open();
  }

  // A link to a line opens the line's details.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (target && target.matches("details")) target.open = true;
  };
  window.addEventListener("hashchange", reveal);
  reveal();

  for (const toggle of all("[data-open-all]")) {
    toggle.hidden = false;
    toggle.addEventListener("click", () => {
      const rows = all("details", document.getElementById("listing"));
      const open = rows.some((row) => !row.open);
      rows.forEach((row) => { row.open = open; });
      toggle.textContent = open ? "Close all lines" : "Open all lines";
    });
  }
})();
