// In place of the package of that name, by which the editor brings its styles: that one writes a <style> into the page,
// which the portal's policy refuses. A sheet made by a script is no inline style.

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
    // what comes later wins, and those that are mounted now have an order among themselves
    place.modules = [...place.modules.filter((each) => !modules.includes(each)), ...modules];
    place.sheet.replaceSync(place.modules.map((each) => each.getRules()).join("\n"));
  }
}
