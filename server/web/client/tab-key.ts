// Tab indents while the reader edits, and moves on for readers who pass through with the keyboard.

import { indentLess, indentMore } from "@codemirror/commands";
import type { Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";

const PASSING = new Set(["Tab", "Shift", "Control", "Alt", "Meta", "Escape"]);

export function tabKey(): Extension {
  let working = false;
  const begin = (): boolean => {
    working = true;
    return false;
  };
  return [
    keymap.of([
      { key: "Tab", run: (view) => working && indentMore(view), shift: (view) => working && indentLess(view) },
    ]),
    EditorView.domEventHandlers({
      pointerdown: begin,
      keydown: (event) => !PASSING.has(event.key) && begin(),
      blur: (_event, view) => {
        // Another window may have the focus; the reader comes back to the editor.
        if (document.activeElement !== view.contentDOM) working = false;
      },
    }),
  ];
}
