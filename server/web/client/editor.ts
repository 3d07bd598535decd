// An editor that replaces a text area. The text area follows each change, because the form sends the text area:
//
//   <textarea data-editor id="source" name="source"
//     data-marks='[{"line": 3, "kind": "data_race", "message": "…", "severity": "error"}]'
//     data-draft-key="PERSON:COURSE/ASSIGNMENT"   name of the draft in this browser
//     data-draft-form="KEY"                       name of this form: once it has arrived, its draft is deleted
//     data-draft-instead="the starter"            what the server put there, for the notice of a restored draft
//     data-draft-offered                          the reader asked for this text: offer the draft, don't restore it
//     data-draft-ignored                          this text is newer than any draft: a form with mistakes
//     data-most-bytes="65536">
//   <input type="file" data-editor-file="source">  fills the editor; without a script the server reads the file
//   <button data-editor-repair="source">           puts the text of <template id="source-repaired"> there, if the
//                                                  reader hasn't changed the text since
//   <a href="#source">                            focuses it; data-editor-line="3" goes to that line, with
//                                                 data-editor-of="source" only in this one of several editors
//   <span hidden data-editor-changed="source">     shown while the text differs from the version that the page names
//
// An exercise's file has data-editor="cuda", "toml" or "markdown": its language. It needs no keys and hints of a kernel.
//
// The event `marks` on the text area, with such JSON as its detail, marks other lines. The event `taken` says that the
// server took the text in its detail: notices about it go. After it, `named` says that the page names this version. An
// address that ends with #line-20 opens with the cursor there. Without
// scripts, and until this one has loaded, the text area works alone.

import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, foldGutter, foldKeymap, indentOnInput } from "@codemirror/language";
import { lintKeymap } from "@codemirror/lint";
import { search, searchKeymap } from "@codemirror/search";
import { EditorState, Transaction } from "@codemirror/state";
import {
  EditorView, crosshairCursor, drawSelection, dropCursor, highlightActiveLine, highlightActiveLineGutter,
  keymap, lineNumbers, rectangularSelection,
} from "@codemirror/view";

import { completion } from "./completion";
import { type Draft, draft, dropDraft, keepDraft } from "./drafts";
import { KeysChoice } from "./keys";
import { language } from "./languages";
import { goToLine, marking, readMarks, showMarks, showTypingErrors } from "./marks";
import { oddCharacters } from "./odd-characters";
import { all, clock, make } from "./page";
import { endRefusal } from "./refusal";
import { NotASource, readSource } from "./source-file";
import { tabKey } from "./tab-key";
import { theme } from "./theme";
import { typingErrors } from "./typing-errors";
import { typeOverSelection } from "./type-over-selection";
import { wordHelp } from "./word-help";

const DRAFT_MS = 400;
/** A pause in typing, after which mistakes are marked. */
const PAUSE_MS = 900;
const MORE_SHORTCUTS = [
  "F8 goes to the next marked line.",
  "Ctrl+Shift+Enter submits an accepted check.",
  "Tab indents once you type or click here.",
  "Ctrl+Space completes a name; F1 explains it.",
  "You can drop a file here.",
];

class Editor {
  private readonly view: EditorView;
  private readonly given: string;
  /** The version that the page names, and the one that it names once the server's answer is shown. */
  private named: string;
  private takenText: string;
  private readonly says = make("p", { className: "notice editor-says", hidden: true });
  private readonly hint: HTMLElement;
  private readonly keys = new KeysChoice();
  private timer = 0;
  private pause = 0;
  /** Whether the draft lacks a change of the text. */
  private unkept: boolean;
  private offersDraft = false;
  /** Why the last file was refused, until the reader shows that the text here is meant; "" for none. */
  private refused = "";
  /** Whether the text is a student's kernel, not a file of an exercise. */
  private readonly isKernel: boolean;

