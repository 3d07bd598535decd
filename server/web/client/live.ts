// A page that shows what happens while it happens. The server keeps one element up to date:
//
//   <div data-live data-now="…" data-state="/submissions/17/state" data-events="/submissions/17/events">…</div>
//                                            data-every="10000" asks every ten seconds or so, where nobody waits for news
//   <span data-live-status></span>           says when nothing has come for a while
//   <span data-since="…"></span>             within the element: counts the seconds since then, by the server's clock
//
// Both addresses give {"html": …, "final": …, "now": …}: the element's new content or null where nothing changed, whether
// this was the last change, and the server's time, which is what `data-now` has, too, in seconds since 1970. Events are named `state`; any event at all, `beat` too, shows that the stream lives. Without
// data-events, or while the stream is away, the state is asked for again and again. A page whose state is final is
// loaded anew once: then it is as everybody else sees it.

import { all } from "./page";
import { morph } from "./morph";

interface State {
  readonly html: string | null;
  readonly final: boolean;
  readonly now?: number;
}

const SILENCE_MS = 45_000;
const DOZE_MS = 20_000;
const FIRST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 15_000;

class Live {
  private stream: EventSource | null = null;
  private heard = Date.now();
  /** Between two questions, in ms. */
  private readonly pace: number;
  private wait: number;
  private timer = 0;
  private asking: AbortController | null = null;
  private over = false;
  /** How far this computer's clock is ahead of the server's. */
  private ahead = 0;

  constructor(
    private readonly place: HTMLElement,
    private readonly state: string,
    private readonly events: string | undefined,
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
    // A laptop that slept, a page that comes back from the browser's memory, a network that was away.
    document.addEventListener("visibilitychange", () => (document.hidden ? this.doze() : this.wake()));
    window.addEventListener("pageshow", (event) => event.persisted && this.wake());
    window.addEventListener("online", () => this.wake());
    window.setInterval(() => this.watch(), 5_000);
    // An open stream would keep the page out of that memory.
    window.addEventListener("pagehide", () => this.hush());
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
      // The browser tries again by itself after a lost connection, and never after an answer that was an error.
      if (stream.readyState === EventSource.CLOSED) this.hush();
      this.later();
    });
  }

  private hush(): void {
    this.stream?.close();
    this.stream = null;
  }

  /** A stream of which nothing has been heard may be dead without knowing. */
  private watch(): void {
    if (this.over || document.hidden || this.stream === null || Date.now() - this.heard < SILENCE_MS) return;
    this.hush();
    void this.ask();
  }

  /** A page that nobody looks at asks now and then: a browser keeps only a few streams open to one server. */
  private doze(): void {
    window.setTimeout(() => {
      if (this.over || !document.hidden) return;
      this.hush();
      this.wait = LONGEST_WAIT_MS;
      this.later();
    }, DOZE_MS);
  }

  private wake(): void {
    if (this.over) return;
    this.wait = this.pace;
    void this.ask();
  }

  /** Ask after a while, each page after its own: they all wait for the same server. */
  private later(): void {
    // A stream that breaks again and again puts nothing off.
    if (this.over || this.timer !== 0) return;
    this.timer = window.setTimeout(() => void this.ask(), this.wait * (0.5 + Math.random()));
  }

  private notLater(): void {
    window.clearTimeout(this.timer);
    this.timer = 0;
  }

  /** Ask for the state; where that works, try the stream again. */
  private async ask(): Promise<void> {
    if (this.over) return;
    this.notLater();
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    const limit = window.setTimeout(() => asking.abort(), 10_000);
    try {
      const answer = await fetch(this.state, { headers: { Accept: "application/json" }, signal: asking.signal });
      if (answer.status === 401 || answer.redirected) return this.finish();
      if (!answer.ok) throw new Error(`${answer.status}`);
      this.take((await answer.json()) as State);
      this.wait = document.hidden ? LONGEST_WAIT_MS : FIRST_WAIT_MS;
      this.tell("");
      if (this.events === undefined || document.hidden) this.later();
      else if (this.stream === null) this.listen();
    } catch {
      if (this.asking !== asking) return; // a later one asks
      this.tell("No connection. This page goes on by itself as soon as there is one.");
      this.wait = Math.min(this.wait * 1.5, LONGEST_WAIT_MS);
      this.later();
    } finally {
      window.clearTimeout(limit);
    }
  }

  private take(state: State): void {
    if (this.over) return;
    this.set(state.now);
    if (state.html !== null) morph(this.place, state.html);
    this.count();
    if (state.final) this.finish();
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

  private finish(): void {
    this.over = true;
    this.notLater();
    this.hush();
    const key = `tilelab-final:${location.pathname}`;
    try {
      // A page that is still not final after it was loaded anew must not load itself for ever.
      if (Date.now() - Number(sessionStorage.getItem(key)) < 60_000) return;
      sessionStorage.setItem(key, String(Date.now()));
    } catch {
      return;
    }
    location.reload();
  }

  private tell(text: string): void {
    for (const element of all("[data-live-status]")) if (element.textContent !== text) element.textContent = text;
  }
}

function spent(seconds: number): string {
  if (seconds < 120) return `${Math.floor(seconds)} s`;
  return seconds < 7200 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3600)} h`;
}

for (const place of all("[data-live][data-state]")) {
  new Live(place, place.dataset["state"] ?? "", place.dataset["events"]).start();
}
