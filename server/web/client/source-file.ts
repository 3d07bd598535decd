// A source from a file, by the file chooser or dropped on the editor.

export class NotASource extends Error {}

/** Its text. Raises NotASource, with what to tell whoever chose it. */
export async function readSource(file: File, mostBytes: number): Promise<string> {
  if (file.size > mostBytes) {
    throw new NotASource(`${file.name} has ${thousands(file.size)} bytes, and a source at most ${thousands(mostBytes)}.`);
  }
  if (file.size === 0) throw new NotASource(`${file.name} is empty.`);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new NotASource(`${file.name} is not text in UTF-8.`);
  }
  if (text.includes("\0")) throw new NotASource(`${file.name} is not a source: it has characters that no source has.`);
  return text;
}

function thousands(number: number): string {
  return number.toLocaleString("en");
}
