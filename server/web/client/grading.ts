// The pages with comments at lines, and the page on which staff grade one submission after the other.
//
//   <a data-line="12" href="?line=12">       opens the comment form below this line, without loading the page again
//   <form data-grading="READER:ASSIGNMENT:CODE">   the rubric: keys, the sum, and a draft in this browser, by this key
//   <p data-grading="READER:ASSIGNMENT:">    on the overview: whose drafts these are
//
// Keys never act while somebody types in a field. A draft also survives signing out, because its work isn't saved.

import { all, clock, make } from "./page";

const PREFIX = "tilelab-grading:";
const DAYS = 30;
const TYPED = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";

interface Kept {
  readonly at: number;
  readonly fields: Readonly<Record<string, string>>;
}

const write = document.querySelector<HTMLTableRowElement>("#write");
const sheet = document.querySelector<HTMLFormElement>("form[data-grading]");

if (write !== null) commentAtLines(write);
for (const form of all<HTMLFormElement>("form")) if (form.querySelector(".saved") !== null) offerSaved(form);
dropSaved();
if (sheet !== null) gradeBy(sheet);
document.addEventListener("keydown", (event) => {
  const target = event.target;
  if (!(target instanceof HTMLElement)) return;
  if (target.matches("textarea") && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    (target as HTMLTextAreaElement).form?.requestSubmit();
  } else if (target.matches(TYPED) && event.key === "Escape") target.blur();
});

/** Comments at a line. */

function commentAtLines(row: HTMLTableRowElement): void {
  row.closest("table")?.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("[data-line], [data-close]") : null;
    if (link === null) return;
    event.preventDefault();
    const line = link.dataset["line"];
    if (line === undefined) close(row);
    else open(row, line)?.focus();
  });
}

function open(row: HTMLTableRowElement, line: string): HTMLTextAreaElement | null {
  const after = document.querySelector(`[data-line="${CSS.escape(line)}"]`)?.closest("tr");
  const field = row.querySelector<HTMLInputElement>("[name=line]");
  if (after == null || field === null) return null;
  after.after(row);
  row.hidden = false;
  field.value = line;
  return row.querySelector("textarea");
}

function close(row: HTMLTableRowElement): void {
  const line = row.querySelector<HTMLInputElement>("[name=line]")?.value ?? "";
  row.hidden = true;
  document.querySelector<HTMLElement>(`[data-line="${CSS.escape(line)}"]`)?.focus();
}

/** The saved comments that have all typed words; the arrows go through them. */
function offerSaved(form: HTMLFormElement): void {
  const text = form.querySelector("textarea");
  const buttons = all<HTMLButtonElement>(".saved button", form);
  text?.addEventListener("input", () => {
    const words = text.value.toLowerCase().split(/\s+/);
    for (const button of buttons) button.hidden = !words.every((word) => button.title.toLowerCase().includes(word));
  });
  form.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    const stops = [text, ...buttons.filter((button) => !button.hidden)];
    const here = stops.indexOf(event.target as HTMLButtonElement);
    const to = stops[here + step];
    const leaves = event.target === text && text?.value.slice(text.selectionStart).includes("\n");
    if (here < 0 || to == null || leaves) return;
    event.preventDefault();
    to.focus();
  });
}

/** Drafts. */

function read(key: string): Kept | null {
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? "null") as Partial<Kept> | null;
    const { at, fields } = kept ?? {};
    return typeof at === "number" && typeof fields === "object" ? { at, fields } : null;
  } catch {
    return null; // no storage, or written by another program
  }
}

