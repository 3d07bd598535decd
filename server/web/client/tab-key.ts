// Tab indents while the reader edits, and moves on for readers who pass through with the keyboard.

import { indentLess, indentMore } from "@codemirror/commands";
import type { Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";

const PASSING = new Set(["Tab", "Shift", "Control", "Alt", "Meta"]);

export function tabKey(): Extension {
  let working = false;
  return [
    keymap.of([
      { key: "Tab", run: (view) => working && indentMore(view), shift: (view) => working && indentLess(view) },
    ]),
    // Observers also see the keys that Vim takes for itself.
    EditorView.domEventObservers({
      pointerdown: () => {
        working = true;
      },
      keydown: (event) => {
        if (!PASSING.has(event.key)) working = event.key !== "Escape";
      },
      blur: (_event, view) => {
        // Another window may have the focus; the reader comes back to the editor.
        if (document.activeElement !== view.contentDOM) working = false;
      },
    }),
  ];
}
