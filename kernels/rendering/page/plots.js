"use strict";
// Plots: the values of a point by mouse or keyboard, and series to hide. Without it, a browser shows the
// values of the point below the mouse, and all series.
(() => {
  const all = (selector, within) => [...within.querySelectorAll(selector)];
  const REACH = 28;

  for (const figure of all("[data-plot]", document)) {
    const picture = figure.querySelector("svg");
    const rows = all("g.series", picture).map((group) => ({ group, spots: [] }));
    for (const row of rows) {
      row.spots = all("g.spot", row.group).map((group) => {
        const [x, y] = group.dataset.at.split(" ").map(Number);
        const title = group.querySelector("title");
        const text = title.textContent;
        title.remove();
        return { group, x, y, text };
      });
      row.spots.sort((a, b) => a.x - b.x);
    }
    if (!rows.some((row) => row.spots.length)) continue;

    const tip = document.createElement("p");
    tip.className = "tip";
    tip.setAttribute("role", "status");
    tip.hidden = true;
    figure.append(tip);
    let at = null;

    const visible = () => rows.filter((row) => row.spots.length && !row.group.classList.contains("hidden"));
    const hide = () => {
      if (at) at.spot.group.classList.remove("on");
      at = null;
      tip.hidden = true;
    };
    const show = (row, spot) => {
      hide();
      at = { row, spot };
      spot.group.classList.add("on");
      tip.textContent = spot.text;
      tip.hidden = false;
      const box = figure.getBoundingClientRect();
      const place = new DOMPoint(spot.x, spot.y).matrixTransform(picture.getScreenCTM());
      const left = place.x - box.left - tip.offsetWidth / 2;
      const above = place.y - box.top - tip.offsetHeight - 12;
      tip.style.left = `${Math.max(0, Math.min(left, box.width - tip.offsetWidth))}px`;
      tip.style.top = `${above >= 0 ? above : place.y - box.top + 14}px`;
    };
    const nearest = (spots, distance) =>
      spots.reduce((best, spot) => (best && distance(best) <= distance(spot) ? best : spot), null);

    const inCell = (event) => {
      const group = event.target.closest("g.spot");
      for (const row of visible()) {
        const spot = row.spots.find((each) => each.group === group);
        if (spot) return { row, spot };
      }
      return null;
    };
    const closeBy = (event) => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
      const far = (spot) => Math.hypot(spot.x - point.x, spot.y - point.y);
      let found = null;
      for (const row of visible()) {
        const spot = nearest(row.spots, far);
        if (far(spot) <= REACH && (!found || far(spot) < far(found.spot))) found = { row, spot };
      }
      return found;
    };
    const follow = (event) => {
      const found = inCell(event) ?? (picture.matches(".heat") ? null : closeBy(event));
      if (!found) hide();
      else if (found.spot !== at?.spot) show(found.row, found.spot);
    };
    picture.addEventListener("pointermove", follow);
    picture.addEventListener("pointerdown", follow);
    picture.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });

    // One stop for the keyboard: left and right go along a series, up and down to the next one.
    picture.setAttribute("tabindex", "0");
    picture.addEventListener("blur", hide);
    picture.addEventListener("focus", () => {
      const first = visible()[0];
      if (first && !at && picture.matches(":focus-visible")) show(first, first.spots[0]);
    });
    picture.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape") { hide(); return; }
      const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -1e9], End: [0, 1e9] };
      const step = steps[event.key];
      const shown = visible();
      if (!step || !shown.length) return;
      event.preventDefault();
      const within = (number, length) => Math.max(0, Math.min(length - 1, number));
      const place = at ? shown.indexOf(at.row) : 0;
      const row = shown[within(place + step[0], shown.length)];
      if (!at) show(row, row.spots[0]);
      else if (step[0]) { const { x } = at.spot; show(row, nearest(row.spots, (spot) => Math.abs(spot.x - x))); }
      else show(row, row.spots[within(row.spots.indexOf(at.spot) + step[1], row.spots.length)]);
    });

    // A button for each name of the legend, which works like the name itself.
    const names = new Map();
    for (const key of all("g.key", picture)) {
      names.set(key.dataset.series, { name: key.dataset.name, keys: [...(names.get(key.dataset.series)?.keys ?? []), key] });
    }
    if (names.size < 2) continue;
    const bar = document.createElement("div");
    bar.className = "keys";
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "Series to show");
    bar.append("Show");
    for (const [number, { name, keys }] of names) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.setAttribute("aria-pressed", "true");
      const toggle = () => {
        const off = button.getAttribute("aria-pressed") === "true";
        button.setAttribute("aria-pressed", String(!off));
        for (const row of rows) if (row.group.dataset.series === number) row.group.classList.toggle("hidden", off);
        for (const key of keys) key.classList.toggle("off", off);
        hide();
      };
      button.addEventListener("click", toggle);
      for (const key of keys) key.addEventListener("click", toggle);
      bar.append(button);
    }
    figure.append(bar);
  }
})();
