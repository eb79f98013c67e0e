import { ask, moment, ownZone } from "./classapi";
import type { Deadline, Result } from "./classtypes";
import { h, icon } from "./dom";
import { lang, num, t } from "./text";
import { offset } from "./zone";

/** A moment as the clocks of a zone show it, with the day of the week and the zone's distance from UTC, so that it cannot be
 * read otherwise. */
export function exact(iso: string, zone: string): string {
  const o: Intl.DateTimeFormatOptions = {
    weekday: "short", year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: zone, timeZoneName: "shortOffset",
  };
  try {
    return new Intl.DateTimeFormat(lang, o).format(new Date(iso));
  } catch {
    return moment(iso); // a zone that this browser does not know
  }
}

/** Whether the reader's clocks show another time then than the class's. Zones of different names may show the same. */
export function elsewhere(iso: string, zone: string): boolean {
  const at = Date.parse(iso);
  try {
    return offset(at, zone) !== offset(at, ownZone);
  } catch {
    return true;
  }
}

/** How far off a moment is: in 5 days, 20 minutes ago. */
export function away(iso: string): string {
  const ms = Date.parse(iso) - Date.now();
  const f = new Intl.RelativeTimeFormat(lang);
  const minutes = ms / 60_000;
  if (Math.abs(minutes) < 120) return f.format(Math.trunc(minutes), "minute");
  if (Math.abs(minutes) < 48 * 60) return f.format(Math.trunc(minutes / 60), "hour");
  return f.format(Math.trunc(minutes / 60 / 24), "day");
}

export const whenLate = (d: Deadline): string => (d.penalty === 0 ? t("due.free") : d.penalty >= 100 ? t("due.none") : t("due.penalty", { n: num(d.penalty) }));

/** A deadline of the reader's own, and whether it is over with nothing handed in. */
export interface Due extends Deadline {
  overdue: boolean;
}

/** What is due for the reader: what comes next first, what is over last. An instructor hands nothing in. */
export async function dueForMe(learner: boolean): Promise<Due[]> {
  const [{ deadlines }, { results }] = await Promise.all([
    ask<{ deadlines: Deadline[] | null }>("GET", "class/deadlines"),
    learner ? ask<{ results: Result[] | null }>("GET", "class/results") : { results: null },
  ]);
  const handedIn = new Set((results ?? []).map((r) => r.exercise));
  const over = (d: Deadline): boolean => Date.parse(d.due) < Date.now();
  return (deadlines ?? []).map((d) => ({ ...d, overdue: learner && over(d) && !handedIn.has(d.exercise) }))
    .sort((a, b) => Number(over(a)) - Number(over(b)) || Date.parse(a.due) - Date.parse(b.due));
}

/** When something is due: by the class's clocks, by the reader's where they show another time, and how far off it is. */
export function due(iso: string, zone: string, overdue = false): HTMLElement {
  const e = h("span", { class: "due" }, h("time", { datetime: iso }, exact(iso, zone)), " ", h("span", { class: "dim" }, away(iso)));
  if (overdue) e.append(" ", h("b", { class: "overdue" }, icon("x"), t("due.over")));
  if (elsewhere(iso, zone)) e.append(" ", h("span", { class: "here" }, t("due.elsewhere", { at: exact(iso, ownZone) })));
  return e;
}
