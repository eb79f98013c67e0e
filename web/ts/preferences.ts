import { $, $$ } from "./dom";

// Language and theme are kept in cookies, so that the server writes the page right at once.

const year = 60 * 60 * 24 * 365;

function keep(name: string, value: string): void {
  document.cookie = `${name}=${value}; path=/; max-age=${year}; samesite=lax`;
}

export function preferences(onTheme: () => void = () => undefined): void {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  $("#theme").addEventListener("click", () => {
    const now = root.dataset["theme"] ?? (dark.matches ? "dark" : "light");
    root.dataset["theme"] = now === "dark" ? "light" : "dark";
    keep("theme", root.dataset["theme"]);
    const u = new URL(location.href);
    if (u.searchParams.has("theme")) {
      u.searchParams.delete("theme");
      history.replaceState(history.state, "", u);
    }
    onTheme();
  });
  dark.addEventListener("change", onTheme);
  for (const a of $$<HTMLAnchorElement>("a[data-lang]")) {
    a.addEventListener("click", (e) => {
      if (e.ctrlKey || e.metaKey || e.shiftKey || e.button !== 0) return;
      e.preventDefault();
      keep("lang", a.dataset["lang"] ?? "en");
      location.replace(a.href);
    });
  }
}
