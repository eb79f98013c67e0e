import * as api from "./api";
import { $, $$, attr, cls, fit, h, prop, say } from "./dom";
import { num, t } from "./text";
import type { KnobValue, Picture } from "./types";

const mostLabels = 40; // keys named on the ruler; beyond that only their ticks are drawn
const mostPlaced = 1000;

type Ranges = [number, number][];

/** The key-group ruler: whose each group is, where the keys fall, and what another parallelism would move. */
export class Ruler {
  private readonly root = $("#ruler");
  private readonly from = $("#keys-from");
  private readonly list = $<HTMLInputElement>("#keys-list");
  private readonly file = $<HTMLInputElement>("#keys-file");
  private readonly columnChoice = $<HTMLSelectElement>("#keys-column");
  private readonly about = $("#keys-input");
  private readonly run = $<HTMLButtonElement>("#keys-run");
  private readonly problem = $("#keys-error");
  private readonly compare = $<HTMLInputElement>("#ruler-compare");
  private readonly moved = $("#ruler-moved");
  private readonly apply = $<HTMLButtonElement>("#ruler-apply");
  private readonly rowsBody = $("#ruler-rows");
  private mode = "typed";
  private inputId = "";
  private uploaded: api.InputInfo | undefined;
  private knobs: Record<string, KnobValue> = {};
  private counts: Record<string, number> = {};
  private records: number[] = [];
  private countsKey = "";
  private asked = 0;
  private placed: api.Placed | undefined;
  private running = false;
  private tooMany = false;
  private lastTable = -Infinity;
  private tableOf: api.Placed | undefined;
  private readonly projected = this.root.closest(".present") !== null;

  constructor(private readonly flights: { columns: string[]; rows: number }, private readonly onRun: (input?: string, key?: string) => void, private readonly onRescale: (parallelism: number) => void) {
    for (const b of $$<HTMLButtonElement>("button", this.from)) b.addEventListener("click", () => this.choose(b.value));
    let timer = 0;
    const later = (): void => {
      clearTimeout(timer);
      timer = window.setTimeout(() => void this.ask(), 200);
    };
    this.list.addEventListener("input", later);
    this.compare.addEventListener("input", later);
    this.file.addEventListener("change", () => void this.upload());
    this.run.addEventListener("click", () => this.onRun(this.input(), this.column()));
    this.apply.addEventListener("click", () => this.onRescale(Number(this.compare.value)));
    // Labels make room for each other by the width there is; a panel that is not shown has none.
    let width = 0;
    new ResizeObserver(() => {
      if (this.root.clientWidth === width) return;
      width = this.root.clientWidth;
      if (width > 0) this.drawRuler();
    }).observe(this.root);
  }

  /** The input and column of a start, if the keys come from a file. */
  input(): string | undefined {
    return this.mode === "flights" || this.mode === "file" ? this.inputId || undefined : undefined;
  }

  column(): string | undefined {
    return this.input() ? this.columnChoice.value : undefined;
  }

  refuse(text: string): void {
    this.problem.hidden = text === "";
    say(this.problem, text);
  }

  /** Before a run the knobs of the page say how many groups and subtasks there are. */
  place(knobs: Record<string, KnobValue>): void {
    this.knobs = { ...knobs };
    const p = Number(knobs["parallelism"] ?? 2);
    if (Number(this.compare.value) === p) this.compare.value = String(p + 1);
    void this.ask();
  }

  draw(p: Picture): void {
    this.running = p.state === "RUNNING";
    this.apply.disabled = !this.running || !this.canCompare();
    const counts = p.totals.countsByKey ?? {};
    this.records = p.vertices?.at(-1)?.subtasks?.map((s) => s.numRecordsIn) ?? [];
    const knobs = ["parallelism", "maxParallelism", "keyType"].map((k) => p.knobs[k]).join();
    const key = `${knobs}|${p.totals.countsByKey ? Object.keys(counts).length : "many"}`;
    this.counts = counts;
    this.tooMany = p.totals.countsByKey === undefined && p.totals.recordsProcessed > 0 && this.mode !== "typed";
    this.knobs = p.knobs;
    if (key !== this.countsKey) {
      this.countsKey = key;
      const at = Number(p.knobs["parallelism"] ?? 2);
      if (Number(this.compare.value) === at) this.compare.value = String(at + 1);
      void this.ask();
    } else this.drawCounts();
  }

