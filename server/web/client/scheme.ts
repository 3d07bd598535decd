// Remembers light or dark colours in a cookie, so that the server sends each page with the choice and no page flashes.
// The stylesheet alone switches the present page.

const A_YEAR_S = 31_536_000;

export function rememberScheme(choice: HTMLElement): void {
  choice.addEventListener("change", (event) => {
    const { value } = event.target as HTMLInputElement;
    const seconds = value === "auto" ? 0 : A_YEAR_S;
    const secure = location.protocol === "https:" ? "; Secure" : "";
    document.cookie = `tilelab-scheme=${value}; Path=/; Max-Age=${seconds}; SameSite=Lax${secure}`;
  });
}
