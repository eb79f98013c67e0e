import { $, $$, attr, h, handed, icon, maybe, say } from "./dom";
import { Editor } from "./editor";
import { Runs } from "./runs";
import { preferences } from "./preferences";
import { exchange, exerciseProgress, keepExercise } from "./progress";
import { newId } from "./resultid";
import { num, t } from "./text";
import type { KnobValue } from "./types";

interface Page {
  id: string;
  kind: "predict" | "live" | "code";
  lab: string;
  maxPoints: number;
  starter?: string;
  answered?: Record<string, KnobValue>;
}

interface Step {
  waiting?: boolean;
  building?: boolean;
  index: number;
  of: number;
  name?: string;
  seed?: number;
}

interface Check {
  name: string;
  hidden: boolean;
  status: string;
  points: number;
  maxPoints: number;
  expected?: string;
  seen?: string;
  where?: string;
  try?: string;
  command?: string;
}

interface Result {
  status: string;
  points: number;
  maxPoints: number;
  problem?: string;
  checks: Check[];
}

interface Line {
  step?: Step;
  result?: Result;
  /** In a class: whether the server has entered the result for the learner. */
  kept?: boolean;
}

const page = handed<Page>("exercise");
const draftKey = `weir.answer.${page.id}`;
const marks: Record<string, string> = { passed: "tick", failed: "x", "not run": "ring", "not judged": "half", error: "half" };

/** The page of an exercise: the learner's work is handed in, and what the checker says comes line by line. */
class ExercisePage {
  private readonly button = $<HTMLButtonElement>("#check");
  private readonly cancelButton = $<HTMLButtonElement>("#cancel");
  private readonly said = $("#check-said");
  private readonly bar = $<HTMLProgressElement>("#check-bar");
  private readonly problem = $("#check-problem");
  private readonly rows = $$("#checks > li");
  private readonly editor = page.kind === "code" ? new Editor((text) => this.typed(text)) : undefined;
  private readonly runs = page.kind === "live" ? new Runs(page.lab) : undefined;
  private readonly kept = exerciseProgress(page.id);
  private running: AbortController | undefined;
  private record: string | undefined;

  constructor() {
    preferences();
    this.button.addEventListener("click", () => void this.check());
    this.cancelButton.addEventListener("click", () => this.running?.abort());
    if (this.editor && this.kept.core) this.editor.text = this.kept.core;
    maybe("#core-reset")?.addEventListener("click", () => {
      if (!confirm(t("code.reset.sure")) || !this.editor) return;
      this.editor.text = page.starter ?? "";
      this.typed(this.editor.text);
    });
    for (const d of $$<HTMLDetailsElement>("[data-hint]")) {
      d.addEventListener("toggle", () => {
        const n = Number(d.dataset["hint"]);
        if (!d.open || n <= this.kept.hints) return;
        this.kept.hints = n;
        keepExercise(page.id, this.kept);
      });
    }
    const file = maybe<HTMLInputElement>("#record");
    file?.addEventListener("change", () => void this.takeRecord(file));
    if (page.answered) this.lock(page.answered);
    else if (page.kind === "predict") this.draft();
    this.points(this.kept.points, this.kept.status, "checks.best");
    void exchange().then(() => this.adopt()).catch(() => undefined);
  }

  /** Takes what the server knew and this browser did not. What was begun here stays. */
  private adopt(): void {
    if (this.running) return;
    const known = exerciseProgress(page.id);
    const core = this.kept.core ?? known.core;
    Object.assign(this.kept, known, core ? { core } : {});
    if (this.editor && core && this.editor.text === page.starter) this.editor.text = core;
    this.points(this.kept.points, this.kept.status, "checks.best");
  }

  private typed(text: string): void {
    this.kept.core = text;
    keepExercise(page.id, this.kept);
  }

  private async takeRecord(input: HTMLInputElement): Promise<void> {
    const f = input.files?.[0];
    if (!f) return;
    const bytes = new Uint8Array(await f.arrayBuffer());
    let binary = "";
    for (const b of bytes) binary += String.fromCharCode(b);
    this.record = btoa(binary);
    say($("#record-name"), f.name);
    this.runs?.leave();
  }

  /** What is handed in. */
  private work(): Record<string, unknown> {
    if (this.editor) return { core: this.editor.text };
    if (page.kind === "predict") return { answer: page.answered ?? this.answer() };
    const run = this.runs?.chosen;
    return run ? { session: run } : this.record ? { record: this.record } : {};
  }

