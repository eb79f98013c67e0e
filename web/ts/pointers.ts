import { $, $$, h, maybe, prop } from "./dom";
import { t } from "./text";

// Three pointers explain the strip, once in a browser's life.

const key = "weir.pointers";
const targets: [string, string][] = [
  ["slot", ".strip .slot.data"],
  ["credit", ".strip .sluice"],
  ["switch", "#knob-debloat .switch"],
];

export function seenPointers(): boolean {
  try {
    return localStorage.getItem(key) === "seen";
  } catch {
    return true; // nothing can be remembered: better never than each time
  }
}

function remember(): void {
  try {
    localStorage.setItem(key, "seen");
  } catch {
    // see above
  }
}

/** Whether there is room to point at an element where the page stands: nobody's page is scrolled for it. */
export function inView(e: Element | null): boolean {
  const r = e?.getBoundingClientRect();
  return !!r && r.top > 44 && r.bottom < innerHeight;
}

/** Shows the pointers one after the other. They take no focus and leave at Escape. */
export function showPointers(): void {
  let at = 0;
  const title = h("h2");
  const text = h("p");
  const of = h("span", { class: "of" });
  const skip = h("button", { type: "button", class: "plain" }, t("pointer.skip"));
  const next = h("button", { type: "button" });
  const tip = h("section", { class: "tip", "aria-live": "polite", "data-pointer": "" }, title, text, h("footer", {}, of, skip, next));
  // Panels above the strip grow with what they show.
  const grown = new ResizeObserver(() => put());
  const done = (): void => {
    remember();
    grown.disconnect();
    tip.remove();
    removeEventListener("keydown", escape);
    removeEventListener("resize", put);
    removeEventListener("scroll", put, true);
  };
  const escape = (e: KeyboardEvent): void => {
    if (e.key === "Escape") done();
  };
  const put = (): void => {
    const target = maybe(targets[at]?.[1] ?? "");
    const r = target?.getBoundingClientRect();
    tip.hidden = !r?.width; // another panel is shown, or the job has ended
    if (!r?.width) return;
    const width = 264;
    const x = Math.max(8, Math.min(innerWidth - width - 8, r.left + r.width / 2 - 28));
    const below = r.bottom + tip.offsetHeight + 16 < innerHeight;
    tip.className = `tip ${below ? "below" : "above"}`;
    prop(tip, "--x", `${x}px`);
    prop(tip, "--y", `${below ? r.bottom + 10 : r.top - tip.offsetHeight - 10}px`);
    prop(tip, "--a", `${Math.max(8, Math.min(width - 22, r.left + r.width / 2 - x - 7))}px`);
  };
  const show = (): void => {
    while (at < targets.length && !maybe(targets[at]?.[1] ?? "")) at++;
    const name = targets[at]?.[0];
    if (!name) {
      done();
      return;
    }
    tip.dataset["pointer"] = name;
    title.textContent = t(`pointer.${name}.title`);
    text.textContent = t(`pointer.${name}`);
    of.textContent = t("pointer.of", { n: at + 1, of: targets.length });
    const last = at === targets.length - 1;
    next.textContent = t(last ? "pointer.done" : "pointer.next");
    skip.hidden = last;
    maybe(targets[at]?.[1] ?? "")?.scrollIntoView({ block: "nearest" });
    put();
  };
  skip.addEventListener("click", done);
  next.addEventListener("click", () => {
    at++;
    show();
  });
  addEventListener("keydown", escape);
  addEventListener("resize", put);
  addEventListener("scroll", put, true);
  $("#lab").append(tip);
  for (const e of $$(".main > [data-panel]")) grown.observe(e);
  show();
}
