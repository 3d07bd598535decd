"use strict";
// All of this is convenience. Without it, the page shows all its parts and pictures one below the other. A page that
// adds a report later calls it again by an event: report.dispatchEvent(new Event("added", {bubbles: true})).
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  /** How to show a part that may be hidden. */
  const shows = new WeakMap();

  // Tabs: <nav data-tabs> with links to the parts of the page. One part is visible at a time.
  const addTabs = (nav) => {
    const parts = all("a", nav).map((link) => [link, document.getElementById(link.hash.slice(1))]);
    const show = (chosen) => {
      for (const [link, part] of parts) {
        part.classList.toggle("unchosen", part !== chosen);
        if (part === chosen) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    };
    for (const [, part] of parts) shows.set(part, () => show(part));
    nav.addEventListener("click", (event) => {
      const link = event.target.closest("a");
      if (link === null) return;
      event.preventDefault();
      shows.get(document.getElementById(link.hash.slice(1)))();
    });
    show((parts.find(([link]) => link.hasAttribute("aria-current")) ?? parts[0])[1]);
  };

  // Shows one picture of the phases at a time. Buttons, arrow keys, Home and End change it.
  const addSteps = (stage) => {
    const pictures = all("figure", stage);
    if (pictures.length < 2) return;
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
    pictures.forEach((picture, each) => shows.set(picture, () => show(each)));
    window.addEventListener("beforeprint", () => pictures.forEach((picture) => { picture.hidden = false; }));
    window.addEventListener("afterprint", () => show(shown));
    stage.prepend(bar);
    show(0);
  };

  const addOpener = (toggle) => {
    toggle.hidden = false;
    toggle.addEventListener("click", () => {
      const rows = all("details", document.getElementById("listing"));
      const open = rows.some((row) => !row.open);
      rows.forEach((row) => { row.open = open; });
      toggle.textContent = open ? "Close all lines" : "Open all lines";
    });
  };

  // PTX next to its source: a number lights its line on both sides, and scrolls the other side there.
  const addTwins = (fold) => {
    fold.addEventListener("click", (event) => {
      const pressed = event.target.closest("[data-of]");
      if (pressed === null || getSelection().toString() !== "") return;
      const isNew = !pressed.classList.contains("lit");
      for (const twin of all("[data-of]", fold)) {
        const lit = isNew && twin.dataset.of === pressed.dataset.of;
        twin.classList.toggle("lit", lit);
        twin.querySelector("button").setAttribute("aria-pressed", String(lit));
      }
      const other = all("[role=region]", fold).find((side) => !side.contains(pressed));
      const first = other.querySelector(".lit");
      if (first !== null) other.scrollTop += first.getBoundingClientRect().top - other.getBoundingClientRect().top - 16;
    });
  };

  const enhance = (within) => {
    all("[data-tabs]", within).forEach(addTabs);
    all("[data-stepper]", within).forEach(addSteps);
    all("[data-open-all]", within).forEach(addOpener);
    all("[data-ptx]", within).forEach(addTwins);
  };

  /** Show the element with this ID, and all that it is in. */
  const reveal = (hash) => {
    const target = hash.length > 1 ? document.getElementById(hash.slice(1)) : null;
    for (let each = target; each !== null; each = each.parentElement) {
      if (getComputedStyle(each).display === "none") shows.get(each)?.();
      if (each.matches("details")) each.open = true;
    }
    return target;
  };

  enhance(document);
  document.addEventListener("added", (event) => enhance(event.target));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='#']:not([data-tabs] *)");
    if (link && !event.defaultPrevented) reveal(link.hash);
  });
  window.addEventListener("hashchange", () => reveal(location.hash)?.scrollIntoView());
  if (location.hash !== "") reveal(location.hash)?.scrollIntoView();
})();
