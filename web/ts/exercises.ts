import { $, $$, attr, handed, icon, maybe, say } from "./dom";
import { ownZone } from "./classapi";
import type { Member } from "./classtypes";
import { away, dueForMe, exact, whenLate } from "./due";
import { preferences } from "./preferences";
import { everything, exchange, exerciseProgress, type AllProgress } from "./progress";
import { num, t } from "./text";

preferences();

/** Writes beside each exercise what came of it, and the sum over all. */
function show(): void {
  let passed = 0;
  let points = 0;
  let max = 0;
  const rows = $$("[data-exercise]");
  for (const row of rows) {
    const p = exerciseProgress(row.dataset["exercise"] ?? "");
    const state = $(".exstate", row);
    const most = Number(state.dataset["max"]);
    max += most;
    points += p.points;
    if (p.status === "passed") passed++;
    state.dataset["state"] = p.status ?? "";
    const text = p.status ? t("exercise.state", { status: t(`status.${p.status}`), points: num(p.points), max: num(most) }) : t("exercise.state.none", { max: num(most) });
    state.replaceChildren(icon(p.status === "passed" ? "tick" : p.status ? "half" : "ring"), text);
  }
  say($("#progress-sum"), t("progress.sum", { passed: num(passed), of: num(rows.length), points: num(points), max: num(max) }));
}

$("#progress-export").addEventListener("click", () => {
  const url = URL.createObjectURL(new Blob([JSON.stringify(everything(), null, 1)], { type: "application/json" }));
  const a = document.createElement("a");
  a.href = url;
  a.download = "weir-progress.json";
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
});

const file = $<HTMLInputElement>("#progress-import");
file.addEventListener("change", () => {
  const chosen = file.files?.[0];
  if (chosen) void take(chosen);
  file.value = "";
});

async function take(chosen: File): Promise<void> {
  try {
    const all = read(await chosen.text());
    await exchange(); // what is only here must not be lost to what is older there
    await exchange(all);
    show();
    say($("#progress-said"), t("progress.imported", { n: Object.keys(all.labs ?? {}).length, m: Object.keys(all.exercises ?? {}).length }));
  } catch (e) {
    say($("#progress-said"), t("progress.refused", { why: e instanceof Error ? e.message : String(e) }));
  }
}

function read(text: string): AllProgress {
  let all: unknown;
  try {
    all = JSON.parse(text);
  } catch {
    throw new Error(t("progress.notJSON"));
  }
  if (typeof all !== "object" || all === null || !("version" in all) || !("labs" in all) || !("exercises" in all)) throw new Error(t("progress.notProgress"));
  return all as AllProgress;
}

/** In a class: when each is due, by the reader's clocks. */
async function showDue(): Promise<void> {
  if (document.hidden) return;
  const all = await dueForMe(handed<Member>("member").kind === "learner");
  for (const row of $$("[data-exercise]")) {
    const d = all.find((x) => x.exercise === row.dataset["exercise"]);
    const e = $(".exdue", row);
    e.hidden = !d;
    attr(e, "data-over", d?.overdue ? "" : null);
    if (d) say(e, t(d.overdue ? "due.list.over" : "due.list", { at: exact(d.due, ownZone), away: away(d.due), rule: whenLate(d) }));
  }
}

if (maybe("#member")) {
  // What cannot be had now shows with the next look: the strip says that the class is away.
  const look = (): void => void showDue().catch(() => undefined);
  look();
  setInterval(look, 60_000);
  document.addEventListener("visibilitychange", look);
}

show();
void exchange().then(show).catch(() => undefined);
