// A question to course staff, asked in the workbench at a line of the result. The links lead to the page of comments
// where this script can't help.

import { all, make } from "./page";

/** Add a link to each line of the excerpt, and return one for the whole result. address: of the submission */
export function questionLinks(shown: HTMLElement, address: string): HTMLAnchorElement {
  const numbers = all<HTMLAnchorElement>(".excerpt .hit a.no", shown).map((link) => link.hash.slice(2));
  all(".excerpt .hit", shown).forEach((row, at) => {
    const line = numbers[at];
    if (line !== undefined) (row.querySelector(".role") ?? row).append(" ", linkTo(address, line, "Ask", `Ask about line ${line}`));
  });
  const first = shown.querySelector<HTMLElement>(".verdict [data-editor-line]")?.dataset["editorLine"] ?? "";
  return linkTo(address, first, "Ask a question");
}

function linkTo(address: string, line: string, text: string, label = text): HTMLAnchorElement {
  const link = make("a", { className: "ask", href: `${address}/comments${line === "" ? "" : `?line=${line}`}#write` }, text);
  link.setAttribute("aria-label", label);
  link.addEventListener("click", (event) => {
    const isElsewhere = event.ctrlKey || event.metaKey || event.shiftKey;
    if (!isElsewhere && open(link, address, line)) event.preventDefault();
  });
  return link;
}

/** Open the form after the link's part. Returns whether that is possible. */
function open(link: HTMLElement, address: string, line: string): boolean {
  const csrf = document.querySelector<HTMLInputElement>("input[name=csrf]")?.value;
  const after = link.closest(".excerpt") ?? link.closest("p");
  if (csrf === undefined || after === null) return false;
  for (const old of all("form.ask-form")) old.remove();
  const text = make("textarea", { name: "text", id: "question", rows: 3, required: true, maxLength: 10_000 });
  const label = make("label", { htmlFor: "question" }, line === "" ? "Your question" : `Your question about line ${line}`);
  const close = make("button", { type: "button", className: "button small quiet" }, "Cancel");
  const form = make(
    "form", { className: "form ask-form", method: "post", action: `${address}/comments` },
    make("input", { type: "hidden", name: "csrf", value: csrf }), make("input", { type: "hidden", name: "line", value: line }),
    make("div", { className: "field" }, label, text),
    make("p", { className: "actions" }, make("button", { type: "submit", className: "button small" }, "Send to course staff"), " ", close),
  );
  close.addEventListener("click", () => {
    form.remove();
    link.focus();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void send(form);
  });
  after.after(form);
  text.focus();
  return true;
}

async function send(form: HTMLFormElement): Promise<void> {
  const page = await fetch(form.action, { method: "POST", body: new FormData(form) }).then(
    async (answer) => ({ url: answer.url, isRight: answer.ok, html: new DOMParser().parseFromString(await answer.text(), "text/html") }),
    () => null,
  );
  form.querySelector(".error")?.remove();
  if (page?.isRight === true) {
    const says = page.html.querySelector("main > .notice[role=status]")?.textContent ?? "Sent to the course staff.";
    const told = make("p", { className: "notice", tabIndex: -1 }, `${says} `, make("a", { href: page.url }, "See it"));
    told.setAttribute("role", "status");
    form.replaceWith(told);
    told.focus();
    told.scrollIntoView({ block: "nearest" });
    return;
  }
  const reason = page?.html.querySelector(".problem-list li, .problem-list p, main .lead")?.textContent ?? "No answer from the server. Try again.";
  const error = make("p", { className: "error" }, reason);
  error.setAttribute("role", "alert");
  form.querySelector(".field")?.append(error);
}