  constructor(private readonly area: HTMLTextAreaElement) {
    this.isKernel = (area.dataset["editor"] ?? "") === "";
    this.given = this.named = this.takenText = lines(area.defaultValue);
    this.unkept = "draftIgnored" in area.dataset;
    this.hint = this.isKernel
      ? make("summary", { id: `${area.id}-keys` }, "Shortcuts: Ctrl+Enter checks; Esc, then Tab leaves the editor. Show all")
      : make("p", { id: `${area.id}-keys`, className: "vh" }, "Esc, then Tab leaves the editor.");
    const more = make("ul", {}, ...MORE_SHORTCUTS.map((text) => make("li", {}, text)));
    this.says.setAttribute("role", "status");
    this.view = new EditorView({ state: this.startState() });
    this.takePlace(this.isKernel ? make("details", { className: "fine editor-hint" }, this.hint, more) : this.hint);
    this.keys.attach(this.view);
    this.attend();
    if (this.isKernel) this.keepPage();
    this.bringBackDraft();
    if (this.text === this.given) showMarks(this.view, readMarks(area.dataset["marks"]));
    else this.showWhetherChanged();
    const line = /^#line-(\d+)$/.exec(location.hash);
    if (line !== null) goToLine(this.view, Number(line[1]));
  }

  private get text(): string {
    return this.view.state.doc.toString();
  }

  /** Show the editor instead of the text area. The reader may be typing there already. */
  private takePlace(help: HTMLElement): void {
    const { area } = this;
    const [hasFocus, anchor, head] = [document.activeElement === area, area.selectionStart, area.selectionEnd];
    area.before(help, this.says, this.view.dom);
    if (this.isKernel) area.labels[0]?.after(this.keys.shown);
    // A hidden required field would block the form.
    area.required = false;
    area.hidden = true;
    if (!hasFocus) return;
    this.view.dispatch({ selection: { anchor, head } });
    this.view.focus();
  }

