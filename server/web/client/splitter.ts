// The bar between the two sides of a workbench: dragged, clicked for the next of three widths, or moved with the arrow
// keys. This browser remembers its place, and for each assignment whether the left side is hidden.

import { make } from "./page";
import { remember, remembered } from "./remembered";

const PLACE = "tilelab-side";
const HIDDEN = "tilelab-side-hidden:";
const [LEAST, MOST, STEP] = [25, 70, 2];
const USUAL = 42;
const WIDTHS = [30, USUAL, 55] as const;
/** A hand that trembles still clicks. */
const STILL_PX = 3;

export function splitter(bench: HTMLElement): void {
  const bar = make("div", { className: "bar-between", tabIndex: 0, title: "Drag, or click for another width" });
  const set = (percent: number): void => {
    const place = Math.min(MOST, Math.max(LEAST, Math.round(percent)));
    bench.style.setProperty("--side", `${place}%`);
    bar.setAttribute("aria-valuenow", `${place}`);
    remember(PLACE, `${place}`);
  };
  const attributes = {
    role: "separator", "aria-orientation": "vertical", "aria-label": "Width of the left side", "aria-controls": "side",
    "aria-valuemin": `${LEAST}`, "aria-valuemax": `${MOST}`,
  };
  for (const [name, value] of Object.entries(attributes)) bar.setAttribute(name, value);
  set(Number(remembered(PLACE)) || USUAL);
  let [start, isDragged] = [0, false];
  bar.addEventListener("pointerdown", (event) => {
    [start, isDragged] = [event.clientX, false];
    bar.setPointerCapture(event.pointerId);
  });
  bar.addEventListener("click", () => {
    const place = Number(bar.getAttribute("aria-valuenow"));
    if (!isDragged) set(WIDTHS.find((width) => width > place) ?? WIDTHS[0]);
  });
  bar.addEventListener("pointermove", (event) => {
    if (!bar.hasPointerCapture(event.pointerId)) return;
    isDragged ||= Math.abs(event.clientX - start) > STILL_PX;
    if (!isDragged) return;
    const room = bench.getBoundingClientRect();
    set((100 * (event.clientX - room.left)) / room.width);
  });
  bar.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    set(Number(bar.getAttribute("aria-valuenow")) + by);
  });
  bench.querySelector("#side")?.after(bar);
  for (const button of document.querySelectorAll<HTMLElement>("[data-fold-side]")) addFold(bench, button);
}

function addFold(bench: HTMLElement, button: HTMLElement): void {
  const key = HIDDEN + location.pathname;
  const fold = (hide: boolean): void => {
    bench.classList.toggle("alone", hide);
    button.textContent = hide ? "Show handout" : "Hide handout";
    button.setAttribute("aria-expanded", String(!hide));
    remember(key, hide ? "yes" : "");
  };
  button.hidden = false;
  button.addEventListener("click", () => fold(!bench.classList.contains("alone")));
  bench.addEventListener("result", () => fold(false));
  if (remembered(key) === "yes") fold(true);
}
