// Change an element's content in small steps: unchanged elements stay, with their focus, selection and open state, and
// the page doesn't jump.

export function morph(target: Element, html: string): void {
  const wanted = document.createElement("template");
  wanted.innerHTML = html;
  children(target, wanted.content);
}

function children(target: ParentNode & Node, wanted: Node): void {
  const news = [...wanted.childNodes];
  news.forEach((next, place) => {
    const present = target.childNodes[place];
    if (present === undefined) target.appendChild(next);
    else if (alike(present, next)) become(present, next);
    else target.replaceChild(next, present);
  });
  while (target.childNodes.length > news.length) target.lastChild?.remove();
}

function alike(one: Node, other: Node): boolean {
  return one.nodeName === other.nodeName && (one as Partial<Element>).id === (other as Partial<Element>).id;
}

function become(present: Node, next: Node): void {
  if (!(present instanceof Element && next instanceof Element)) {
    if (present.nodeValue !== next.nodeValue) present.nodeValue = next.nodeValue;
    return;
  }
  for (const name of present.getAttributeNames()) {
    // the reader opened it
    if (!next.hasAttribute(name) && !(name === "open" && present instanceof HTMLDetailsElement)) {
      present.removeAttribute(name);
    }
  }
  for (const name of next.getAttributeNames()) {
    const value = next.getAttribute(name) ?? "";
    if (present.getAttribute(name) !== value) present.setAttribute(name, value);
  }
  // the reader may be typing
  if (!(present instanceof HTMLTextAreaElement)) children(present, next);
}