  private startState(): EditorState {
    return EditorState.create({
      doc: lines(this.area.value),
      extensions: [
        this.keys.place.of([]), lineNumbers(), foldGutter(), highlightActiveLineGutter(), oddCharacters(), history(), drawSelection(), dropCursor(),
        EditorState.allowMultipleSelections.of(true), EditorState.tabSize.of(4), indentOnInput(), bracketMatching(),
        closeBrackets(), this.isKernel ? [completion(), wordHelp()] : [], rectangularSelection(), crosshairCursor(), highlightActiveLine(), search({ top: true }), marking(), language(this.area.dataset["editor"] ?? ""), theme,
        typeOverSelection,
        keymap.of([...closeBracketsKeymap, ...foldKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...lintKeymap]),
        tabKey(),
        // A phone shows whole lines.
        matchMedia("(max-width: 46rem)").matches || this.area.dataset["editor"] === "markdown" ? EditorView.lineWrapping : [],
        EditorView.contentAttributes.of(() => this.attributes()),
        EditorView.domEventHandlers({
          dragover: (event) => this.over(event, true),
          dragleave: (event) => this.over(event, false),
          drop: (event) => this.drop(event),
        }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) this.changed(update.transactions);
          if (this.isKernel && (update.docChanged || update.selectionSet)) this.lookAfterPause();
        }),
      ],
    });
  }

  /** The text area's labels and hints, for the editor. */
  private attributes(): Record<string, string> {
    const { area } = this;
    const label = area.labels[0];
    if (label !== undefined && label.id === "") label.id = `${area.id}-label`;
    const described = [area.getAttribute("aria-describedby"), this.hint.id].filter(Boolean).join(" ");
    const attributes: Record<string, string> = {
      "aria-describedby": described,
      spellcheck: area.getAttribute("spellcheck") ?? "false",
      // It can be focused anyway; this attribute tells programs so.
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
    area.form?.addEventListener("submit", (event) => this.submit(event));
    area.addEventListener("marks", (event) => showMarks(this.view, readMarks((event as CustomEvent<string>).detail)));
    area.addEventListener("taken", (event) => this.taken((event as CustomEvent<string>).detail));
    area.addEventListener("named", () => {
      this.named = this.takenText;
      this.showWhetherChanged();
    });
    area.form?.addEventListener("reset", () => window.setTimeout(() => this.replace(lines(area.value))));
    window.addEventListener("pagehide", () => this.keep());
    document.addEventListener("click", (event) => {
      const ways = `[data-editor-line], a[href="#${area.id}"]`;
      const link = event.target instanceof Element ? event.target.closest<HTMLElement>(ways) : null;
      if (link === null || (link.dataset["editorOf"] ?? area.id) !== area.id) return;
      event.preventDefault();
      const line = link.dataset["editorLine"];
      if (line === undefined) this.view.focus();
      else goToLine(this.view, Number(line));
    });
    for (const chooser of all<HTMLInputElement>("input[type=file][data-editor-file]")) {
      if (chooser.dataset["editorFile"] === area.id) chooser.addEventListener("change", () => void this.choose(chooser));
    }
    for (const button of all<HTMLButtonElement>("button[data-editor-repair]")) {
      if (button.dataset["editorRepair"] === area.id) button.addEventListener("click", (event) => this.repair(event));
    }
  }

  /** Stop once if a file was refused: its reader may think that the form sends it. */
  private submit(event: SubmitEvent): void {
    if (this.refused === "") {
      this.keep(this.area.dataset["draftForm"] ?? "");
      return;
    }
    event.preventDefault();
    this.refuse(this.refused, "Nothing was sent. ").focus();
  }

  private taken(text: string): void {
    this.takenText = lines(text);
    // The draft that the notice offers is still kept.
    if (!(this.offersDraft && this.text === this.given)) this.say("");
    this.view.dispatch({}); // updates the attributes
  }

  private refuse(reason: string, before = ""): HTMLElement {
    const go = this.button("Keep the text in the editor", () => undefined);
    this.say(`${before}${reason} The editor still has its earlier text. Choose another file, or submit the editor’s text. `, go);
    this.refused = reason;
    return go;
  }

  private changed(transactions: readonly Transaction[]): void {
    this.area.value = this.text;
    this.showWhetherChanged();
    window.clearTimeout(this.timer);
    // Set by another program.
    if (transactions.every((each) => each.annotation(Transaction.userEvent) === undefined)) return;
    this.unkept = true;
    if (this.refused !== "") this.say("");
    this.timer = window.setTimeout(() => this.keep(), DRAFT_MS);
  }

  /** Mark mistakes once the reader pauses, except on the line that is being written. */
  private lookAfterPause(): void {
    window.clearTimeout(this.pause);
    this.pause = window.setTimeout(() => {
      const { doc, selection } = this.view.state;
      const here = doc.lineAt(selection.main.head).number;
      const isWriting = this.view.hasFocus;
      showTypingErrors(this.view, typingErrors(this.text).filter((each) => !isWriting || each.line !== here));
    }, PAUSE_MS);
  }

  private showWhetherChanged(): void {
    for (const sign of all("[data-editor-changed]")) {
      if (sign.dataset["editorChanged"] === this.area.id) sign.hidden = this.text === this.named;
    }
  }

  /** Update the draft. sent: the form that is sending it now. */
  private keep(sent = ""): void {
    window.clearTimeout(this.timer);
    const key = this.area.dataset["draftKey"];
    if (key === undefined || (!this.unkept && sent === "")) return;
    const asGiven = this.text === this.given && !("draftIgnored" in this.area.dataset);
    if (!asGiven) keepDraft(key, this.text, sent);
    else if (this.unkept) dropDraft(key);
    this.unkept = false;
  }

  private bringBackDraft(): void {
    const { draftKey, draftInstead, draftIgnored, draftOffered } = this.area.dataset;
    if (draftKey === undefined || draftIgnored !== undefined) return;
    const kept = draft(draftKey);
    const isTyped = this.text !== this.given;
    if (kept === null) this.unkept ||= isTyped;
    else if (kept.text === this.given && !isTyped) dropDraft(draftKey);
    else if (draftOffered !== undefined || isTyped) this.offer(kept);
    else this.restore(draftKey, kept, draftInstead ?? "what was here");
  }

  private restore(key: string, kept: Draft, instead: string): void {
    this.replace(kept.text);
    this.say(`Draft of ${clock(kept.at)} restored. `, this.button(`Use ${instead} instead`, () => {
      this.unkept = false;
      dropDraft(key);
      this.replace(this.given);
      showMarks(this.view, readMarks(this.area.dataset["marks"]));
    }));
  }

  private offer(kept: Draft): void {
    this.say(`Your draft of ${clock(kept.at)} is kept until you change this text. `, this.button("Use the draft instead", () => {
      this.replace(kept.text, "input.draft");
    }));
    this.offersDraft = true;
  }

  /** Repair the text in place. The server repairs a text that it hasn't seen. */
  private repair(event: Event): void {
    const repaired = document.getElementById(`${this.area.id}-repaired`);
    if (!(repaired instanceof HTMLTemplateElement) || this.text !== this.given) return;
    event.preventDefault();
    endRefusal();
    this.replace(repaired.content.textContent ?? "", "input.repair");
    this.say(`Repaired. ${repaired.dataset["changes"] ?? ""} Undo restores the earlier text. Check or submit it now.`);
    this.view.focus();
  }

  /** A button in the notice; pressing it also closes the notice. */
  private button(text: string, does: () => void): HTMLElement {
    const made = make("button", { type: "button", className: "button quiet" }, text);
    made.addEventListener("click", () => {
      does();
      this.say("");
      this.view.focus();
    });
    return made;
  }

  /** Replace the text; undo restores the old one. */
  private replace(text: string, event?: string): void {
    this.view.dispatch({
      changes: { from: 0, to: this.view.state.doc.length, insert: text },
      selection: { anchor: 0 },
      ...(event === undefined ? {} : { userEvent: event }),
    });
  }

  private say(text: string, ...more: Node[]): void {
    this.refused = "";
    this.offersDraft = false;
    this.says.hidden = text === "";
    this.says.replaceChildren(text, ...more);
  }

  private async choose(chooser: HTMLInputElement): Promise<void> {
    const file = chooser.files?.[0];
    // The text counts now. A file that stays chosen would be sent too.
    if (file !== undefined) await this.fill(file);
    chooser.value = "";
  }

  private async fill(file: File): Promise<void> {
    try {
      const text = await readSource(file, Number(this.area.dataset["mostBytes"] ?? 65536));
      this.replace(lines(text), "input.file");
      this.say(`${file.name} is in the editor now. Undo restores the earlier text.`);
      this.view.focus();
    } catch (error) {
      if (!(error instanceof NotASource)) throw error;
      this.refuse(error.message);
    }
  }

  private over(event: DragEvent, inside: boolean): boolean {
    const files = event.dataTransfer?.types.includes("Files") ?? false;
    this.view.dom.classList.toggle("cm-over", files && inside);
    if (files && inside) event.preventDefault();
    return files;
  }

  /** Without this, a browser leaves the page for a file dropped next to the editor. */
  private keepPage(): void {
    for (const type of ["dragover", "drop"] as const) {
      window.addEventListener(type, (event) => {
        const beside = !event.defaultPrevented && !(event.target instanceof HTMLInputElement);
        if (!beside || !event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        if (type === "drop") this.refuse("Drop the file on the editor. Nothing was loaded.");
      });
    }
  }

  private drop(event: DragEvent): boolean {
    const files = event.dataTransfer?.files;
    const file = files?.[0];
    this.view.dom.classList.remove("cm-over");
    if (files === undefined || file === undefined) return false;
    event.preventDefault();
    if (files.length > 1) this.refuse(`You dropped ${files.length} files. Drop one.`);
    else void this.fill(file);
    return true;
  }
}

/** Browsers end a text area's lines with two characters, and files may too. */
function lines(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

// In a task of its own: loading this script takes a slow phone long enough.
for (const area of all<HTMLTextAreaElement>("textarea[data-editor]")) setTimeout(() => new Editor(area));

export * from "./codemirror";
