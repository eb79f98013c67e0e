import { ask, ClassProblem } from "./classapi";
import type { Me } from "./classtypes";
import { $, say } from "./dom";
import { preferences } from "./preferences";
import { forget } from "./progress";
import { num, pageAt, t } from "./text";

preferences();

const form = $<HTMLFormElement>("#join");
const go = $<HTMLButtonElement>("#j-go");
const refused = $("#j-refused");
const lastKey = "weir.class.person";

function refuse(field: string, text: string): void {
  refused.hidden = false;
  say(refused, text);
  const input = form.querySelector<HTMLInputElement>(`[name="${field}"]`);
  for (const i of form.querySelectorAll("input")) i.removeAttribute("aria-invalid");
  input?.setAttribute("aria-invalid", "true");
  input?.focus();
}

function why(e: unknown): [string, string] {
  if (!(e instanceof ClassProblem)) return ["", t("join.away")];
  if (e.status === 403) return ["code", t("join.wrong")];
  if (e.status === 429) return ["code", t("join.slow", { s: num(Math.ceil(e.retryAfterMs / 1000) || 30) })];
  if (e.status === 409 || e.status === 410 || e.status === 423) return ["", t("join.closed")];
  if (e.status >= 500) return ["", t("join.away")];
  if (e.status === 422 && (e.field === "name" || e.field === "alias")) return [e.field, t("join.name.bad")];
  return [e.field, e.reason || e.message];
}

form.addEventListener("submit", (e) => {
  e.preventDefault();
  const value = (name: string): string => (new FormData(form).get(name) as string).trim();
  if (!value("code")) return refuse("code", t("join.code.missing"));
  if (!value("name")) return refuse("name", t("join.name.missing"));
  go.disabled = true;
  refused.hidden = true;
  void join(value("code"), value("name"), value("alias"));
});

async function join(code: string, name: string, alias: string): Promise<void> {
  try {
    const me = await ask<Me>("POST", "class/join", { code, name, ...(alias ? { alias } : {}) });
    // What another learner of this device had done is not this one's.
    const last = localStorage.getItem(lastKey);
    if (last && last !== me.id) forget();
    localStorage.setItem(lastKey, me.id ?? "");
    location.replace(pageAt("/class"));
  } catch (e) {
    refuse(...why(e));
    go.disabled = false;
  }
}
