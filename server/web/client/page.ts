// What every script does with a page: find elements, make them, and stand behind a promise that nothing waits for.

export function all<E extends HTMLElement>(selector: string, within: ParentNode = document): E[] {
  return [...within.querySelectorAll<E>(selector)];
}

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<HTMLElementTagNameMap[K]> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** How this reader writes dates, in the language of the page. */
export const LOCALE = navigator.languages.find((language) => language.startsWith("en") && isKnown(language)) ?? "en-GB";

/** Where a system's own name of a language shines through, such as "en-US@posix", no date can be written with it. */
function isKnown(language: string): boolean {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf(language).length > 0;
  } catch {
    return false;
  }
}

/** Hours and minutes of this browser's clock, with the day where it is another one. */
export function clock(when: Date): string {
  const sameDay = when.toDateString() === new Date().toDateString();
  return when.toLocaleString(LOCALE, {
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
    ...(sameDay ? {} : { day: "numeric", month: "long" }),
  });
}