  private canCompare(): boolean {
    const n = Number(this.compare.value);
    return Number.isInteger(n) && n >= 1 && n !== Number(this.knobs["parallelism"]);
  }

  private choose(mode: string): void {
    this.mode = mode;
    for (const b of $$<HTMLButtonElement>("button", this.from)) attr(b, "aria-pressed", String(b.value === mode));
    for (const e of $$("[data-from]")) e.hidden = !(e.dataset["from"] ?? "").split(" ").includes(mode);
    this.refuse("");
    if (mode === "flights") {
      this.take({ id: "flights", name: "flights", format: "csv", columns: this.flights.columns, rows: this.flights.rows }, "dest");
      say(this.about, t("keys.flights.text"));
    } else if (mode === "file") {
      if (this.uploaded) this.take(this.uploaded);
      else {
        this.inputId = "";
        this.columnChoice.replaceChildren();
        say(this.about, "");
      }
    }
    this.run.disabled = mode === "file" && !this.uploaded;
    void this.ask();
  }

  private take(info: api.InputInfo, column = ""): void {
    this.inputId = info.id;
    this.columnChoice.replaceChildren(...info.columns.map((c) => h("option", { value: c, selected: c === column }, c)));
    say(this.about, t("keys.input", { rows: num(info.rows), format: info.format }));
    this.run.disabled = false;
  }

  private async upload(): Promise<void> {
    const file = this.file.files?.[0];
    if (!file) return;
    this.refuse("");
    say(this.about, t("keys.uploading"));
    this.run.disabled = true;
    try {
      this.uploaded = await api.upload(file);
      this.take(this.uploaded);
    } catch (e) {
      this.uploaded = undefined;
      say(this.about, "");
      this.refuse(e instanceof Error ? e.message : String(e));
    }
  }

  private typedKeys(): string[] {
    return this.list.value.split(/[\s,;]+/).filter((k) => k !== "");
  }

  /** Asks the engine's own code where the keys go. */
  private async ask(): Promise<void> {
    const typed = this.mode === "typed";
    const counted = Object.keys(this.counts);
    const keys = typed ? [...new Set(this.typedKeys())] : counted.length > 0 ? counted : this.generated();
    const mine = ++this.asked;
    try {
      const placed = await api.place({
        type: this.type(typed, keys), maxParallelism: Number(this.knobs["maxParallelism"] ?? 128), parallelism: Number(this.knobs["parallelism"] ?? 2),
        ...(this.canCompare() ? { compare: Number(this.compare.value) } : {}), keys: keys.slice(0, mostPlaced),
      });
      if (mine !== this.asked) return;
      this.placed = placed;
      const bad = placed.rejected[0];
      this.refuse(bad ? t("keys.rejected", { n: placed.rejected.length, reason: bad.reason }) : "");
      this.drawRuler();
    } catch (e) {
      if (mine === this.asked) this.refuse(e instanceof Error ? e.message : String(e));
    }
  }

  /** The type of the keys: the job's, but typed words are texts whatever the job counts. */
  private type(typed: boolean, keys: string[]): string {
    const type = String(this.knobs["keyType"] ?? "long");
    if (!typed && (this.mode === "flights" || this.mode === "file") && Object.keys(this.counts).length === 0) return "string";
    if (typed && (type === "long" || type === "int") && keys.length > 0 && keys.every((k) => !/^-?\d+$/.test(k))) return "string";
    return type;
  }

  private generated(): string[] {
    if (this.mode !== "generator" || !["long", "int"].includes(String(this.knobs["keyType"] ?? "long"))) return [];
    return Array.from({ length: Math.min(mostPlaced, Number(this.knobs["keys"] ?? 16)) }, (_, i) => String(i));
  }

  private drawRuler(): void {
    const p = this.placed;
    if (!p) return;
    say($("#ruler-about"), t("ruler.about", { n: num(p.maxParallelism) }));
    const most = Math.max(p.before.parallelism, p.after?.parallelism ?? 0);
    const legend: Node[] = [];
    for (let i = 0; i < Math.min(3, most); i++) legend.push(h("span", {}, h("i", { class: `sw own o${i}` }), t("ruler.subtask.n", { n: most > 3 ? `${i}, ${i + 3}…` : i })));
    if (p.after) legend.push(h("span", {}, h("i", { class: "tri", "aria-hidden": "true" }), t("ruler.moves")));
    $("#ruler-legend").replaceChildren(...legend);
    const rows: Node[] = [];
    rows.push(...this.keyRow(p), ...this.owners(t("ruler.before"), p.before.parallelism, p.before.ranges, p.maxParallelism, undefined, "before"));
    if (p.after) {
      rows.push(...this.moves(p));
      rows.push(...this.owners(t("ruler.after"), p.after.parallelism, p.after.ranges, p.maxParallelism, p.before.ranges, "after"));
    }
    rows.push(h("span"), this.scale(p), h("span"));
    this.root.replaceChildren(...rows);
    say(this.moved, p.after ? t("ruler.moved", { n: num(p.moved), of: num(p.maxParallelism) }) : "");
    this.apply.disabled = !this.running || !this.canCompare();
    this.drawCounts();
  }

