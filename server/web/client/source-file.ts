// A source file, from the file chooser or dropped on the editor.

export class NotASource extends Error {}

/** The file's text. Raises NotASource with a text for the reader. */
export async function readSource(file: File, mostBytes: number): Promise<string> {
  if (file.size > mostBytes) {
    throw new NotASource(`${file.name} has ${thousands(file.size)} bytes; the limit is ${thousands(mostBytes)}.`);
  }
  if (file.size === 0) throw new NotASource(`${file.name} is empty.`);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new NotASource(`${file.name} is not UTF-8 text.`);
  }
  if (text.includes("\0")) throw new NotASource(`${file.name} is not a text file: it contains null characters.`);
  return text;
}

function thousands(number: number): string {
  return number.toLocaleString("en");
}
