// Shared by all scripts: find elements, create them, and write times.

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

/** The reader's English locale, for dates. */
export const LOCALE = navigator.languages.find((language) => language.startsWith("en") && isKnown(language)) ?? "en-GB";

/** Whether the locale is valid; some systems name one such as "en-US@posix", which can't format dates. */
function isKnown(language: string): boolean {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf(language).length > 0;
  } catch {
    return false;
  }
}

/** Hours and minutes by this computer's clock, with the day if it isn't today. */
export function clock(when: Date): string {
  const sameDay = when.toDateString() === new Date().toDateString();
  return when.toLocaleString(LOCALE, {
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
    ...(sameDay ? {} : { day: "numeric", month: "long" }),
  });
}
