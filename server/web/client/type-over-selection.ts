// Typing over a selection. By default, Chromium keeps the style of the replaced text as an inline style, which the
// portal's policy refuses.

import { EditorView } from "@codemirror/view";

export const typeOverSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { state } = view;
    const { from, to, empty } = state.selection.main;
    const text = event.data;
    if (event.inputType !== "insertText" || text === null || empty || event.isComposing || state.readOnly) return false;
    const insert = () => state.update(state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true });
    const handled = state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, text, insert));
    if (!handled) view.dispatch(insert());
    return true;
  },
});
