// A trial: the kernel runs once, with chosen sizes and values. The result comes into the page.
//
//   <div id="trial" data-trial="…">   the trial's address; its <form> is sent from here
//     <div data-own-source>           the form's own source, dropped next to an editor, whose text is sent instead
//     <p data-trial-says></p>         announces what happens
//     <div id="trial-result">         with data-waits while there is no result

import { all, make } from "./page";

const FIRST_MS = 400;
const MOST_MS = 2_000;
/** Without an answer so often, one after the other, it asks no more: the reader is offline or signed out. */
const MOST_FAILURES = 8;
/** The second click of a double click comes within this time. */
const DOUBLE_MS = 1_000;
const NO_RESULT = "No answer from the server. You may be offline or signed out: reload this page to see the result.";

/** source: the text to try, in place of the form's own */
export class Trials {
  private asked = 0;
  private busy = false;

  constructor(private readonly place: HTMLElement, private readonly source?: () => string) {
    place.addEventListener("submit", (event) => {
      event.preventDefault();
      event.stopPropagation();
      if (!this.busy) void this.send(event.target as HTMLFormElement);
    });
    this.attend();
  }

  /** Load the form, if the place has only a link to it. */
  async load(): Promise<void> {
    if (this.place.querySelector("form, .empty") === null) await this.take(fetch(this.address));
  }

  private get address(): string {
    return this.place.dataset["trial"] ?? "";
  }

  private async send(form: HTMLFormElement): Promise<void> {
    const sent = new FormData(form);
    if (this.source !== undefined) sent.set("source", this.source());
    this.busy = true;
    this.tell("Running…");
    this.place.querySelector("#trial-result")?.replaceChildren(make("p", {}, "Running…"));
    await Promise.all([this.take(fetch(this.address, { method: "POST", body: sent })), pause(DOUBLE_MS)]);
    this.busy = false;
  }

  private async take(answer: Promise<Response>): Promise<void> {
    this.asked += 1;
    const { asked } = this;
    const page = await answer.then(async (each) => parsed(await each.text()), () => null);
    if (asked !== this.asked) return;
    const part = page?.getElementById("trial") ?? null;
    if (part === null) {
      return this.fail(page?.querySelector("main .lead")?.textContent ?? "No answer from the server. Try again.");
    }
    const isOpen = this.place.querySelector("form details")?.hasAttribute("open") ?? false;
    const focused = document.activeElement?.id ?? "";
    this.place.replaceChildren(...document.importNode(part, true).childNodes);
    if (isOpen) this.place.querySelector("form details")?.setAttribute("open", "");
    this.attend();
    if (focused !== "") document.getElementById(focused)?.focus();
    this.place.querySelector<HTMLElement>("[data-problem]")?.focus();
  }

  private attend(): void {
    if (this.source !== undefined) {
      this.place.querySelector("[data-own-source]")?.remove();
      for (const link of all<HTMLAnchorElement>('a[href^="#L"]', this.place)) link.dataset["editorLine"] = link.hash.slice(2);
    }
    if (this.place.querySelector("[data-waits]") !== null) void this.wait(this.asked);
    else this.tell(this.place.querySelector(".stamp")?.textContent ?? "");
  }

  private async wait(asked: number, ms = FIRST_MS, failures = 0): Promise<void> {
    this.tell("Running…");
    await pause(ms);
    if (asked !== this.asked) return;
    const page = await fetch(this.address).then(async (answer) => parsed(await answer.text()), () => null);
    if (asked !== this.asked) return;
    const result = page?.getElementById("trial-result");
    if (result == null && failures + 1 >= MOST_FAILURES) return this.fail(NO_RESULT);
    if (result == null || result.hasAttribute("data-waits")) {
      return this.wait(asked, Math.min(2 * ms, MOST_MS), result == null ? failures + 1 : 0);
    }
    this.place.querySelector("#trial-result")?.replaceWith(document.importNode(result, true));
    this.attend();
  }

  private fail(reason: string): void {
    this.place.querySelector("#trial-result")?.replaceChildren(make("p", {}, reason));
    this.tell(reason);
  }

  private tell(text: string): void {
    for (const says of all("[data-trial-says]", this.place)) says.textContent = text;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => void window.setTimeout(done, ms));
}

function parsed(text: string): Document {
  return new DOMParser().parseFromString(text, "text/html");
}
