// What somebody typed and has not handed in yet, kept in this browser. Storage that is full or switched off loses the
// draft and nothing else.

const PREFIX = "tilelab-draft:";
const DAYS = 30;

export interface Draft {
  readonly text: string;
  readonly at: Date;
}

export function keepDraft(key: string, text: string): void {
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify({ text, at: Date.now() }));
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
    if (Date.now() - at < DAYS * 86_400_000) return { text, at: new Date(at) };
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

/** For whoever signs out: the next one at this computer sees nothing. */
export function dropAllDrafts(): void {
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
  } catch {
    // as above
  }
}
