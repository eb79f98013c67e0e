import * as api from "./api";
import { $$, h, maybe } from "./dom";
import { preferences } from "./preferences";
import { progress } from "./progress";

preferences();

for (const e of $$(".proe")) {
  const p = progress(e.dataset["lab"] ?? "");
  for (const [step, letter] of [["predict", "P"], ["run", "R"], ["observe", "O"], ["explain", "E"]] as const) {
    const state = p.done.includes(step) ? "d" : p.step === step && p.done.length > 0 ? "n" : "";
    e.append(h("i", { class: state, "aria-hidden": "true" }, letter));
  }
  e.append(h("span", { class: "vh" }, ` ${p.done.length} / 4`));
}

for (const b of $$("[data-end]")) {
  b.addEventListener("click", () => {
    const row = b.closest("li");
    void api.end(b.dataset["end"] ?? "").catch(() => undefined).then(() => {
      row?.remove();
      if (!maybe(".runs li")) location.reload();
    });
  });
}

// A page that the browser kept from before shows what ran then.
addEventListener("pageshow", (e) => {
  if (e.persisted) location.reload();
});
