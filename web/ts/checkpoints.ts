import { $, attr, cls, fit, h, prop, say } from "./dom";
import { duration, lang, num, sized, t } from "./text";
import type { Checkpoint, KnobChange, Picture, SubtaskCheckpoint } from "./types";

const phases = [
  ["startDelayMs", "p-delay"],
  ["alignmentMs", "p-align"],
  ["syncMs", "p-sync"],
  ["asyncMs", "p-async"],
] as const;

/** What the name of a pin takes, in per cent of the row. */
const nameRoom = 22;

/** The last ten checkpoints, each from its trigger: a row a subtask, a part a phase. */
export class Checkpoints {
  private readonly body = $("#ck");
  private readonly facts = $("#ck-facts");
  private readonly why = $("#ck-why");
  private readonly about = $("#ck-about");
  private readonly ids = h("div", { class: "ck-ids", role: "group", "aria-label": t("checkpoints.choose") });
  private readonly rows = h("div", { class: "ck-rows" });
  private readonly pins = h("div", { class: "ck-pins" });
  private readonly none = h("p", { class: "ck-none" });
  private chosen: number | undefined;
  private p: Picture | undefined;

  constructor(private readonly labelOf: (knob: string) => string) {
    this.body.append(h("div", { class: "ck-row" }, h("span"), this.ids), this.rows, this.pins, this.none);
  }

  draw(p: Picture): void {
    this.p = p;
    const all = [...(p.checkpoints ?? [])].reverse(); // oldest first
    this.none.hidden = all.length > 0;
    say(this.none, t(p.knobs["checkpointIntervalMs"] === 0 ? "checkpoints.off" : "checkpoints.none"));
    const span = this.span(p, all);
    say(this.about, t("checkpoints.about", { span: span < 1000 ? `${num(span)} ${t("unit.ms")}` : `${num(span / 1000, 1)} ${t("unit.s")}` }));
    const width = 100 / Math.max(10, all.length);
    const buttons = fit(this.ids, all.length, () => {
      const b = h("button", { type: "button" }, h("span", { class: "vh" }), h("span"), h("span", { class: "dim" }));
      b.addEventListener("click", () => {
        this.chosen = Number(b.dataset["id"]);
        if (this.p) this.draw(this.p);
      });
      return b;
    });
    const focus = all.find((c) => c.id === this.chosen) ?? all.findLast((c) => c.status !== "IN_PROGRESS") ?? all.at(-1);
    all.forEach((c, i) => {
      const b = buttons[i];
      if (!b) return;
      const length = this.length(p, c);
      prop(b, "--l", (i * width).toFixed(2));
      attr(b, "data-id", String(c.id));
      attr(b, "aria-pressed", String(c === focus));
      const [said, id, took] = [...b.children] as [Element, Element, Element];
      say(said, t("checkpoint.say", { status: t(`status.${c.status}`) }));
      say(id, String(c.id));
      say(took, c.status === "FAILED" ? "×" : length < 100 ? `${num(length)}ms` : `${num(length / 1000, 1, true)}s`);
    });
    this.drawRows(p, all, width, span);
    this.drawPins(p.changes ?? [], all, width, span);
    this.drawFacts(p, focus);
  }

  /** What the place of one checkpoint stands for, in ms: the interval, unless all are so short beside it that nothing could be
   * told apart; then a round figure that holds the longest. */
  private span(p: Picture, all: Checkpoint[]): number {
    const interval = Number(p.knobs["checkpointIntervalMs"] ?? 0);
    const longest = Math.max(10, ...all.map((c) => this.length(p, c)));
    if (longest >= interval / 10) return Math.max(interval, longest);
    const tens = 10 ** Math.floor(Math.log10(longest));
    return tens * ([1, 2, 5, 10].find((n) => n * tens >= longest) ?? 10);
  }

  private length(p: Picture, c: Checkpoint): number {
    return c.status === "IN_PROGRESS" ? Math.max(0, p.timeMs - c.triggerMs) : c.endToEndDurationMs;
  }

  private drawRows(p: Picture, all: Checkpoint[], width: number, span: number): void {
    const names: { vertex: string; subtask: number }[] = [];
    if (all.length > 0) for (const v of p.vertices ?? []) for (const s of v.subtasks ?? []) names.push({ vertex: v.id, subtask: s.index });
    const rows = fit(this.rows, names.length, () => h("div", { class: "ck-row" }, h("span", { class: "label" }), h("div", { class: "track", role: "img" })));
    names.forEach((name, r) => {
      const row = rows[r];
      if (!row) return;
      const label = `${name.vertex} ${name.subtask}`;
      say(row.firstElementChild as Element, label);
      const track = row.lastElementChild as HTMLElement;
      const bars = fit(track, all.length, () => h("span", { class: "ckb" }));
      const said: string[] = [];
      all.forEach((c, i) => {
        const bar = bars[i];
        if (!bar) return;
        const part = c.subtasks?.find((s) => s.vertex === name.vertex && s.subtask === name.subtask);
        prop(bar, "--l", (i * width).toFixed(2));
        said.push(`${c.id} ${duration(this.bar(p, c, part, bar, width, span))}`);
      });
      attr(track, "aria-label", t("checkpoint.row", { name: label, list: said.join(", ") }));
    });
  }

