// A live part of a page. The server keeps one element up to date:
//
//   <div data-live data-now="…" data-state="/submissions/17/state" data-events="/submissions/17/events">…</div>
//                                            data-every="10000" asks about every ten seconds, if no one waits for news
//                                            data-of="17" names its subject, if the page may change to another later
//   <span data-live-status></span>           says when no news has come for a while
//   <span data-since="…"></span>             within the element: counts the seconds since then, by the server's clock
//   <strong data-live-title></strong>        within the element: the page's title begins with it too
//
// Both addresses return {"html": …, "final": …, "now": …, "digest": …}: the element's new content, whether this was the
// last change, and the server's time in seconds since 1970, as in `data-now`. The next request sends the digest as
// `seen`, and html is null if nothing changed. Events are named `state`; any event, also `beat`, shows that the stream is
// alive. Without data-events, or while the stream is down, the page asks for the state repeatedly. A page with a final
// state reloads once, to show its finished form.

import { Live } from "./follow";
import { all } from "./page";

/** Drop the form's notice from the address: the reloaded page must not repeat it next to the result. */
function forgetNotice(): void {
  const address = new URL(location.href);
  if (!address.searchParams.has("notice")) return;
  address.searchParams.delete("notice");
  history.replaceState(history.state, "", address);
}

forgetNotice();
const followed = all("[data-live][data-state]").map(
  (place) => new Live(place, place.dataset["state"] ?? "", place.dataset["events"]),
);
for (const live of followed) live.start();
// A form leads to another page. A reload meanwhile, after the last change, would lose what that page says.
document.addEventListener("submit", (event) => {
  if (!event.defaultPrevented) for (const live of followed) live.stop();
});
