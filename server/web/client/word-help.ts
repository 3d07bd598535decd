// The explanation of a built-in word: on hover, and by F1 at the cursor until the cursor moves or Escape is pressed.

import { type EditorState, type Extension, StateEffect, StateField } from "@codemirror/state";
import { EditorView, type Tooltip, closeHoverTooltips, hoverTooltip, keymap, showTooltip } from "@codemirror/view";

import { WORDS, type Word } from "./cuda-words";
import { explanation } from "./explanation";
import { isProse } from "./names";

const show = StateEffect.define<Tooltip | null>();

const atCursor = StateField.define<Tooltip | null>({
  create: () => null,
  update: (shown, { effects, docChanged, selection }) => {
    for (const effect of effects) if (effect.is(show)) return effect.value;
    return docChanged || selection !== undefined ? null : shown;
  },
  provide: (field) => showTooltip.from(field),
});

export function wordHelp(): Extension {
  return [
    atCursor,
    hoverTooltip((view, place) => hovered(view.state, place), { hideOnChange: true }),
    keymap.of([
      { key: "F1", run: explain },
      { key: "Escape", run: close },
    ]),
  ];
}

/** The explanation at the mouse, unless F1 shows one already. */
function hovered(state: EditorState, place: number): Tooltip | null {
  return state.field(atCursor) === null ? (wordAt(state, place)?.help ?? null) : null;
}

function explain(view: EditorView): boolean {
  const found = wordAt(view.state, view.state.selection.main.head);
  const text = found?.word.text.replaceAll("`", "") ?? "No help for this word.";
  view.dispatch({ effects: [closeHoverTooltips, show.of(found?.help ?? null), EditorView.announce.of(text)] });
  return true;
}

function close(view: EditorView): boolean {
  if (view.state.field(atCursor) === null) return false;
  view.dispatch({ effects: show.of(null) });
  return true;
}

/** The built-in word at this place, or the word of which a part is here: `x` of `threadIdx.x`. */
function wordAt(state: EditorState, place: number): { word: Word; help: Tooltip } | null {
  const range = state.wordAt(place);
  if (range === null || isProse(state.doc.toString(), range.to)) return null;
  const { from, to } = range;
  const whole = /(\w+)\.$/.exec(state.sliceDoc(state.doc.lineAt(from).from, from));
  const name = state.sliceDoc(from, to);
  const owner = whole === null ? undefined : WORDS.get(whole[1]!);
  const word = owner?.parts.includes(`${owner.name}.${name}`) === true ? owner : WORDS.get(name);
  if (word === undefined) return null;
  return { word, help: { pos: from, end: to, above: true, create: () => ({ dom: explanation(word) }) } };
}
