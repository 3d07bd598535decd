// Completion of CUDA's words and of the file's own names. It opens after three letters, never in comments and strings.
// Tab takes the first name; Enter takes one only after an arrow key, so a new line stays a new line.

import {
  type Completion, type CompletionContext, type CompletionResult, acceptCompletion, autocompletion, completionStatus,
  moveCompletionSelection, selectedCompletion,
} from "@codemirror/autocomplete";
import { type EditorState, type Extension, Prec } from "@codemirror/state";
import { type EditorView, keymap } from "@codemirror/view";

import { WORDS, type Word } from "./cuda-words";
import { explanation } from "./explanation";
import { isProse, names } from "./names";

const LEAST = 3;
const TYPED = /(?:\b(?:threadIdx|blockIdx|blockDim|gridDim)\.)?\w*$/;
const BUILT_IN: readonly Completion[] = [...WORDS.values()].flatMap(completions);

export function completion(): Extension {
  return [
    autocompletion({
      override: [suggest], icons: false, selectOnOpen: false, maxRenderedOptions: 30, activateOnTypingDelay: 150,
      interactionDelay: 0,
    }),
    Prec.highest(keymap.of([{ key: "Tab", run: take }])),
  ];
}

function take(view: EditorView): boolean {
  if (completionStatus(view.state) !== "active") return false;
  if (selectedCompletion(view.state) === null) moveCompletionSelection(true)(view);
  return acceptCompletion(view);
}

function suggest(context: CompletionContext): CompletionResult | null {
  const typed = context.matchBefore(TYPED);
  if (typed === null || isProse(context.state.doc.toString(), context.pos)) return null;
  const isName = /^[A-Za-z_]/.test(typed.text);
  if (!context.explicit && (!isName || typed.text.length < LEAST)) return null;
  const options = [...BUILT_IN, ...ownNames(context.state, typed.from)];
  const isWhole = (text: string): boolean => options.some((each) => each.label === text);
  if (!context.explicit && isWhole(typed.text)) return null;
  return { from: typed.from, options, validFor: (text) => /^[\w.]*$/.test(text) && !isWhole(text) };
}

/** The names in the file, without the one at this place. */
function ownNames(state: EditorState, place: number): readonly Completion[] {
  const found = names(state.doc.toString(), place);
  return [...found].filter((label) => !WORDS.has(label)).map((label) => ({ label, boost: 1 }));
}

function completions(word: Word): readonly Completion[] {
  const info = (): HTMLElement => explanation(word);
  if (word.takes === null) return (word.parts.length > 0 ? word.parts : [word.name]).map((label) => ({ label, info }));
  return [{ label: word.name, detail: `(${word.takes})`, info, apply: call(word) }];
}

/** Writes the function's name with parentheses, unless they are there. */
function call(word: Word): (view: EditorView, _: Completion, from: number, to: number) => void {
  return (view, _, from, to) => {
    const isCalled = view.state.sliceDoc(to, to + 1) === "(";
    const insert = isCalled ? word.name : `${word.name}()`;
    const within = !isCalled && word.takes !== "" ? 1 : 0;
    view.dispatch({ changes: { from, to, insert }, selection: { anchor: from + insert.length - within }, userEvent: "input.complete" });
  };
}
