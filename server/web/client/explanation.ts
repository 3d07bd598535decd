// The explanation of a built-in word, as the completion and the help show it.

import type { Word } from "./cuda-words";
import { make } from "./page";

export function explanation(word: Word): HTMLElement {
  const form = word.takes === null ? word.name : `${word.name}(${word.takes})`;
  return make("div", { className: "cm-word" }, make("code", {}, form), make("p", {}, ...withCode(word.text)));
}

/** A text with code for the parts in backquotes. */
export function withCode(text: string): readonly (Node | string)[] {
  return text.split(/`([^`]+)`/).map((part, place) => (place % 2 === 1 ? make("code", {}, part) : part));
}
