// An assignment's page as a workbench. Its forms are sent without leaving the page, and the server's pages are shown in
// the panel. Without this script, the forms lead to the submission's page. It also loads the editor.
//
//   <div data-bench="…">                 the page's address; its <nav data-tabs> is the work of report.js
//     <div id="panel" data-earlier="…">  shows the #outcome of a submission's page, first of this one; with data-pending,
//                                        it has no verdict yet, and the page follows it
//     <form>                             its input named `key` gets a new value with each submission and verdict;
//                                        sent here, if a button named `mode` or `late_days` was pressed; Ctrl+Enter
//                                        presses the first named `mode`, Ctrl+Shift+Enter the panel's; F8 follows the
//                                        panel's "Show in editor"
//     <p data-says></p>                  announces what happens
//   <… id="x" data-fresh>                gets its new content from the server with each submission and verdict, and
//                                        after the seconds of a data-wait="60" in the workbench
//   <button data-fold-side>              hides and shows the left side

import { dropSent } from "./drafts";
import { Live } from "./follow";
import { splitter } from "./splitter";
import { all, make } from "./page";
import { endRefusal } from "./refusal";
import { questionLinks } from "./questions";
import { Trials } from "./trials";

const SENDS = ["mode", "late_days"];
const LATE_DAYS = '[data-refusal="late_days"]';
const IDLE_MS = 500;
const RETRY_MS = 3_000;
/** The second click of a double click comes within this time. */
const DOUBLE_MS = 1_000;
const WIDE = window.matchMedia("(min-width: 68.75rem)");

class Workbench {
  private following: Live | null = null;
  private busy = false;
  /** Whether the last request may have arrived although no answer came: sent again, it must have the same key. */
  private unanswered = false;
  /** The text that the panel's result is about; at first the one that the editor begins with. */
  private sent: FormDataEntryValue | null;
  /** Whether the editor's text was sent from here, so that the page's latest submission has it. */
  private hasTaken = false;
  private refreshes = 0;
  private timer = 0;
  private readonly title = document.title;
  private readonly panel: HTMLElement;
  private readonly area: HTMLTextAreaElement | null;
  private readonly trials: Trials | null;

  constructor(private readonly bench: HTMLElement) {
    this.panel = bench.querySelector<HTMLElement>("#panel") ?? bench;
    this.area = bench.querySelector<HTMLTextAreaElement>("textarea[data-editor]");
    this.sent = this.area?.defaultValue ?? null;
    const place = bench.querySelector<HTMLElement>("[data-trial]");
    this.trials = place && new Trials(place, () => this.area?.value ?? "");
    bench.addEventListener("submit", (event) => this.submit(event));
    bench.addEventListener("click", (event) => this.click(event));
    document.addEventListener("keydown", (event) => this.press(event), true);
    WIDE.addEventListener("change", () => this.arrange());
    this.leaveFormAddress();
    splitter(bench);
    this.open();
    this.refreshAfterWait();
    if (this.area !== null) loadEditor(this.area);
  }

  /** Choose the part to begin with. The page loads report.js first, so the tabs work. */
  private open(): void {
    const asked = new URL(location.href);
    const isBack = asked.searchParams.has("from") || /^#(line-|source|hand-in)/.test(asked.hash);
    const refused = document.querySelector<HTMLElement>("[data-mistake], [data-refusal], [data-repaired]");
    const { earlier, pending } = this.panel.dataset;
    if (refused !== null || (isBack && !WIDE.matches)) this.tab(!WIDE.matches ? "work" : earlier === undefined ? "about" : "checked");
    else if (isBack || pending !== undefined) this.tab("checked");
    refused?.focus(); // the browser gave no focus to what was still hidden
  }

  /** A refused form came back at the form's address, which a reload would send again. */
  private leaveFormAddress(): void {
    const { bench: address } = this.bench.dataset;
    if (address !== undefined && location.pathname !== address) history.replaceState(null, "", address + location.hash);
  }

  private arrange(): void {
    const current = this.bench.querySelector("[data-tabs] [aria-current]");
    if (WIDE.matches && current?.getAttribute("href") === "#work") this.tab("about");
  }

