// Follows a submission: see live.ts for the element and for what the server answers.

import { all, make } from "./page";
import { morph } from "./morph";

interface State {
  readonly html: string | null;
  readonly final: boolean;
  readonly now?: number;
  readonly digest?: string;
}

const SILENCE_MS = 45_000;
const DOZE_MS = 20_000;
const FIRST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 15_000;
const RELOADED_MS = 60_000;

/** Texts for readers who may no longer see the page. */
const GONE: ReadonlyMap<number, string> = new Map([
  [401, "You are signed out."],
  [403, "You no longer have access."],
  [404, "This page no longer exists."],
]);

export class Live {
  private stream: EventSource | null = null;
  private heard = Date.now();
  /** Milliseconds between two requests. */
  private readonly pace: number;
  private wait: number;
  private timer = 0;
  private asking: AbortController | null = null;
  private over = false;
  /** How far this computer's clock is ahead of the server's. */
  private ahead = 0;
  private digest = "";

  constructor(
    private readonly place: HTMLElement,
    private readonly state: string,
    private readonly events: string | undefined,
    /** What to do after the last change, instead of reloading the page. */
    private readonly done?: () => void,
    /** What follows the state in the page's title; without it, all after the first " · " there. */
    private readonly title?: string,
  ) {
    this.pace = Number(place.dataset["every"]) || FIRST_WAIT_MS;
    this.wait = this.pace;
  }

  start(): void {
    this.set(Number(this.place.dataset["now"]));
    this.count();
    window.setInterval(() => this.count(), 1_000);
    this.listen();
    if (this.events === undefined) this.later();
    // For a laptop that slept, a page that comes back from the browser's memory, a network that was down.
    document.addEventListener("visibilitychange", () => (document.hidden ? this.doze() : this.wake()));
    window.addEventListener("pageshow", (event) => event.persisted && this.wake());
    window.addEventListener("online", () => this.wake());
    window.setInterval(() => this.watch(), 5_000);
    // An open stream would keep the page out of that memory.
    window.addEventListener("pagehide", () => this.hush());
  }

  /** Follow no longer. */
  stop(): void {
    this.over = true;
    this.notLater();
    this.hush();
  }

  private listen(): void {
    if (this.events === undefined || this.over) return;
    const stream = new EventSource(this.events);
    this.stream = stream;
    this.heard = Date.now();
    const lives = (): void => {
      this.heard = Date.now();
      this.wait = this.pace;
      this.notLater();
      this.tell("");
    };
    stream.addEventListener("open", lives);
    stream.addEventListener("beat", lives);
    stream.addEventListener("state", (event) => {
      lives();
      this.take(JSON.parse((event as MessageEvent<string>).data) as State);
    });
    stream.addEventListener("error", () => {
      // The browser reconnects by itself after a lost connection, but never after an error answer.
      if (stream.readyState === EventSource.CLOSED) this.hush();
      this.later();
    });
  }

  private hush(): void {
    this.stream?.close();
    this.stream = null;
  }

  /** A silent stream may be dead without an error. */
  private watch(): void {
    if (this.over || document.hidden || this.stream === null || Date.now() - this.heard < SILENCE_MS) return;
    this.hush();
    void this.ask();
  }

  /** A hidden page asks now and then instead: browsers open only a few streams to one server. */
  private doze(): void {
    window.setTimeout(() => {
      if (this.over || !document.hidden) return;
      this.hush();
      this.wait = this.usual();
      this.later();
    }, DOZE_MS);
  }

  private wake(): void {
    if (this.over) return;
    this.wait = this.pace;
    void this.ask();
  }

  /** Ask again after a random delay, so that many pages don't ask at the same moment. */
  private later(): void {
    // A stream that keeps failing must not delay the next request.
    if (this.over || this.timer !== 0) return;
    this.timer = window.setTimeout(() => void this.ask(), this.wait * (0.5 + Math.random()));
  }