  /** One subtask's part. Until it has acknowledged, nothing is known but that it waits. */
  private bar(p: Picture, c: Checkpoint, part: SubtaskCheckpoint | undefined, bar: HTMLElement, width: number, span: number): number {
    const done = part?.acknowledged ?? false;
    const sum = part ? phases.reduce((n, [field]) => n + part[field], 0) : 0;
    const length = done || c.status !== "IN_PROGRESS" ? sum : this.length(p, c);
    cls(bar, done || c.status !== "IN_PROGRESS" ? "ckb" : "ckb going");
    prop(bar, "--w", ((100 * length * width) / 100 / span).toFixed(3));
    const marks = fit(bar, done ? phases.length : 0, () => h("i"));
    phases.forEach(([field, name], i) => {
      const mark = marks[i];
      if (!mark || !part) return;
      cls(mark, name);
      prop(mark, "--v", ((100 * part[field]) / Math.max(1, sum)).toFixed(1));
    });
    return length;
  }

  /** A pin stands where a knob was changed: between the checkpoints around it, in their own time. */
  private drawPins(changes: KnobChange[], all: Checkpoint[], width: number, span: number): void {
    const first = all[0];
    const seen = first ? changes.filter((c) => c.atMs >= first.triggerMs) : [];
    const marks = fit(this.pins, seen.length, () => h("span", {}, h("span", { class: "pin" }), h("span", { class: "pin-name" })));
    const at = seen.map((c) => {
      const i = all.findLastIndex((k) => k.triggerMs <= c.atMs);
      const from = all[i];
      return from ? (i + Math.min(1, (c.atMs - from.triggerMs) / span)) * width : 0;
    });
    seen.forEach((c, i) => {
      const mark = marks[i];
      const x = at[i] ?? 0;
      if (!mark) return;
      const name = mark.lastElementChild as HTMLElement;
      prop(mark.firstElementChild as HTMLElement, "--l", x.toFixed(2));
      prop(name, "--l", x.toFixed(2));
      cls(name, x < 60 ? "pin-name" : "pin-name left");
      // Of names that would cover each other the last one is of the knob that was just turned.
      const next = at[i + 1] ?? Infinity;
      name.hidden = next - x < (x < 60 ? nameRoom : 0) + (next < 60 ? 0 : nameRoom);
      say(name, this.labelOf(c.name));
    });
  }

  private drawFacts(p: Picture, c: Checkpoint | undefined): void {
    this.facts.hidden = !c;
    this.why.hidden = true;
    if (!c) return;
    let slow: SubtaskCheckpoint | undefined;
    const sum = (s: SubtaskCheckpoint): number => s.startDelayMs + s.alignmentMs + s.syncMs + s.asyncMs;
    for (const s of c.subtasks ?? []) if (s.acknowledged && (!slow || sum(s) > sum(slow))) slow = s;
    const rows: [string | undefined, string, string][] = [["", t("checkpoint.n", { n: c.id }), duration(this.length(p, c))]];
    if (slow) {
      rows.push(["p-delay", t("phase.startDelay"), duration(slow.startDelayMs)], ["p-align", t("phase.alignment"), duration(slow.alignmentMs)],
        ["p-sync", t("phase.sync"), duration(slow.syncMs)], ["p-async", t("phase.async"), duration(slow.asyncMs)],
        [undefined, t("ck.slowest"), `${slow.vertex} ${slow.subtask}`], [undefined, t("ck.state"), sized(c.stateBytes)]);
    } else rows.push([undefined, t(`status.${c.status}`), ""]);
    const cells = fit(this.facts, rows.length * 2, (i) => (i % 2 === 0 ? h("dt", {}, h("i"), h("span")) : h("dd")) as HTMLElement);
    rows.forEach(([mark, name, value], i) => {
      const dt = cells[2 * i];
      const dd = cells[2 * i + 1];
      if (!dt || !dd) return;
      const sw = dt.firstElementChild as HTMLElement;
      cls(sw, mark ? `sw ${mark}` : "");
      sw.hidden = !mark;
      say(dt.lastElementChild as Element, name);
      say(dd, value);
      cls(dt, i === 0 ? "tot" : "");
      cls(dd, i === 0 ? "tot" : "");
    });
    const text = p.explain?.[String(c.id)]?.[lang as "en" | "zh"];
    this.why.hidden = !text;
    if (text) say(this.why, text);
  }
}
