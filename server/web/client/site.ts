// Small behaviours of every page. Elements ask for them with data attributes:
//
//   <button hidden data-needs-script …>      shown here only, because it needs a script
//   <button data-copy="#id">, data-copy-text="…"   copies the element's text, or that one
//   <form data-confirm="Really?">            asks first; also on one button of a form
//   <form data-once>                         is sent once, however often its button is pressed; the button says so
//   <time datetime="…">                      has a tooltip with the time by this computer's clock, below its own title
//   <p data-handed-in="KEY">                 the form with this key was submitted: delete its draft
//   <p data-asks-again="/…">                  opens this address after four seconds, in place of the page
//   <form data-clear-drafts>                 deletes all drafts, for signing out
//   <nav data-steps>                         its links with rel="prev" and rel="next" have the keys of a presenter
//   <fieldset data-scheme>                   remembers the chosen colours

import { rememberScheme } from "./scheme";
import { dropAllDrafts, dropSent } from "./drafts";
import { LOCALE, all, make } from "./page";

const COPIED_MS = 2500;
const SENDING_MS = 10_000;
const ASKS_AGAIN_MS = 4_000;

/** Timers of buttons that show another text for a while. */
const saying = new Map<Element, () => void>();
/** Announces a button's text to screen readers. It exists from the start, because they only announce changes. */
const told = make("p", { className: "unseen" });
told.setAttribute("aria-live", "polite");
document.body.append(told);

for (const element of all("[data-needs-script]")) element.hidden = false;
reportZone();
for (const time of all<HTMLTimeElement>("time[datetime]")) tellLocally(time);
for (const element of all("[data-scheme]")) rememberScheme(element);
for (const element of all("[data-asks-again]")) {
  window.setTimeout(() => location.replace(element.dataset["asksAgain"] ?? ""), ASKS_AGAIN_MS);
}
for (const element of all("[data-handed-in]")) dropSent(element.dataset["handedIn"] ?? "");

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-copy], [data-copy-text]") : null;
  if (button !== null) void copy(button);
});

document.addEventListener("submit", (event) => {
  if (event.defaultPrevented) return; // another handler asked a question first
  const form = event.target as HTMLFormElement;
  const question = event.submitter?.dataset["confirm"] ?? form.dataset["confirm"];
  if (question !== undefined && !window.confirm(question)) {
    event.preventDefault();
    return;
  }
  if ("clearDrafts" in form.dataset) dropAllDrafts();
  if ("once" in form.dataset) sendOnce(event, form);
});

const steps = document.querySelector("[data-steps]");
const STEPS: Readonly<Record<string, string>> = { ArrowLeft: "prev", PageUp: "prev", ArrowRight: "next", PageDown: "next" };
if (steps !== null) document.addEventListener("keydown", (event) => {
  const rel = STEPS[event.key];
  if (rel === undefined || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  steps.querySelector<HTMLElement>(`a[rel="${rel}"]`)?.click();
});

// A page that comes back from the browser's memory may be sent again.
window.addEventListener("pageshow", () => {
  for (const end of [...saying.values()]) end();
});

/** A form can be sent again after a while, for example if the reader stopped the first request. */
function sendOnce(event: SubmitEvent, form: HTMLFormElement): void {
  if (form.dataset["once"] === "sent") {
    event.preventDefault();
    return;
  }
  form.dataset["once"] = "sent";
  say(event.submitter ?? form.querySelector("button"), "Sending…", SENDING_MS, () => {
    form.dataset["once"] = "";
  });
}

/** Show another text on a button for a while. */
function say(button: Element | null, text: string, ms: number, then?: () => void): void {
  if (button === null) return;
  saying.get(button)?.();
  const label = [...button.childNodes];
  const end = (): void => {
    window.clearTimeout(timer);
    saying.delete(button);
    button.replaceChildren(...label);
    told.textContent = "";
    then?.();
  };
  const timer = window.setTimeout(end, ms);
  saying.set(button, end);
  button.replaceChildren(text);
  told.textContent = text;
}

/** The server writes times in this zone from now on, unless the reader's profile names another one. */
function reportZone(): void {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const secure = location.protocol === "https:" ? "; secure" : "";
  const told = `tilelab_zone=${zone}`;
  const known = (): boolean => document.cookie.split("; ").includes(told);
  if (!/^[\w+/-]{1,64}$/.test(zone)) return;
  const before = known();
  document.cookie = `${told}; path=/; max-age=31536000; samesite=lax${secure}`;
  if (!before && known()) void rewriteTimes();
}

/** This page was made before the server knew the zone: take its times from the page as it is made now. */
async function rewriteTimes(): Promise<void> {
  const times = all<HTMLTimeElement>("time[datetime]");
  if (times.length === 0) return;
  const answer = await fetch(location.href);
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.querySelectorAll<HTMLTimeElement>("time[datetime]");
  if (fresh.length !== times.length) return;
  for (const [place, time] of times.entries()) {
    const now = fresh[place];
    if (now === undefined || now.dateTime !== time.dateTime) continue;
    time.textContent = now.textContent;
    time.title = now.title;
    tellLocally(time);
  }
}

function tellLocally(time: HTMLTimeElement): void {
  const when = new Date(time.dateTime);
  if (Number.isNaN(when.getTime())) return;
  const here = `${when.toLocaleString(LOCALE, { dateStyle: "full", timeStyle: "long" })} on this computer’s clock`;
  time.title = time.title === "" ? here : `${time.title}\n${here}`;
}

async function copy(button: HTMLElement): Promise<void> {
  const from = button.dataset["copy"];
  const text = from === undefined ? button.dataset["copyText"] : document.querySelector(from)?.textContent;
  try {
    await navigator.clipboard.writeText(text?.trim() ?? "");
    say(button, "Copied", COPIED_MS);
  } catch {
    say(button, "Not allowed by your browser", COPIED_MS);
  }
}
