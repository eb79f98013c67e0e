import * as api from "./api";
import { $, $$, h, maybe, say } from "./dom";
import { preferences } from "./preferences";
import { exchange, exerciseProgress, progress } from "./progress";
import { num, t } from "./text";

preferences();

const steps = [["predict", "P"], ["run", "R"], ["observe", "O"], ["explain", "E"]] as const;

/** Marks in each row which steps are done and how many exercises are passed, and sums both up. */
function show(): void {
  const labs = $$(".proe");
  let done = 0;
  for (const e of labs) {
    const p = progress(e.dataset["lab"] ?? "");
    if (steps.every(([step]) => p.done.includes(step))) done++;
    const marks = steps.map(([step, letter]) => {
      const state = p.done.includes(step) ? "d" : p.step === step && p.done.length > 0 ? "n" : "";
      return h("i", { class: state, "aria-hidden": "true" }, letter);
    });
    e.replaceChildren(...marks, h("span", { class: "vh" }, t("home.steps", { n: p.done.length })));
  }
  const passed = (ids: string[]): number => ids.filter((id) => exerciseProgress(id).status === "passed").length;
  for (const e of $$("[data-exercises]")) {
    const ids = (e.dataset["exercises"] ?? "").split(" ");
    const n = passed(ids);
    e.dataset["state"] = n === ids.length ? "passed" : "";
    say(e, t("home.exercises", { n, of: ids.length }));
  }
  const sum = maybe("#far-exercises");
  if (!sum) return;
  const all = (sum.dataset["all"] ?? "").split(" ");
  say($("#far-labs"), t("home.progress.labs", { n: num(done), of: num(labs.length) }));
  say(sum, t("home.progress.exercises", { n: num(passed(all)), of: num(all.length) }));
}

show();
void exchange().then(show).catch(() => undefined);

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
