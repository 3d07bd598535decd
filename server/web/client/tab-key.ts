// Tab indents for whoever is at work in the editor, and leaves it for whoever only came by with the keyboard.

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
        // Another window may have the focus: then this is still the place to come back to.
        if (document.activeElement !== view.contentDOM) working = false;
      },
    }),
  ];
}
