import { ask, copy, ownZone, reason } from "./classapi";
import type { Me, Member, Result, Score } from "./classtypes";
import { $, h, handed, icon, say } from "./dom";
import { due, dueForMe, exact, whenLate } from "./due";
import { preferences } from "./preferences";
import { forget } from "./progress";
import type { Waiting } from "./results";
import { table } from "./classtable";
import { knows, num, pageAt, t } from "./text";

preferences();

const member = handed<Member>("member");
const titleOf = (id: string): string => member.exercises[id] ?? id;
const exercise = (id: string): HTMLElement => h("a", { href: pageAt(`/exercises/${id}`) }, titleOf(id));
const link = $<HTMLInputElement>("#h-link");
let zone = "UTC";
const refused = $("#h-refused");

function refuse(e: unknown): void {
  refused.hidden = false;
  say(refused, reason(e));
}

function showMe(me: Me): void {
  say($("#h-class"), me.class.name);
  say($("#h-name"), t("mine.hello", { name: me.name ?? "" }));
  link.value = me.link ?? "";
  $("#h-link-h").parentElement?.toggleAttribute("hidden", !me.link);
  // On an own machine the class is elsewhere: its address is that of the link.
  const at = me.link ? new URL(me.link, location.href).origin : location.origin;
  say($("#h-submit"), `labserver check all --dir work --submit ${at} --token ${me.token ?? "T"}`);
  $<HTMLInputElement>("#h-alias-in").value = me.alias ?? "";
  $("#h-score").hidden = !me.class.scoreboard;
  // What cannot be had now stays empty; the strip says that the class is away.
  if (me.class.scoreboard) {
    showScore().catch(refuse);
    // What others hand in shows too; the server itself counts every 2 s.
    setInterval(() => { if (!document.hidden) showScore().catch(refuse); }, 5000);
  }
  zone = me.class.zone;
  showDeadlines().catch(refuse);
}

async function showDeadlines(): Promise<void> {
  const rows = (await dueForMe(true)).map((d) => [exercise(d.exercise), due(d.due, zone, d.overdue), whenLate(d)]);
  const heads = [t("wall.exercise"), t("due.at"), t("due.late")];
  $("#h-due").replaceChildren(rows.length > 0 ? table(heads, rows) : h("p", { class: "mid" }, t("due.no")));
}

async function showResults(): Promise<void> {
  const { results } = await ask<{ results: Result[] | null }>("GET", "class/results");
  const rows = (results ?? []).map((r) => [
    exercise(r.exercise), knows(`status.${r.status}`) ? t(`status.${r.status}`) : r.status,
    `${num(r.points)} / ${num(r.maxPoints)}`, t(`judged.${r.judged}`), r.late ? t("judged.late") : "", exact(r.received, ownZone),
  ]);
  const heads = ["wall.exercise", "results.status", "results.points", "results.judged", "results.late", "results.at"].map((k) => t(k));
  $("#h-results").replaceChildren(rows.length > 0 ? table(heads, rows) : h("p", { class: "mid" }, t("results.no")));
}

async function showScore(): Promise<void> {
  const { rows } = await ask<{ rows: Score[] | null }>("GET", "class/scoreboard");
  $("#h-score-rows").replaceChildren(...(rows ?? []).map((s) => h("li", s.me ? { class: "me", "aria-current": "true" } : {},
    h("span", {}, s.alias), h("span", { class: "mid" }, t("score.passed", { n: num(s.passed) })), h("b", {}, num(s.points)))));
}

/** What waits to be sent, and what was refused, with why. */
function showWaiting(all: Waiting[]): void {
  $("#h-waiting").replaceChildren(...all.map((w) => {
    const li = h("li", {}, icon(w.refused ? "x" : "half"), h("span", {}, h("b", {}, titleOf(w.exercise)), " ", w.refused ? t("waiting.refused", { why: w.refused }) : t("waiting.open")));
    if (w.refused) {
      for (const act of ["again", "drop"]) {
        const b = h("button", { type: "button", class: "small" }, t(`waiting.${act}`));
        b.addEventListener("click", () => document.dispatchEvent(new CustomEvent(`weir-${act}`, { detail: w.id })));
        li.append(b);
      }
    }
    return li;
  }));
}

document.addEventListener("weir-waiting", (e) => showWaiting((e as CustomEvent<Waiting[]>).detail));
document.addEventListener("weir-kept", () => {
  showResults().catch(refuse);
  showDeadlines().catch(refuse);
});

$("#h-copy").addEventListener("click", () => {
  void copy(link).then((ok) => say($("#h-copy"), t(ok ? "mine.copied" : "mine.copy")));
});
$("#h-alias").addEventListener("submit", (e) => {
  e.preventDefault();
  const said = $("#h-alias-said");
  ask<Me>("PATCH", "class/me", { alias: $<HTMLInputElement>("#h-alias-in").value.trim() }).then(
    () => {
      say(said, t("mine.alias.kept"));
      showScore().catch(refuse);
    },
    (err: unknown) => say(said, reason(err)),
  );
});

async function away(method: string, path: string, question: string): Promise<void> {
  if (!confirm(t(question))) return;
  try {
    await ask(method, path);
    forget();
    location.replace(pageAt("/class"));
  } catch (e) {
    refuse(e);
  }
}

$("#h-leave").addEventListener("click", () => void away("POST", "class/leave", "mine.leave.sure"));
$("#h-delete").addEventListener("click", () => void away("DELETE", "class/me", "mine.delete.sure"));

ask<Me>("GET", "class/me").then(showMe, refuse);
showResults().catch(refuse);
