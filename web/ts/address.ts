// The page's address: knobs that differ from the defaults, the lesson's step, the panel looked at, the language, and the
// session that is followed. A link to share leaves the session out, so that opening it starts and joins nothing.

export function set(values: Record<string, string | null>): void {
  const u = new URL(location.href);
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === "") u.searchParams.delete(name);
    else u.searchParams.set(name, value);
  }
  // Replaced, not pushed: Back leads to where the learner came from, never through each turn of a knob.
  if (u.href !== location.href) history.replaceState(history.state, "", u);
  for (const a of document.querySelectorAll<HTMLAnchorElement>("a[data-lang]")) {
    const to = new URL(u);
    to.searchParams.set("lang", a.dataset["lang"] ?? "en");
    a.href = to.pathname + to.search;
  }
}

export function shareable(): string {
  const u = new URL(location.href);
  u.searchParams.delete("session");
  u.searchParams.delete("theme");
  u.searchParams.set("lang", document.documentElement.lang);
  u.hash = "";
  return u.href;
}
