// Replaces the package style-mod, which brings the editor's styles. That package adds a <style> element, which the
// portal's policy refuses. A sheet made by a script isn't an inline style.

import { StyleModule as Original } from "./node_modules/style-mod/src/style-mod.js";

interface Mounted {
  readonly sheet: CSSStyleSheet;
  modules: readonly Original[];
}

const mounted = new WeakMap<DocumentOrShadowRoot, Mounted>();

export class StyleModule extends Original {
  static override mount(root: Document | ShadowRoot, given: Original | readonly Original[]): void {
    const modules = Array.isArray(given) ? (given as readonly Original[]) : [given as Original];
    let place = mounted.get(root);
    if (place === undefined) {
      place = { sheet: new CSSStyleSheet(), modules: [] };
      mounted.set(root, place);
      root.adoptedStyleSheets = [...root.adoptedStyleSheets, place.sheet];
    }
    if (modules.every((each) => place.modules.includes(each))) return;
    // later sheets win, and the mounted ones keep their order
    place.modules = [...place.modules.filter((each) => !modules.includes(each)), ...modules];
    place.sheet.replaceSync(place.modules.map((each) => each.getRules()).join("\n"));
  }
}