  private usual(): number {
    return document.hidden ? Math.max(this.pace, LONGEST_WAIT_MS) : this.pace;
  }

  private notLater(): void {
    window.clearTimeout(this.timer);
    this.timer = 0;
  }

  /** Ask for the state; if that works, try the stream again. */
  private async ask(): Promise<void> {
    if (this.over) return;
    this.notLater();
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    const limit = window.setTimeout(() => asking.abort(), 10_000);
    try {
      const answer = await fetch(this.address(), { headers: { Accept: "application/json" }, signal: asking.signal });
      const status = answer.redirected ? 401 : answer.status;
      const gone = GONE.get(status);
      if (gone !== undefined) return this.finish(`${status}`, gone);
      if (!answer.ok) return this.failed("The server is busy. Trying again soon.");
      this.take((await answer.json()) as State);
      this.wait = this.usual();
      this.tell("");
      if (this.events === undefined || document.hidden) this.later();
      else if (this.stream === null) this.listen();
    } catch {
      if (this.asking !== asking) return; // a newer request is running
      this.failed("No connection. Updates resume automatically.");
    } finally {
      window.clearTimeout(limit);
    }
  }

  private address(): string {
    const address = new URL(this.state, location.href);
    if (this.digest !== "") address.searchParams.set("seen", this.digest);
    return address.href;
  }

  private failed(why: string): void {
    this.tell(why);
    this.wait = Math.min(this.wait * 1.5, LONGEST_WAIT_MS);
    this.later();
  }

  private take(state: State): void {
    if (this.over) return;
    this.set(state.now);
    if (state.html !== null) morph(this.place, state.html);
    this.digest = state.digest ?? "";
    this.count();
    this.retitle();
    if (state.final) this.finish(`final ${this.place.dataset["of"] ?? ""}`, "Done.");
  }

  /** Show the state in the title, for readers who look at another tab. */
  private retitle(): void {
    const state = this.place.querySelector("[data-live-title]")?.textContent ?? "";
    const rest = this.title ?? document.title.split(" · ").slice(1).join(" · ");
    if (state !== "" && rest !== "") document.title = `${state} · ${rest}`;
  }

  private set(now: number | undefined): void {
    if (now !== undefined && Number.isFinite(now) && now > 0) this.ahead = Date.now() / 1000 - now;
  }

  private count(): void {
    for (const element of all("[data-since]", this.place)) {
      const seconds = Math.max(0, Date.now() / 1000 - this.ahead - Number(element.dataset["since"]));
      const text = Number.isFinite(seconds) ? spent(seconds) : "";
      if (element.textContent !== text) element.textContent = text;
    }
  }

  /** Reload the page; if it just reloaded for this reason, show the reason instead. */
  private finish(reason: string, why: string): void {
    this.stop();
    if (this.done !== undefined && reason.startsWith("final")) this.done();
    else if (this.done === undefined && isFirst(`tilelab-loaded:${location.pathname}:${reason}`)) location.reload();
    else this.tell(`${why} `, make("a", { href: location.pathname + location.search }, "Reload the page"));
  }

  private tell(text: string, ...more: Node[]): void {
    for (const element of all("[data-live-status]")) {
      if (element.textContent !== text) element.replaceChildren(text, ...more.map((node) => node.cloneNode(true)));
    }
  }
}

/** Guards against endless reloads, also in a browser that stores nothing. */
function isFirst(key: string): boolean {
  try {
    if (Date.now() - Number(sessionStorage.getItem(key)) < RELOADED_MS) return false;
    sessionStorage.setItem(key, String(Date.now()));
    return true;
  } catch {
    return false;
  }
}

/** A length of time as the server writes it, but rounded down, because it still grows. */
function spent(seconds: number): string {
  if (seconds < 120) return `${Math.floor(seconds)} s`;
  if (seconds < 2 * 3600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 2 * 86_400 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} days`;
}
