// Drafts: text in the editor that isn't submitted yet, kept in this browser. If storage is full or switched off, only
// the draft is lost.

const PREFIX = "tilelab-draft:";
const DAYS = 30;
const GONE = "draftsGone";

export interface Draft {
  readonly text: string;
  readonly at: Date;
}

/** Keep a draft; blank text deletes it. sent: the form that is sending it now; "" for none. */
export function keepDraft(key: string, text: string, sent = ""): void {
  if (GONE in document.documentElement.dataset) return;
  if (text.trim() === "") {
    dropDraft(key);
    return;
  }
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify({ text, at: Date.now(), sent }));
  } catch {
    // full, or not allowed
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
    // written by another program, or no storage
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

/** Delete the draft that this form sent; text typed later stays. */
export function dropSent(form: string): void {
  try {
    for (const key of draftKeys()) if (sentFrom(localStorage.getItem(key)) === form) localStorage.removeItem(key);
  } catch {
    // as above
  }
}

/** Delete all drafts when a person signs out, and keep no more: the computer may be shared. */
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
    return undefined; // written by another program
  }
}
