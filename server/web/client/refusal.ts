// What the page says about a refused form: a box above the workbench, and a sentence at the field.

import { all } from "./page";

/** Remove it, because the text has changed or is being sent again. Returns whether the focus was in the box. */
export function endRefusal(): boolean {
  let hadFocus = false;
  for (const part of all("[data-mistake], [data-refusal], [data-repaired], .field > .error")) {
    hadFocus ||= part.contains(document.activeElement);
    part.remove();
  }
  for (const field of all("[aria-invalid]")) {
    field.removeAttribute("aria-invalid");
    const left = (field.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => document.getElementById(id) !== null);
    if (left.length > 0) field.setAttribute("aria-describedby", left.join(" "));
    else field.removeAttribute("aria-describedby");
  }
  return hadFocus;
}
