// A trial: the kernel runs once, with chosen sizes and values. The result comes into the page.
//
//   <div id="trial" data-trial="…">   the trial's address; its <form> is sent from here
//     <div data-own-source>           the form's own source, dropped next to an editor, whose text is sent instead
//     <p data-trial-says></p>         announces what happens
//     <div id="trial-result">         with data-waits while there is no result

import { all, make } from "./page";

const FIRST_MS = 400;
const MOST_MS = 2_000;

/** source: the text to try, in place of the form's own */
export class Trials {
  private asked = 0;

  constructor(private readonly place: HTMLElement, private readonly source?: () => string) {
    place.addEventListener("submit", (event) => {
      event.preventDefault();
      event.stopPropagation();
      void this.send(event.target as HTMLFormElement);
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
    this.tell("Running…");
    this.place.querySelector("#trial-result")?.replaceChildren(make("p", {}, "Running…"));
    await this.take(fetch(this.address, { method: "POST", body: sent }));
  }

  private async take(answer: Promise<Response>): Promise<void> {
    this.asked += 1;
    const { asked } = this;
    const page = await answer.then(async (each) => parsed(await each.text()), () => null);
    if (asked !== this.asked) return;
    const part = page?.getElementById("trial") ?? null;
    if (part === null) {
      const reason = page?.querySelector("main .lead")?.textContent ?? "No answer from the server. Try again.";
      this.place.querySelector("#trial-result")?.replaceChildren(make("p", {}, reason));
      return this.tell(reason);
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
    if (this.place.querySelector("[data-waits]") !== null) void this.wait(FIRST_MS, this.asked);
    else this.tell(this.place.querySelector(".stamp")?.textContent ?? "");
  }

  private async wait(pause: number, asked: number): Promise<void> {
    this.tell("Running…");
    await new Promise((done) => window.setTimeout(done, pause));
    if (asked !== this.asked) return;
    const page = await fetch(this.address).then(async (answer) => parsed(await answer.text()), () => null);
    if (asked !== this.asked) return;
    const result = page?.getElementById("trial-result");
    if (result == null || result.hasAttribute("data-waits")) return this.wait(Math.min(2 * pause, MOST_MS), asked);
    this.place.querySelector("#trial-result")?.replaceWith(document.importNode(result, true));
    this.attend();
  }

  private tell(text: string): void {
    for (const says of all("[data-trial-says]", this.place)) says.textContent = text;
  }
}

function parsed(text: string): Document {
  return new DOMParser().parseFromString(text, "text/html");
}