  private tab(part: string): void {
    this.bench.querySelector<HTMLElement>(`[data-tabs] a[href="#${part}"]`)?.click();
    if (this.bench.getBoundingClientRect().top < 0) this.bench.scrollIntoView();
  }

  private click(event: MouseEvent): void {
    const link = event.target instanceof Element ? event.target.closest<HTMLElement>("a") : null;
    if (link?.getAttribute("href") === "#checked") void this.showEarlier();
    if (link?.getAttribute("href") === "#try") void this.trials?.load();
    if (link?.dataset["editorLine"] !== undefined && !WIDE.matches) this.tab("work");
  }

  /** Ctrl+Enter checks, Ctrl+Shift+Enter submits the checked version, F8 goes to the line at fault. */
  private press(event: KeyboardEvent): void {
    const wanted = this.wanted(event);
    // A key that is held down sends once.
    if (event.repeat && event.key === "Enter" && isSubmit(event.target)) event.preventDefault();
    if (wanted === null) return;
    event.preventDefault();
    event.stopPropagation();
    if (!event.repeat) wanted.click();
  }

  private wanted(event: KeyboardEvent): HTMLElement | null {
    const control = event.ctrlKey || event.metaKey;
    const inEditor = event.target instanceof Element && event.target.closest(".cm-editor") !== null;
    // In the editor, F8 goes from mark to mark.
    if (event.key === "F8" && !control && !event.altKey && !event.shiftKey && !inEditor) {
      return this.panel.querySelector<HTMLElement>(".verdict .actions [data-editor-line]");
    }
    if (event.key !== "Enter" || !control || event.altKey) return null;
    if (event.shiftKey) return this.panel.querySelector<HTMLElement>(".verdict button[name=mode]");
    const check = this.bench.querySelector<HTMLButtonElement>("button[name=mode]:not(#panel *)");
    return check !== null && this.area?.form === check.form ? check : null;
  }

  private submit(event: SubmitEvent): void {
    const { submitter } = event;
    const form = event.target as HTMLFormElement;
    if (event.defaultPrevented || !(submitter instanceof HTMLButtonElement)) return;
    const isOfPanel = this.panel.contains(form) && /\/(cancel|edit|hints\/\w+)$/.test(form.action);
    if (!isOfPanel && !SENDS.includes(submitter.name)) return;
    event.preventDefault();
    const question = isOfPanel ? form.dataset["confirm"] : undefined;
    if (question !== undefined && !window.confirm(question)) return;
    if (!this.busy) void this.send(form, submitter);
  }

  private async send(form: HTMLFormElement, button: HTMLButtonElement): Promise<void> {
    const sent = new FormData(form, button);
    const isSource = SENDS.includes(button.name);
    if (isSource) [this.sent, this.unanswered] = [sent.get("source"), true];
    this.busy = true;
    if (endRefusal()) this.bench.querySelector<HTMLButtonElement>("button[name=mode]")?.focus();
    this.tell("Sending…");
    try {
      const answer = await fetch(form.action, { method: "POST", body: sent });
      const page = await parsed(answer);
      if (isSource) this.unanswered = answer.status >= 500;
      const outcome = page.getElementById("outcome");
      if (outcome !== null) {
        dropSent(String(sent.get("key")));
        if (this.area?.form === form) {
          this.hasTaken = true;
          this.area.dispatchEvent(new CustomEvent("taken", { detail: String(sent.get("source")) }));
        }
        this.show(outcome);
      } else if (page.querySelector("[data-mistake]") !== null) showMistake(form, button);
      else if (page.querySelector(LATE_DAYS) !== null) this.askForLateDays(page, form);
      else this.refuse(page, button, answer.status);
    } catch {
      this.tell("No answer from the server. Try again: it submits only once.");
    } finally {
      this.busy = false;
    }
  }

  /** Show the question whether to spend late days. Its buttons send the same form again. */
  private askForLateDays(page: Document, form: HTMLFormElement): void {
    const question = document.importNode(page.querySelector<HTMLElement>(LATE_DAYS)!, true);
    form.id ||= "asked";
    for (const button of all("button", question)) button.setAttribute("form", form.id);
    this.bench.before(question);
    question.focus();
    this.tell("");
  }

