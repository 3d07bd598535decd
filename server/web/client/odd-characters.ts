// Characters that no compiler reads, marked in the editor: spaces and quotation marks from a page, dashes, ligatures.

import type { Extension } from "@codemirror/state";
import { highlightSpecialChars } from "@codemirror/view";

import { make } from "./page";

const BLANKS = /[\u00a0\u1680\u2000-\u200a\u200c\u200d\u202a-\u202c\u202f\u205f\u2060\u3000]/;
const SIGNS =
  /[\u00ab\u00b4\u00b7\u00bb\u00d7\u00f7\u037e\u2010-\u2015\u2018-\u201f\u2026\u2032\u2033\u2044\u2192\u2212\u2215\u2217\u2260\u2264\u2265\u22c5\ufb00-\ufb04\uff01-\uff5e]/;

export function oddCharacters(): Extension {
  return highlightSpecialChars({ addSpecialChars: new RegExp(`${BLANKS.source}|${SIGNS.source}`), render });
}

/** The sign itself if one can see it, otherwise a placeholder. */
function render(code: number, _: string | null, placeholder: string): HTMLElement {
  const sign = String.fromCodePoint(code);
  const name = `Character U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  const mark = make("span", { className: "cm-specialChar", title: name }, SIGNS.test(sign) ? sign : placeholder);
  mark.setAttribute("aria-label", name);
  return mark;
}
