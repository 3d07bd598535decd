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
    const content = await file.arrayBuffer();
    text = new TextDecoder(encodingOf(content), { fatal: true }).decode(content);
  } catch {
    throw new NotASource(`${file.name} is not UTF-8 text.`);
  }
  if (text.includes("\0")) throw new NotASource(`${file.name} is not a text file: it contains null characters.`);
  return text;
}

/** UTF-16 begins with a mark; everything else is UTF-8. */
function encodingOf(content: ArrayBuffer): string {
  const [first, second] = new Uint8Array(content, 0, Math.min(2, content.byteLength));
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}

function thousands(number: number): string {
  return number.toLocaleString("en");
}
