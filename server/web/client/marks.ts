// Errors and findings on their lines: underlined, with a sign next to the line number and the text as a tooltip. They
// move with their line while the text changes.

import { type Diagnostic, diagnosticCount, forEachDiagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

import { withCode } from "./explanation";
import { make } from "./page";

const WHILE_TYPING = "Found while you type";
const SEVERITIES = ["error", "warning", "info"] as const;

export interface Mark {
  readonly line: number;
  /** Its first character, from 1; without it, the mark covers the line. */
  readonly column?: number;
  readonly kind: string;
  readonly message: string;
  readonly severity: (typeof SEVERITIES)[number];
}

/** The marks in `data-marks`; invalid ones are skipped, because the page also lists all of them. */
export function readMarks(json: string | undefined): readonly Mark[] {
  let found: unknown;
  try {
    found = JSON.parse(json ?? "[]");
  } catch {
    return [];
  }
  return Array.isArray(found) ? found.flatMap(readMark) : [];
}

function readMark(found: unknown): readonly Mark[] {
  if (typeof found !== "object" || found === null) return [];
  const { line, column, kind, message, severity } = found as Record<string, unknown>;
  if (typeof line !== "number" || !Number.isInteger(line) || typeof message !== "string") return [];
  const known = SEVERITIES.find((each) => each === severity) ?? "error";
  return [
    {
      line,
      ...(typeof column === "number" && column >= 1 ? { column } : {}),
      kind: typeof kind === "string" ? kind : "",
      message,
      severity: known,
    },
  ];
}

export function showMarks(view: EditorView, marks: readonly Mark[]): void {
  const shown = diagnostics(view, marks).sort((one, other) => one.from - other.from);
  if (shown.length + diagnosticCount(view.state) > 0) view.dispatch(setDiagnostics(view.state, shown));
}

/** Replace the marks of mistakes that were found while typing. The server's marks stay at their code. */
export function showTypingErrors(view: EditorView, marks: readonly Mark[]): void {
  const kept: Diagnostic[] = [];
  let old = 0;
  forEachDiagnostic(view.state, (each, from, to) => {
    if (each.source === WHILE_TYPING) old += 1;
    else kept.push({ ...each, from, to });
  });
  const found = diagnostics(view, marks).map((each) => ({ ...each, source: WHILE_TYPING }));
  if (old + found.length === 0) return;
  view.dispatch(setDiagnostics(view.state, [...kept, ...found].sort((one, other) => one.from - other.from)));
}

function diagnostics(view: EditorView, marks: readonly Mark[]): Diagnostic[] {
  return marks
    .filter((mark) => mark.line >= 1 && mark.line <= view.state.doc.lines)
    .map((mark): Diagnostic => {
      const line = view.state.doc.line(mark.line);
      const [from, to] = marked(line.text, mark.column);
      return {
        from: line.from + from,
        to: line.from + to,
        severity: mark.severity,
        message: mark.message,
        renderMessage: () => make("span", {}, ...withCode(mark.message)),
        markClass: `cm-mark-${mark.severity}`,
        ...(mark.kind === "" ? {} : { source: mark.kind.replaceAll("_", " ") }),
      };
    });
}

/** The part of a line to mark: the word or the sign at the column, the sign before a gap, or all without a column. */
function marked(text: string, column: number | undefined): readonly [from: number, to: number] {
  if (column === undefined) return [text.trim() === "" ? 0 : text.length - text.trimStart().length, text.length];
  // The server counts characters, the editor counts the halves of some characters.
  const from = [...text].slice(0, column - 1).join("").length;
  const [sign] = /^(?:\w+|\S)/u.exec(text.slice(from)) ?? [];
  if (sign !== undefined) return [from, from + sign.length];
  const end = text.slice(0, from).trimEnd().length || text.length;
  return [Math.max(0, end - 1), end];
}

/** Move the cursor to a line, and scroll it to the middle of the window. */
export function goToLine(view: EditorView, number: number): void {
  if (!(number >= 1 && number <= view.state.doc.lines)) return;
  const { from } = view.state.doc.line(number);
  view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
  view.focus();
}

export function marking(): Extension {
  return lintGutter();
}