/** Delete what the last answer says is saved by this reader, and what is too old. */
function dropSaved(): void {
  const saved = new URLSearchParams(location.search).get("saved");
  const group = document.querySelector<HTMLElement>("[data-grading]")?.dataset["grading"]?.replace(/[^:]*$/, "");
  try {
    for (const key of Object.keys(localStorage).filter((each) => each.startsWith(PREFIX))) {
      const kept = read(key);
      const old = kept === null || Date.now() - kept.at > DAYS * 86_400_000;
      if (old || (group !== undefined && key === `${PREFIX}${group}${saved}`)) localStorage.removeItem(key);
      else if (saved === "comment" && here() === key) keep(key, without(kept.fields, kept.fields["sent"] ?? ""));
    }
  } catch {
    // no storage, no drafts
  }
  if (saved === null) return;
  const address = new URL(location.href);
  address.searchParams.delete("saved");
  history.replaceState(null, "", address);
}

function without(fields: Kept["fields"], sent: string): Kept["fields"] {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => name !== sent && name !== "sent"));
}

function here(): string {
  return PREFIX + (sheet?.dataset["grading"] ?? "");
}

function keep(key: string, fields: Kept["fields"]): void {
  try {
    localStorage.setItem(key, JSON.stringify({ at: Date.now(), fields }));
  } catch {
    // full, or not allowed
  }
}

/** What is typed and chosen now, with the comments that aren't sent. */
function fieldsOf(form: HTMLFormElement): Record<string, string> {
  const values = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]));
  delete values["csrf"];
  for (const text of all<HTMLTextAreaElement>("textarea")) if (text.value.trim() !== "") values[placeOf(text)] = text.value;
  return values;
}

/** Where a comment is written: at a line, in a thread, or on the whole submission. */
function placeOf(text: HTMLTextAreaElement): string {
  const place = (name: string): string => text.form?.querySelector<HTMLInputElement>(`[name=${name}]`)?.value ?? "";
  return `comment ${place("line")} ${place("thread")}`;
}

function restore(form: HTMLFormElement, kept: Kept): void {
  for (const element of form.elements) {
    if (!(element instanceof HTMLInputElement) || element.name === "" || element.name === "csrf") continue;
    const value = kept.fields[element.name];
    if (element.type === "checkbox" || element.type === "radio") element.checked = value === element.value;
    else if (value !== undefined) element.value = value;
  }
  for (const [name, value] of Object.entries(kept.fields)) {
    const line = /^comment (\d+) /.exec(name)?.[1];
    if (line !== undefined && write !== null) open(write, line);
    const text = all<HTMLTextAreaElement>("textarea").find((each) => placeOf(each) === name);
    if (text === undefined) continue;
    text.value = value;
    text.closest("details")?.setAttribute("open", "");
  }
}

function keepDrafts(form: HTMLFormElement): void {
  const key = here();
  const first = JSON.stringify(fieldsOf(form));
  const kept = read(key);
  // After a refusal, the page has what was sent.
  const refused = "refused" in form.dataset;
  if (kept !== null && !refused && JSON.stringify(kept.fields) !== first) {
    restore(form, kept);
    const back = make("button", { className: "button small", type: "button" }, "Discard it");
    const told = make("p", { className: "notice" }, `What you hadn’t saved (${clock(new Date(kept.at))}) is back. `, back);
    told.setAttribute("role", "status");
    back.addEventListener("click", () => {
      localStorage.removeItem(key);
      location.reload();
    });
    document.querySelector("[data-restored-here]")?.before(told);
  }
  const changed = (): void => {
    const now = fieldsOf(form);
    if (JSON.stringify(now) === first) localStorage.removeItem(key);
    else keep(key, now);
  };
  document.addEventListener("submit", (event) => {
    const text = (event.target as HTMLFormElement).querySelector("textarea");
    if (text !== null) keep(key, { ...fieldsOf(form), sent: placeOf(text) });
  });
  document.addEventListener("input", changed);
  form.addEventListener("chosen", changed);
}

/** The rubric. */