  /** The width of a digit and of the ruler beside its words, in pixels: a projector's page has larger type. */
  private get digit(): number {
    return this.projected ? 11 : 6.7;
  }

  private get width(): number {
    return Math.max(300, this.root.clientWidth - (this.projected ? 410 : 300));
  }

  /** Keys stand over their group; those that share one stand together. */
  private keyRow(p: api.Placed): Node[] {
    const groups = new Map<number, string[]>();
    for (const k of p.keys) groups.set(k.keyGroup, [...(groups.get(k.keyGroup) ?? []), k.key]);
    const ax = h("div", { class: "ax keys" });
    const at = (g: number): number => (100 * (g + 0.5)) / p.maxParallelism;
    const letter = (100 * this.digit) / this.width; // in percent of the ruler
    let end = -100;
    for (const [g, keys] of [...groups].sort((a, b) => a[0] - b[0])) {
      const tick = h("span", { class: "tick" });
      prop(tick, "--l", at(g).toFixed(3));
      ax.append(tick);
      const text = keys.length > 3 ? `${keys.slice(0, 2).join(", ")} +${keys.length - 2}` : keys.join(", ");
      // Neighbours make room for each other; one that would stand too far from its tick is left to the table.
      const width = letter * text.length;
      const wish = at(g) - width / 2;
      const start = Math.max(wish, end + letter * 0.7);
      if (groups.size > mostLabels || start - wish > 3.1 * letter) continue;
      end = start + width;
      const label = h("span", { class: "at key first", title: keys.join(", ") }, text);
      prop(label, "--l", start.toFixed(3));
      ax.append(label);
    }
    const shared = [...groups].find(([, keys]) => keys.length > 1);
    const note = this.tooMany ? t("keys.tooMany") : shared ? t("ruler.shared", { keys: shared[1].slice(0, 3).join(", "), group: shared[0] }) : "";
    return [h("span", { class: "rl dim" }, t("ruler.keys")), ax, h("span", { class: "rr" }, note)];
  }

  private owners(name: string, parallelism: number, ranges: Ranges, of: number, before: Ranges | undefined, id: string): Node[] {
    const say1 = ranges.map((r, i) => t("ruler.range", { n: i, first: r[0], end: r[1] + 1 })).join(", ");
    const cells = h("div", { class: of > 256 ? "cells dense" : "cells", role: "img", "aria-label": t("ruler.say", { name, list: say1 }) });
    const owner = (rs: Ranges, g: number): number => rs.findIndex((r) => g >= r[0] && g <= r[1]);
    // Above 512 groups a mark stands for several; each shows the owner of its first.
    const marks = Math.min(of, 512);
    let last = -1;
    for (let i = 0; i < marks; i++) {
      const g = Math.floor((i * of) / marks);
      const o = owner(ranges, g);
      const moved = before !== undefined && owner(before, g) !== o;
      cells.append(h("i", { class: `own o${o % 3}${o !== last && last >= 0 && o % 3 === last % 3 ? " edge" : ""}${moved ? " mv" : ""}` }));
      last = o;
    }
    return [h("div", { class: "rl" }, h("b", {}, name), h("span", { class: "dim" }, t("ruler.parallelism", { n: parallelism }))), h("div", { class: "ax" }, cells),
      h("span", { class: "rr", id: `ruler-${id}` })];
  }

