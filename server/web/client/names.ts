// The names in a source, and the places that aren't code. The editor's grammar may still be busy with the last letters.

const PARTS = /\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|\b\d[\w.]*|([A-Za-z_]\w*)/g;
const LEAST = 3;

/** The longer names, except the one that begins at this place. */
export function names(source: string, place: number): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { 1: name, index } of source.matchAll(PARTS)) {
    if (name !== undefined && name.length >= LEAST && index !== place) found.add(name);
  }
  return found;
}

/** Whether the place is in a comment, a string or a number. */
export function isProse(source: string, place: number): boolean {
  for (const { 0: part, 1: name, index } of source.matchAll(PARTS)) {
    if (index >= place) return false;
    const end = index + part.length;
    if (name === undefined && (place < end || (place === end && !isClosed(part)))) return true;
  }
  return false;
}

function isClosed(part: string): boolean {
  return part.startsWith("/*") ? /^[^]{2,}\*\/$/.test(part) : /^(["']).*\1$/.test(part) && part.length > 1;
}
