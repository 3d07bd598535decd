// On every page, and small. An element asks for what it wants with a data attribute:
//
//   <button hidden data-needs-script …>      shown here only: without a script it could do nothing
//   <button data-copy="#id">, data-copy-text="…"   copies the element's text, or that one
//   <form data-confirm="Really?">            asks first; also on one button of a form
//   <form data-once>                         is sent once, however often its button is pressed
//   <time datetime="…">                      tells the time on this computer's clock as a tooltip
//   <p data-handed-in="KEY">                 what was sent from the form with this key has been handed in: no draft now
//   <form data-clear-drafts>                 signing out leaves no draft behind

import { dropAllDrafts, dropSent } from "./drafts";
import { LOCALE, all } from "./page";

for (const element of all("[data-needs-script]")) element.hidden = false;
for (const time of all<HTMLTimeElement>("time[datetime]:not([title])")) tellLocally(time);
for (const element of all("[data-handed-in]")) dropSent(element.dataset["handedIn"] ?? "");

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-copy], [data-copy-text]") : null;
  if (button !== null) void copy(button);
});

document.addEventListener("submit", (event) => {
  const form = event.target as HTMLFormElement;
  const question = event.submitter?.dataset["confirm"] ?? form.dataset["confirm"];
  if (question !== undefined && !window.confirm(question)) {
    event.preventDefault();
    return;
  }
  if ("clearDrafts" in form.dataset) dropAllDrafts();
  if (!("once" in form.dataset)) return;
  if (form.dataset["once"] === "sent") event.preventDefault();
  else form.dataset["once"] = "sent";
});

// A page that comes back from the browser's memory may be sent again.
window.addEventListener("pageshow", () => {
  for (const form of all("form[data-once]")) form.dataset["once"] = "";
});

function tellLocally(time: HTMLTimeElement): void {
  const when = new Date(time.dateTime);
  if (Number.isNaN(when.getTime())) return;
  const told = when.toLocaleString(LOCALE, { dateStyle: "full", timeStyle: "long" });
  time.title = `${told} on this computer’s clock`;
}

async function copy(button: HTMLElement): Promise<void> {
  const from = button.dataset["copy"];
  const text = from === undefined ? button.dataset["copyText"] : document.querySelector(from)?.textContent;
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text?.trim() ?? "");
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed here";
  }
  // the same button says so, in a place that is announced
  button.setAttribute("aria-live", "polite");
  window.setTimeout(() => {
    button.textContent = label;
  }, 2500);
}
