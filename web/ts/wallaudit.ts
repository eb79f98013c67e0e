import { ask, ownZone } from "./classapi";
import { table } from "./classtable";
import type { Audited, Question } from "./classtypes";
import { exact } from "./due";
import { h } from "./dom";
import { knows, t } from "./text";

/** What the words of the log stand for. */
export interface Names {
  exercise: (id: string) => string;
  lab: (id: string) => string;
  session: (id: string) => string;
}

const shortId = (id: string): string => (id.length > 10 ? `${id.slice(0, 8)}…` : id);

/** A line of the log as a sentence. What a newer server notes comes in its own words. */
function sentence(a: Audited, names: Names, people: Record<string, string>, questions: Map<string, string>): string {
  const about = a.about ?? "";
  const person = (id: string): string => (id === "(deleted)" ? t("audit.gone") : (people[id] ?? shortId(id)));
  const [first = "", second = ""] = about.split(/ (?:into|for) /);
  const parts: Record<string, string> = { about };
  switch (a.what) {
    case "spotlight":
      if (!about) return t("audit.did.unspot");
      parts["about"] = names.session(about);
      break;
    case "send lab":
      if (!about) return t("audit.did.unsend");
      parts["about"] = names.lab(about);
      break;
    case "ask":
    case "close question":
      parts["about"] = questions.get(about) ?? shortId(about);
      break;
    case "merge":
      Object.assign(parts, { from: person(first), to: person(second) });
      break;
    case "extension":
      Object.assign(parts, { about: names.exercise(first), name: person(second) });
      break;
    case "deadline":
      parts["about"] = names.exercise(about);
      break;
    case "drive":
      parts["about"] = names.session(about);
      break;
    case "change class":
      parts["about"] = about.split(", ").map((x) => (knows(`audit.part.${x.replace(" ", "-")}`) ? t(`audit.part.${x.replace(" ", "-")}`) : x)).join(t("audit.and"));
      break;
    case "rename":
    case "change alias":
    case "hand":
    case "renew link":
      parts["about"] = person(about);
  }
  const key = `audit.did.${a.what.replace(/ /g, "-")}`;
  return knows(key) ? t(key, parts) : `${a.what} ${about}`.trim();
}

/** The audit log: when by the reader's clocks, who, and what in a sentence. */
export async function auditTable(names: Names): Promise<HTMLElement> {
  const [{ audit, names: people }, { questions }] = await Promise.all([
    ask<{ audit: Audited[] | null; names: Record<string, string> }>("GET", "class/audit"), ask<{ questions: Question[] | null }>("GET", "class/questions"),
  ]);
  const texts = new Map((questions ?? []).map((q) => [q.id, q.text]));
  const rows = (audit ?? []).map((a) => [h("time", { datetime: a.at }, exact(a.at, ownZone)), a.who === "instructor" ? t("wall.instructor") : a.who, sentence(a, names, people, texts)]);
  if (rows.length === 0) return h("p", { class: "mid" }, t("audit.none"));
  const e = table([t("audit.at"), t("audit.who"), t("audit.what")], rows, t("wall.audit"));
  e.classList.add("caudit");
  return e;
}
