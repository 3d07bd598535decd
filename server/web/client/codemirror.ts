// The editor's CodeMirror for the files of other keys, which must not bring a second one.

export { completionStatus, startCompletion } from "@codemirror/autocomplete";
export * from "@codemirror/commands";
export { StringStream, ensureSyntaxTree, foldCode, indentUnit, matchBrackets } from "@codemirror/language";
export { RegExpCursor, SearchQuery, openSearchPanel, setSearchQuery } from "@codemirror/search";
export { EditorSelection, MapMode, Prec, RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
export {
  Decoration, Direction, EditorView, ViewPlugin, getDrawSelectionConfig, runScopeHandlers, showPanel,
} from "@codemirror/view";