  /** Runs of groups that stay or go the same way. */
  private moves(p: api.Placed): Node[] {
    const ax = h("div", { class: "ax moves" });
    const cuts = new Set<number>([0, p.maxParallelism]);
    for (const r of [...p.before.ranges, ...(p.after?.ranges ?? [])]) cuts.add(r[0]);
    const at = [...cuts].filter((c) => c <= p.maxParallelism).sort((a, b) => a - b);
    const owner = (rs: Ranges, g: number): number => rs.findIndex((r) => g >= r[0] && g <= r[1]);
    for (let i = 0; i + 1 < at.length; i++) {
      const from = at[i] ?? 0;
      const to = at[i + 1] ?? 0;
      const a = owner(p.before.ranges, from);
      const b = owner(p.after?.ranges ?? [], from);
      const room = ((to - from) / p.maxParallelism) * this.width;
      let text = t(a === b ? "ruler.stay" : "ruler.move", { n: to - from, a, b });
      if (room < this.digit * text.length) text = num(to - from);
      if (room < this.digit * text.length) continue;
      const label = h("span", { class: a === b ? "at" : "at moved" }, text);
      prop(label, "--l", ((100 * (from + to)) / 2 / p.maxParallelism).toFixed(3));
      ax.append(label);
    }
    return [h("span", { class: "rl dim" }), ax, h("span", { class: "rr" })];
  }

  private scale(p: api.Placed): HTMLElement {
    const ax = h("div", { class: "ax scale-x", "aria-hidden": "true" });
    const marks = new Set<number>([0, p.maxParallelism]);
    for (const r of [...p.before.ranges, ...(p.after?.ranges ?? [])]) marks.add(r[0]);
    for (let i = 1; i < 8; i++) marks.add(Math.round((i * p.maxParallelism) / 8));
    let last = -100;
    const ends = p.maxParallelism;
    const bounds = new Set([...p.before.ranges, ...(p.after?.ranges ?? [])].map((r) => r[0]));
    for (const g of [...marks].sort((a, b) => a - b)) {
      const l = (100 * g) / ends;
      if (g !== ends && (l - last < 4 || l > 95) && !(bounds.has(g) && l - last > 2.5)) continue;
      if (g === ends && l - last < 3) ax.lastElementChild?.remove();
      last = l;
      const mark = h("span", { class: g === 0 ? "at num first" : g === ends ? "at num last" : "at num" }, num(g));
      prop(mark, "--l", l.toFixed(3));
      ax.append(mark);
    }
    return ax;
  }

  /** Counts of each subtask beside its row, and the table twin. */
  private drawCounts(): void {
    const p = this.placed;
    if (!p) return;
    const before = document.getElementById("ruler-before");
    const after = document.getElementById("ruler-after");
    const keysOf = (ranges: Ranges): number[] => ranges.map((r) => p.keys.filter((k) => k.keyGroup >= r[0] && k.keyGroup <= r[1]).length);
    if (before) {
      const records = this.records.filter((n) => n > 0).length > 0 && this.records.length === p.before.parallelism ? this.records : [];
      const parts: string[] = [];
      if (p.keys.length > 0) parts.push(t("ruler.counts", { list: keysOf(p.before.ranges).join(" / ") }));
      if (records.length > 0) parts.push(t("ruler.records", { list: records.map((n) => num(n)).join(" / ") }), this.skew(records));
      else if (p.keys.length > 0) parts.push(this.skew(keysOf(p.before.ranges)));
      const lines = fit(before, parts.length, () => h("div"));
      parts.forEach((text, i) => lines[i] && say(lines[i], text));
    }
    if (after && p.after) say(after, p.keys.length > 0 ? t("ruler.counts", { list: keysOf(p.after.ranges).join(" / ") }) : "");
    // A thousand rows are much to go through ten times a second.
    const now = performance.now();
    if (now - this.lastTable < 1000 && this.tableOf === p) return;
    this.lastTable = now;
    this.tableOf = p;
    const rows = fit(this.rowsBody, p.keys.length, () => h("tr", {}, h("td"), h("td"), h("td"), h("td"), h("td")));
    p.keys.forEach((k, i) => {
      const cells = rows[i]?.children;
      if (!cells) return;
      const count = this.counts[k.key];
      [k.key, num(k.hash), String(k.keyGroup), String(k.subtask), count === undefined ? "" : num(count)].forEach((text, c) => {
        const cell = cells[c];
        if (cell) say(cell, text);
      });
    });
    cls(this.rowsBody, "mono");
  }

  private skew(counts: number[]): string {
    const mean = counts.reduce((a, b) => a + b, 0) / Math.max(1, counts.length);
    return mean > 0 ? t("ruler.skew", { x: num(Math.max(...counts) / mean, 2) }) : "";
  }
}
