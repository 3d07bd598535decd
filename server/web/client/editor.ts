// An editor in place of a text area, which keeps what is typed in step and is what the form sends:
//
//   <textarea data-editor id="source" name="source"
//     data-marks='[{"line": 3, "kind": "data_race", "message": "…", "severity": "error"}]'
//     data-draft-key="PERSON:COURSE/ASSIGNMENT"   what is typed is kept in this browser under this name
//     data-draft-instead="the starter"            what the server put there, in the notice that a draft came back
//     data-draft-ignored                          the text is newer than any draft: a form that came back with mistakes
//     data-most-bytes="65536">
//   <input type="file" data-editor-file="source">  fills the editor; without a script the server reads the file
//   <a href="#…" data-editor-line="3">            goes to that line
//
// Everything works without it: then the text area is one.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentOnInput } from "@codemirror/language";
import { lintKeymap } from "@codemirror/lint";
import { search, searchKeymap } from "@codemirror/search";
import { EditorState, Transaction } from "@codemirror/state";
import {
  EditorView, crosshairCursor, drawSelection, dropCursor, highlightActiveLine, highlightActiveLineGutter,
  highlightSpecialChars, keymap, lineNumbers, rectangularSelection,
} from "@codemirror/view";

import { cuda } from "./cuda";
import { draft, dropDraft, keepDraft } from "./drafts";
import { goToLine, marking, readMarks, showMarks } from "./marks";
import { all, clock, make } from "./page";
import { NotASource, readSource } from "./source-file";
import { theme } from "./theme";

const DRAFT_MS = 400;

class Editor {
  private readonly view: EditorView;
  private readonly given: string;
  private readonly says = make("p", { className: "notice editor-says", hidden: true });
  private readonly hint: HTMLElement;
  private timer = 0;

  constructor(private readonly area: HTMLTextAreaElement) {
    this.given = lines(area.value);
    this.hint = make("p", { className: "fine editor-hint", id: `${area.id}-keys` });
    this.hint.textContent = "Tab indents; Esc, then Tab, leaves the editor. A file can be dropped on it.";
    this.says.setAttribute("role", "status");
    this.view = new EditorView({ state: this.startState() });
    // The form must not wait for a field that nobody sees.
    area.required = false;
    area.hidden = true;
    area.before(this.says, this.view.dom);
    area.after(this.hint);
    this.attend();
    this.bringBackDraft();
    if (this.text === this.given) showMarks(this.view, readMarks(area.dataset["marks"]));
  }

  private get text(): string {
    return this.view.state.doc.toString();
  }