  private refuse(page: Document, button: HTMLButtonElement, status: number): void {
    const what = button.name === "mode" && button.value === "check" ? "checked" : "submitted";
    const reason = page.querySelector("[data-refusal] p, #work > .empty, main .lead")?.textContent ?? `The server answered with error ${status}. Try again.`;
    // This page is still open, unlike the one that the reason was written for.
    const here = reason.replace(/ Your text is still in the editor\.$/, "").replace(/\bGo back(?:,? and|,) (\w)/, (_, next: string) => next.toUpperCase());
    this.tell(`Not ${what}. ${here}`);
    if (WIDE.matches) return;
    this.tab("work");
    for (const place of all("[data-says]", this.bench)) place.scrollIntoView({ block: "center" });
  }

  private async showEarlier(): Promise<void> {
    const { earlier, pending } = this.panel.dataset;
    delete this.panel.dataset["earlier"];
    if (earlier !== undefined) await this.load(earlier, pending !== undefined);
  }

  /** Load a submission's page into the panel. A result that can't be loaded is tried once more, then linked. */
  private async load(address: string, isNew = true, isAgain = false): Promise<void> {
    const { following } = this;
    const outcome = await fetch(address).then(parsed).then((page) => page.getElementById("outcome"), () => null);
    if (this.following !== following) return; // the panel shows another submission by now
    if (outcome !== null) this.show(outcome, isNew);
    else if (!isNew) this.panel.dataset["earlier"] = address;
    else if (isAgain) {
      this.tell("Graded. The result couldn’t be loaded.");
      const link = make("a", { href: address }, "Open the submission’s page");
      this.panel.querySelector("[data-live-status]")?.replaceChildren("The result couldn’t be loaded. ", link);
    } else {
      window.setTimeout(() => {
        if (this.following === following) void this.load(address, true, true);
      }, RETRY_MS);
    }
  }

  /** Show a submission's progress or result. isNew: whether the reader has just sent it */
  private show(outcome: HTMLElement, isNew = true): void {
    this.following?.stop();
    this.following = null;
    delete this.panel.dataset["earlier"];
    const shown = document.importNode(outcome, true);
    shown.querySelector("#tab-source")?.remove();
    shown.querySelector('a[href="#tab-source"]')?.parentElement?.remove();
    shown.querySelector(".verdict .actions:not(:has(form)) > a:not([data-editor-line])")?.parentElement?.remove();
    shown.querySelector(".verdict .actions a:not([data-editor-line])")?.remove();
    for (const link of all<HTMLAnchorElement>('a[href^="#L"]', shown)) link.dataset["editorLine"] = link.hash.slice(2);
    const address = shown.dataset["address"] ?? "";
    const links = [make("a", { href: address }, "Open the submission’s page"), " ", questionLinks(shown, address)];
    const whole = make("p", {}, ...links);
    keepFocus(this.panel, () => {
      this.panel.replaceChildren(shown, whole);
      this.panel.dispatchEvent(new Event("added", { bubbles: true }));
      if (!isNew) return;
      this.bench.dispatchEvent(new Event("result"));
      this.tab("checked");
    });
    const live = shown.querySelector<HTMLElement>("[data-live]");
    if (isNew) void this.refresh();
    if (live !== null) this.follow(live, address);
    else if (isNew) this.finish(shown);
  }

  private follow(live: HTMLElement, address: string): void {
    this.tell("Being graded.");
    this.following = new Live(live, live.dataset["state"] ?? "", live.dataset["events"], () => void this.load(address), this.title);
    this.following.start();
  }

  private finish(shown: HTMLElement): void {
    const verdict = (shown.querySelector(".stamp") ?? shown.querySelector("h2"))?.textContent ?? "";
    const worth = shown.querySelector(".worth")?.textContent ?? "";
    const headline = `${verdict.charAt(0).toUpperCase()}${verdict.slice(1)}`;
    const isSame = this.area?.value === this.sent;
    const marks = shown.dataset["marks"] ?? "[]";
    const changed = isSame || marks === "[]" ? "" : " You changed the text meanwhile, so its lines aren’t marked.";
    document.title = `${headline} · ${this.title}`;
    this.tell(`${headline}. ${worth}`.trim() + changed);
    this.area?.dispatchEvent(new CustomEvent("marks", { detail: isSame ? marks : "[]" }));
  }