  private answer(): Record<string, KnobValue> {
    const out: Record<string, KnobValue> = {};
    for (const field of $$("#answer [data-field]")) {
      const name = field.dataset["field"] ?? "";
      const number = field.querySelector<HTMLInputElement>("input[type=number]");
      const chosen = field.querySelector<HTMLInputElement>("input:checked");
      if (number && number.value !== "") out[name] = Number(number.value);
      else if (chosen) out[name] = chosen.value;
    }
    return out;
  }

  private fill(answer: Record<string, KnobValue>): void {
    for (const field of $$("#answer [data-field]")) {
      const value = answer[field.dataset["field"] ?? ""];
      for (const i of field.querySelectorAll<HTMLInputElement>("input")) {
        if (i.type === "radio") i.checked = i.value === value;
        else i.value = String(value ?? "");
      }
    }
  }

  /** What is not committed yet outlasts a change of the page: of its language, or for the spotlight. */
  private draft(): void {
    const form = $<HTMLFormElement>("#answer");
    this.fill(JSON.parse(sessionStorage.getItem(draftKey) ?? "{}") as Record<string, KnobValue>);
    form.addEventListener("input", () => sessionStorage.setItem(draftKey, JSON.stringify(this.answer())));
    // Enter in a field must not commit what is only being typed, nor load the page anew.
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      this.button.focus();
    });
  }

  /** What is missing of the work before it can be judged, and where to give it. */
  private missing(): [string, HTMLElement] | undefined {
    if (this.editor && this.editor.text.trim() === "") return [t("code.empty"), $("#core-reset")];
    if (page.kind === "live" && Object.keys(this.work()).length === 0) return [t("live.missing"), $("#open-lab")];
    if (page.kind !== "predict" || page.answered) return undefined;
    const answer = this.answer();
    const field = $$("#answer [data-field]").find((f) => answer[f.dataset["field"] ?? ""] === undefined);
    return field && [t("predict.missing", { field: $("legend, label", field).textContent ?? "" }), $("input", field)];
  }

  /** The first answer counts: it is shown, and cannot be changed. */
  private lock(answer: Record<string, KnobValue>): void {
    page.answered = answer;
    sessionStorage.removeItem(draftKey);
    this.fill(answer);
    for (const i of $$<HTMLInputElement>("#answer input")) i.disabled = true;
    $("#answer").classList.add("locked");
    say($("#predict-note"), t("predict.given"));
    say($("#check-word"), t("check.run.again"));
  }

  private async check(): Promise<void> {
    if (this.running) return;
    const missing = this.missing();
    if (missing) {
      say(this.said, "");
      this.fail(missing[0]);
      missing[1].focus();
      return;
    }
    const work = this.work();
    const ctl = new AbortController();
    this.running = ctl;
    this.busy(true);
    this.fail("");
    for (const row of this.rows) this.row(row, "", undefined);
    // In a class the result has its id before it is sent, so that it counts once whoever enters it.
    const id = document.body.classList.contains("member") ? newId() : "";
    try {
      const r = await fetch(`/api/v1/exercises/${page.id}/checks?lang=${document.documentElement.lang}${id ? `&id=${id}` : ""}`, {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(work), signal: ctl.signal,
      });
      if (!r.ok || !r.body) {
        const p = (await r.json().catch(() => ({}))) as { detail?: string };
        throw new Error(p.detail ?? `${r.status} ${r.statusText}`);
      }
      const line = await this.read(r.body);
      if (!line?.result) throw new Error(t("check.gone"));
      this.finish(line.result, work);
      if (line.kept) say(this.said, t("class.kept", { result: this.said.textContent ?? "" }));
      if (id && !line.result.problem) document.dispatchEvent(new CustomEvent("weir-result", { detail: { id, exercise: page.id, result: line.result, kept: line.kept, work } }));
    } catch (e) {
      if (ctl.signal.aborted) say(this.said, t("check.cancelled"));
      else this.fail(e instanceof TypeError ? t("check.gone") : e instanceof Error ? e.message : String(e));
    }
    this.running = undefined;
    this.busy(false);
  }

  private async read(body: ReadableStream<Uint8Array>): Promise<Line | undefined> {
    const reader = body.pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return undefined;
      rest += value;
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const l of lines) {
        if (!l) continue;
        const line = JSON.parse(l) as Line;
        if (line.result) return line;
        if (line.step) this.step(line.step);
      }
    }
  }

  private step(s: Step): void {
    this.bar.max = s.of;
    this.bar.value = s.building || s.waiting ? 0 : s.index;
    if (s.waiting) say(this.said, t("check.waiting"));
    else if (s.building) say(this.said, t("check.building"));
    else {
      say(this.said, t(s.seed ? "check.step.seed" : "check.step", { n: s.index + 1, of: s.of, seed: s.seed ?? 0 }));
      this.rows.forEach((row, i) => attr(row, "aria-current", i === s.index ? "step" : null));
    }
  }

  private finish(r: Result, work: Record<string, unknown>): void {
    r.checks.forEach((c, i) => {
      const row = this.rows[i];
      if (row) this.row(row, c.status, c);
    });
    this.fail(r.problem ?? "");
    say(this.said, t("exercise.result", { status: t(`status.${r.status}`), points: num(r.points), max: num(r.maxPoints) }));
    const answer = work["answer"] as Record<string, KnobValue> | undefined;
    if (answer && !r.problem) this.lock(answer);
    Object.assign(this.kept, exerciseProgress(page.id));
    this.kept.tries++;
    if (r.points > this.kept.points || r.status === "passed" || !this.kept.status) {
      Object.assign(this.kept, { status: r.status, points: r.points, maxPoints: r.maxPoints });
    }
    if (answer && !r.problem && !this.kept.answer) Object.assign(this.kept, { answer, answeredMs: Date.now() });
    keepExercise(page.id, this.kept);
    this.points(r.points, r.status);
  }

  private row(row: HTMLElement, status: string, c: Check | undefined): void {
    row.dataset["state"] = status;
    attr(row, "aria-current", null);
    $(".mark", row).replaceChildren(icon(marks[status] ?? "ring"));
    say($("[data-word]", row), status ? t(`status.${status}`) : "");
    const name = $(".name", row);
    if (c?.name && c.hidden && !name.textContent?.includes(c.name)) name.textContent = t("check.hidden.named", { name: c.name });
    const dl = $("dl", row);
    const parts: [string, string | undefined][] = [["expected", c?.expected], ["seen", c?.seen], ["where", c?.where], ["try", c?.try], ["again", c?.command]];
    dl.replaceChildren(...parts.flatMap(([k, v]) => (v ? [h("dt", {}, t(`check.${k}`)), this.told(k, v)] : [])));
    dl.hidden = dl.childElementCount === 0;
  }

  /** What a check says; a place in core.go leads to it. */
  private told(kind: string, text: string): HTMLElement {
    return h("dd", kind === "again" ? { class: "mono" } : {}, ...(kind === "where" ? this.linked(text) : [text]));
  }

  /** A text in which lines of core.go, such as core.go:3:14, and its functions lead into the editor. */
  private linked(text: string): (Node | string)[] {
    const editor = this.editor;
    if (!editor) return [text];
    return text.split(/(core\.go:\d+(?::\d+)?|\b[A-Z]\w+\b)/).map((part) => {
      const line = /^core\.go:(\d+)/.exec(part);
      const at = line ? Number(line[1]) : /^[A-Z]\w+$/.test(part) ? editor.lineOf(part) : 0;
      if (at === 0) return part;
      const go = h("button", { type: "button", class: "link" }, part);
      go.addEventListener("click", () => editor.goTo(at));
      return go;
    });
  }

  private points(points: number, status: string | undefined, how = "checks.points"): void {
    say($("#check-points"), status ? t(how, { points: num(points), max: num(page.maxPoints) }) : t("exercise.state.none", { max: num(page.maxPoints) }));
  }

  private fail(text: string): void {
    this.problem.hidden = text === "";
    this.problem.replaceChildren(...(text ? [icon("x"), h("span", {}, ...this.linked(text))] : []));
  }

  private busy(on: boolean): void {
    this.button.disabled = on;
    this.cancelButton.hidden = this.bar.hidden = !on;
    if (on) {
      this.bar.value = 0;
      say(this.said, "");
      this.cancelButton.focus();
    } else if (document.activeElement === document.body || document.activeElement === this.cancelButton) this.button.focus();
  }
}

new ExercisePage();
