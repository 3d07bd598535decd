// What somebody typed and has not handed in yet, kept in this browser. Storage that is full or switched off loses the
// draft and nothing else.

const PREFIX = "tilelab-draft:";
const DAYS = 30;
const GONE = "draftsGone";

export interface Draft {
  readonly text: string;
  readonly at: Date;
}

/** Blank text is no draft. sent: the form that it is just being sent from; "" where it is not. */
export function keepDraft(key: string, text: string, sent = ""): void {
  if (GONE in document.documentElement.dataset) return;
  if (text.trim() === "") {
    dropDraft(key);
    return;
  }
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify({ text, at: Date.now(), sent }));
  } catch {
    // full, or not allowed here
  }
}

export function draft(key: string): Draft | null {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(PREFIX + key) ?? "null");
    if (typeof kept !== "object" || kept === null) return null;
    const { text, at } = kept as { text?: unknown; at?: unknown };
    if (typeof text !== "string" || typeof at !== "number") return null;
    if (text.trim() !== "" && Date.now() - at < DAYS * 86_400_000) return { text, at: new Date(at) };
    dropDraft(key);
  } catch {
    // not what was written here, or no storage
  }
  return null;
}

export function dropDraft(key: string): void {
  try {
    localStorage.removeItem(PREFIX + key);
  } catch {
    // no storage, no draft
  }
}

/** What was sent from that form has arrived; what was typed since then stays. */
export function dropSent(form: string): void {
  try {
    for (const key of draftKeys()) if (sentFrom(localStorage.getItem(key)) === form) localStorage.removeItem(key);
  } catch {
    // as above
  }
}

/** For whoever signs out: the next one at this computer sees nothing. This page, which is on its way out, keeps no more. */
export function dropAllDrafts(): void {
  document.documentElement.dataset[GONE] = "";
  try {
    for (const key of draftKeys()) localStorage.removeItem(key);
  } catch {
    // as above
  }
}

function draftKeys(): string[] {
  return Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
}

function sentFrom(kept: string | null): unknown {
  try {
    return (JSON.parse(kept ?? "null") as { sent?: unknown } | null)?.sent;
  } catch {
    return undefined; // not what was written here
  }
}
