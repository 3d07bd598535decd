// The colours of an exercise's files, by the value of `data-editor`.

import { indentUnit, StreamLanguage, type StreamParser, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";

import { colours, cuda } from "./cuda";

const toml: StreamParser<null> = {
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/#.*/)) return "comment";
    if (stream.sol() && stream.match(/\[\[?[^\]]*\]\]?/)) return "heading";
    if (stream.match(/"(?:\\.|[^"\\])*"?|'[^']*'?/)) return "string";
    if (stream.match(/[\w-]+(?=\s*=)/)) return "keyword";
    if (stream.match(/true\b|false\b/)) return "bool";
    if (stream.match(/[+-]?\d[\w.+-]*/)) return "number";
    stream.next();
    return null;
  },
};

const markdown: StreamParser<{ code: boolean }> = {
  startState: () => ({ code: false }),
  token(stream, state) {
    if (stream.sol() && stream.match(/```.*/)) {
      state.code = !state.code;
      return "meta";
    }
    if (state.code) {
      stream.skipToEnd();
      return "string";
    }
    if (stream.sol() && stream.match(/#{1,6} .*/)) return "heading";
    if (stream.match(/`[^`]*`/)) return "string";
    if (stream.match(/\*\*[^*]+\*\*/)) return "strong";
    if (stream.match(/!?\[[^\]]*\]\([^)]*\)/)) return "link";
    stream.next();
    return null;
  },
};

function text(language: Extension): Extension {
  return [language, indentUnit.of("    "), syntaxHighlighting(colours)];
}

export function language(name: string): Extension {
  if (name === "toml") return text(StreamLanguage.define(toml));
  if (name === "markdown") return text(StreamLanguage.define(markdown));
  return cuda();
}
