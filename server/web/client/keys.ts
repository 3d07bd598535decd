// The choice between the usual keys, Vim's and Emacs'. This browser remembers it, and loads only the chosen ones.

import { Compartment, type Extension } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";

import { make } from "./page";
import { remember, remembered } from "./remembered";

const CHOICE = "tilelab-keys";
const KEYS: Readonly<Record<string, () => Promise<{ keys: Extension }>>> = {
  Vim: () => import("./vim-keys.js"),
  Emacs: () => import("./emacs-keys.js"),
};

export class KeysChoice {
  /** Where the chosen keys come into the editor. They must be before all other keys. */
  readonly place = new Compartment();
  readonly shown: HTMLElement;
  private readonly select = make("select", {}, ...["Standard", ...Object.keys(KEYS)].map((name) => make("option", {}, name)));

  constructor() {
    this.shown = make("label", { className: "fine editor-keys" }, "Editor keys: ", this.select);
  }

  attach(view: EditorView): void {
    const before = remembered(CHOICE) ?? "";
    if (before in KEYS) {
      this.select.value = before;
      void this.load(view);
    }
    this.select.addEventListener("change", () => {
      remember(CHOICE, this.select.value);
      void this.load(view);
    });
  }

  private async load(view: EditorView): Promise<void> {
    const chosen = this.select.value;
    let keys: Extension = [];
    try {
      keys = (await KEYS[chosen]?.())?.keys ?? [];
    } catch {
      this.select.value = "Standard"; // the script didn't arrive
    }
    if (this.select.value === chosen) view.dispatch({ effects: this.place.reconfigure(keys) });
  }
}