function gradeBy(form: HTMLFormElement): void {
  const criteria = all("[data-criterion]", form);
  const itemsOf = (within: HTMLElement): HTMLInputElement[] => all<HTMLInputElement>("[data-item]", within);
  let pending: HTMLElement | null = null;

  keepDrafts(form);
  form.addEventListener("input", total);
  form.addEventListener("chosen", total);
  total();
  document.querySelector("[data-keys-help]")?.addEventListener("click", help);
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat || event.defaultPrevented) return;
    if (target.closest(TYPED) !== null || target.closest("dialog") !== null) return;
    if (event.key === "Enter" && target.closest("a, button, summary") !== null) return;
    if (act(event.key)) event.preventDefault();
  });

  function act(key: string): boolean {
    if (/^[1-9]$/.test(key)) return number(Number(key));
    expect(null);
    if (key === "Enter") form.requestSubmit(form.querySelector<HTMLButtonElement>("button.primary"));
    else if (key === "n" || key === "j") document.querySelector<HTMLElement>("[rel=next]")?.click();
    else if (key === "p" || key === "k") document.querySelector<HTMLElement>("[rel=prev]")?.click();
    else if (key === "c") unfold("#comment-all", "textarea");
    else if (key === "a") unfold("#adjust", "input");
    else if (key === "?") help();
    else return false;
    return true;
  }

  /** A criterion's number, or after it an item's. */
  function number(digit: number): boolean {
    const criterion = pending ?? (criteria.length === 1 ? criteria[0] : null) ?? null;
    if (criterion !== null && itemsOf(criterion).length > 0) {
      choose(itemsOf(criterion)[digit - 1]);
      expect(null);
      return true;
    }
    const named = criteria[digit - 1];
    if (named === undefined) return false;
    const items = itemsOf(named);
    if (items.length === 1) choose(items[0]);
    else if (items.length === 0) named.querySelector<HTMLElement>("input")?.focus();
    else expect(named);
    return true;
  }

  function expect(criterion: HTMLElement | null): void {
    pending?.classList.remove("awaits");
    criterion?.classList.add("awaits");
    criterion?.scrollIntoView({ block: "nearest" });
    pending = criterion;
  }

  function choose(item: HTMLInputElement | undefined): void {
    if (item === undefined) return;
    const none = item.closest("[data-criterion]")?.querySelector<HTMLInputElement>("[data-none]");
    if (item.checked && none != null) none.checked = true;
    else item.checked = !item.checked;
    item.closest("label")?.scrollIntoView({ block: "nearest" });
    form.dispatchEvent(new Event("chosen"));
  }

  /** The sum as the server will compute it, for the reader only. */
  function total(): void {
    let sum = 0;
    let graded = false;
    for (const criterion of criteria) {
      const items = itemsOf(criterion);
      const most = Number(criterion.dataset["most"]);
      const typed = criterion.querySelector<HTMLInputElement>("input[name^=points_]")?.value.trim().replace(",", ".") ?? "";
      const chosen = items.filter((item) => item.checked).map((item) => Number(item.dataset["points"]));
      const points = items.length === 0 ? Number(typed) : chosen.reduce((a, b) => a + b, Number(criterion.dataset["starts"]));
      const known = items.length > 0 || (typed !== "" && Number.isFinite(points));
      const bounded = Math.min(Math.max(points, 0), most);
      const output = criterion.querySelector("output");
      if (output !== null) output.value = known ? rounded(bounded) : "–";
      if (known) sum += bounded;
      graded ||= known;
    }
    const extra = Number(form.querySelector<HTMLInputElement>("[name=adjustment]")?.value.replace(",", ".") ?? 0);
    const output = form.querySelector<HTMLOutputElement>("[data-total]");
    if (output !== null) output.value = graded || extra ? rounded(Math.max(0, sum + (extra || 0))) : "–";
  }
}

function rounded(points: number): string {
  return String(Math.round(points * 100) / 100);
}

function unfold(details: string, field: string): void {
  const found = document.querySelector<HTMLDetailsElement>(details);
  if (found === null) return;
  found.open = true;
  found.querySelector<HTMLElement>(field)?.focus();
}

function help(): void {
  document.querySelector<HTMLDialogElement>("#keys")?.showModal();
}
