import { Problem } from "./api";
import { t } from "./text";

/** A refused call of the class, with how long the server asks to wait. */
export class ClassProblem extends Problem {
  constructor(status: number, field: string, reason: string, detail: string, readonly retryAfterMs: number) {
    super(status, field, reason, detail);
  }
}

/** Calls the class's part of the API. */
export async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const r = await fetch(`/api/v1/${path}`, {
    method, ...(body === undefined ? {} : { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }),
  });
  const text = await r.text();
  let answer: unknown;
  try {
    answer = text ? JSON.parse(text) : undefined;
  } catch {
    answer = undefined; // a proxy's own page: the status has to do
  }
  if (r.ok) return answer as T;
  const p = (answer ?? {}) as { field?: string; reason?: string; detail?: string };
  const after = Number(r.headers.get("Retry-After"));
  throw new ClassProblem(r.status, p.field ?? "", p.reason ?? "", p.detail ?? `${r.status} ${r.statusText}`, after > 0 ? after * 1000 : 0);
}

/** Why a call failed, in the reader's language where the status says all; otherwise as the server has it. */
export function reason(e: unknown): string {
  if (e instanceof TypeError) return t("problem.net"); // fetch found no server
  if (!(e instanceof Problem)) return e instanceof Error ? e.message : String(e);
  if (e.status >= 502) return t("problem.store");
  if (e.status === 429 && !e.field) return t("problem.slow");
  if (e.status === 409 && e.field === "class") return t("problem.closed");
  if (e.status === 409 && e.field === "deadline") return t("problem.late");
  return e.message;
}

/** Puts a text on the clipboard, or marks it in its field: on plain HTTP browsers have no clipboard for pages. */
export async function copy(field: HTMLInputElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(field.value);
    return true;
  } catch {
    field.focus();
    field.select();
    return document.execCommand("copy");
  }
}

/** A moment as people of a zone write it. */
export function moment(iso: string, zone?: string): string {
  const o: Intl.DateTimeFormatOptions = { dateStyle: "medium", timeStyle: "short", ...(zone ? { timeZone: zone } : {}) };
  try {
    return new Intl.DateTimeFormat(document.documentElement.lang, o).format(new Date(iso));
  } catch {
    return iso; // a zone that this browser does not know
  }
}

export const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