  /** Update what a new submission or its verdict changes elsewhere on the page. If that fails, the next one does. */
  private async refresh(): Promise<void> {
    this.refreshes += 1;
    const asked = this.refreshes;
    const page = await fetch(location.pathname).then(parsed).catch(() => null);
    if (page === null || asked !== this.refreshes) return; // a later answer is on its way
    for (const old of all("[data-fresh]")) {
      const now = page.getElementById(old.id);
      if (now !== null) keepFocus(old, () => (old.innerHTML = now.innerHTML));
    }
    if (this.hasTaken) this.nameVersion(page);
    for (const button of all<HTMLButtonElement>(".ways button[name=mode]", this.bench)) {
      const now = page.querySelector<HTMLButtonElement>(`.ways button[value=${button.value}]`);
      if (now !== null) button.disabled = now.disabled;
    }
    window.setTimeout(() => this.renewKey(page), DOUBLE_MS);
    this.refreshAfterWait();
  }

  /** Refresh when a time is over that a hint asks to wait. */
  private refreshAfterWait(): void {
    window.clearTimeout(this.timer);
    const waits = all("[data-wait]", this.bench).map((hint) => Number(hint.dataset["wait"]));
    if (waits.length > 0) this.timer = window.setTimeout(() => void this.refresh(), 1_000 * Math.min(...waits));
  }

  /** Name the submission that the editor's text was sent with. */
  private nameVersion(page: Document): void {
    const now = page.querySelector(".editor-head [data-loaded]");
    const head = this.bench.querySelector(".editor-head");
    if (now === null || head === null) return;
    head.querySelector("[data-loaded]")?.remove();
    head.append(document.importNode(now, true));
    this.area?.dispatchEvent(new Event("named"));
  }

  /** From now on, the same text is a new submission. */
  private renewKey(page: Document): void {
    const key = this.area?.form?.querySelector<HTMLInputElement>("input[name=key]");
    const next = page.querySelector<HTMLInputElement>("#hand-in-form input[name=key]")?.value;
    if (this.area === null || key == null || next === undefined || this.unanswered) return;
    key.value = this.area.dataset["draftForm"] = next;
  }

  private tell(text: string): void {
    for (const place of all("[data-says]", this.bench)) place.textContent = text;
  }
}

/** Load the editor now if its place is visible. On a phone, wait until the reader opens it or the browser is idle. */
function loadEditor(area: HTMLTextAreaElement): void {
  const load = (): void => void import("./editor.js");
  if (area.getClientRects().length > 0) {
    load();
    return;
  }
  new IntersectionObserver((seen) => {
    if (seen.some((each) => each.isIntersecting)) load();
  }).observe(area);
  const whenIdle = (): void => void ("requestIdleCallback" in window ? requestIdleCallback(load) : setTimeout(load, IDLE_MS));
  if (document.readyState === "complete") whenIdle();
  else window.addEventListener("load", whenIdle);
}

/** Show the page with the mistake, as without this script. */
function showMistake(form: HTMLFormElement, button: HTMLButtonElement): void {
  form.append(make("input", { type: "hidden", name: button.name, value: button.value }));
  form.submit();
}

function isSubmit(target: EventTarget | null): boolean {
  return target instanceof HTMLButtonElement && target.type === "submit";
}

/** Change a part of the page. If that removes or hides the focus, the same link in the part has it, or the part itself. */
function keepFocus(part: HTMLElement, change: () => void): void {
  const focused = document.activeElement;
  change();
  if (focused === null || focused.getClientRects().length > 0) return;
  const link = all("a[href]", part).find((each) => each.getAttribute("href") === focused.getAttribute("href"));
  if (link === undefined) part.tabIndex = -1;
  (link ?? part).focus({ preventScroll: true });
}

for (const bench of all("[data-bench]")) new Workbench(bench);

async function parsed(answer: Response): Promise<Document> {
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}