  private startState(): EditorState {
    return EditorState.create({
      doc: this.given,
      extensions: [
        lineNumbers(), highlightActiveLineGutter(), highlightSpecialChars(), history(), drawSelection(), dropCursor(),
        EditorState.allowMultipleSelections.of(true), EditorState.tabSize.of(4), indentOnInput(), bracketMatching(),
        rectangularSelection(), crosshairCursor(), highlightActiveLine(), search({ top: true }), marking(), cuda(), theme,
        keymap.of([...defaultKeymap, ...searchKeymap, ...historyKeymap, ...lintKeymap, indentWithTab]),
        EditorView.contentAttributes.of(this.attributes()),
        EditorView.domEventHandlers({
          dragover: (event) => this.over(event, true),
          dragleave: (event) => this.over(event, false),
          drop: (event) => this.drop(event),
        }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) this.changed(update.transactions);
        }),
      ],
    });
  }

  /** What the text area tells those who do not see it, told of the editor. */
  private attributes(): Record<string, string> {
    const { area } = this;
    const label = area.labels[0];
    if (label !== undefined && label.id === "") label.id = `${area.id}-label`;
    const described = [area.getAttribute("aria-describedby"), this.hint.id].filter(Boolean).join(" ");
    const attributes: Record<string, string> = {
      "aria-describedby": described,
      spellcheck: "false",
      // It can be reached anyway; said so, programs that look for it see it, too.
      tabindex: "0",
    };
    if (label === undefined) attributes["aria-label"] = area.getAttribute("aria-label") ?? "Source";
    else attributes["aria-labelledby"] = label.id;
    const invalid = area.getAttribute("aria-invalid");
    if (invalid !== null) attributes["aria-invalid"] = invalid;
    return attributes;
  }

  private attend(): void {
    const { area } = this;
    area.labels[0]?.addEventListener("click", () => this.view.focus());
    area.form?.addEventListener("submit", () => this.keep());
    area.form?.addEventListener("reset", () => window.setTimeout(() => this.replace(lines(area.value))));
    window.addEventListener("pagehide", () => this.keep());
    document.addEventListener("click", (event) => {
      const link = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-editor-line]") : null;
      if (link === null) return;
      event.preventDefault();
      goToLine(this.view, Number(link.dataset["editorLine"]));
    });
    for (const chooser of all<HTMLInputElement>("input[type=file][data-editor-file]")) {
      if (chooser.dataset["editorFile"] === area.id) chooser.addEventListener("change", () => void this.choose(chooser));
    }
  }

  private changed(transactions: readonly Transaction[]): void {
    this.area.value = this.text;
    window.clearTimeout(this.timer);
    // Not what this program put there.
    if (transactions.every((each) => each.annotation(Transaction.userEvent) === undefined)) return;
    this.timer = window.setTimeout(() => this.keep(), DRAFT_MS);
  }

  private keep(): void {
    window.clearTimeout(this.timer);
    const key = this.area.dataset["draftKey"];
    if (key === undefined) return;
    if (this.text === this.given && !("draftIgnored" in this.area.dataset)) dropDraft(key);
    else keepDraft(key, this.text);
  }

  private bringBackDraft(): void {
    const { draftKey, draftInstead, draftIgnored } = this.area.dataset;
    if (draftKey === undefined || draftIgnored !== undefined) return;
    const kept = draft(draftKey);
    if (kept === null || kept.text === this.given) return;
    this.replace(kept.text);
    const instead = make("button", { type: "button", className: "button quiet" }, `Use ${draftInstead ?? "what was here"} instead`);
    instead.addEventListener("click", () => {
      dropDraft(draftKey);
      this.replace(this.given);
      showMarks(this.view, readMarks(this.area.dataset["marks"]));
      this.say("");
      this.view.focus();
    });
    this.say(`Draft of ${clock(kept.at)} restored. `, instead);
  }

  /** Put another text there; undo brings the old one back. */
  private replace(text: string, event?: string): void {
    this.view.dispatch({
      changes: { from: 0, to: this.view.state.doc.length, insert: text },
      selection: { anchor: 0 },
      ...(event === undefined ? {} : { userEvent: event }),
    });
  }

  private say(text: string, ...more: Node[]): void {
    this.says.hidden = text === "";
    this.says.replaceChildren(text, ...more);
  }

  private async choose(chooser: HTMLInputElement): Promise<void> {
    const file = chooser.files?.[0];
    // Now the text counts; a file that stayed chosen would be sent as well.
    if (file !== undefined) await this.fill(file);
    chooser.value = "";
  }

  private async fill(file: File): Promise<void> {
    try {
      const text = await readSource(file, Number(this.area.dataset["mostBytes"] ?? 65536));
      this.replace(lines(text), "input.file");
      this.say(`${file.name} is in the editor now. Undo brings back what was there.`);
      this.view.focus();
    } catch (error) {
      if (!(error instanceof NotASource)) throw error;
      this.say(error.message);
    }
  }

  private over(event: DragEvent, inside: boolean): boolean {
    const files = event.dataTransfer?.types.includes("Files") ?? false;
    this.view.dom.classList.toggle("cm-over", files && inside);
    if (files && inside) event.preventDefault();
    return files;
  }

  private drop(event: DragEvent): boolean {
    const file = event.dataTransfer?.files[0];
    this.view.dom.classList.remove("cm-over");
    if (file === undefined) return false;
    event.preventDefault();
    void this.fill(file);
    return true;
  }
}

/** A browser sends a text area's lines with two characters at their ends, a file may have them. */
function lines(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

for (const area of all<HTMLTextAreaElement>("textarea[data-editor]")) new Editor(area);
