import * as api from "./api";
import { $, $$, attr, cls, fit, h, prop, say } from "./dom";
import { knobNumber } from "./reading";
import { Slots, type Slot } from "./slots";
import { num, sized, t } from "./text";
import type { Channel, KeyLoad, Picture } from "./types";

/** Groups drawn one by one; above that a mark stands for several neighbours. */
const mostMarks = 512;

/** How a job's records fall into key groups, subtasks and subpartitions. */
export class KeyLoads {
  private readonly rulers = $("#kl-rulers");
  private readonly rows = $("#kl-rows");
  private readonly queues = $("#kl-queues");
  private readonly views: GroupRuler[] = [];
  private readonly queueViews: QueueView[] = [];
  private by: "records" | "bytes" = "records";
  private loads: KeyLoad[] = [];

  constructor() {
    for (const b of $$<HTMLButtonElement>("#kl-by button")) {
      b.addEventListener("click", () => {
        this.by = b.value === "bytes" ? "bytes" : "records";
        for (const x of $$("#kl-by button")) attr(x, "aria-pressed", String(x === b));
        this.take(this.loads);
      });
    }
  }

  take(loads: KeyLoad[]): void {
    this.loads = loads;
    while (this.views.length > loads.length) this.views.pop()?.e.remove();
    loads.forEach((l, i) => {
      let v = this.views[i];
      if (!v) {
        v = new GroupRuler();
        this.views.push(v);
        this.rulers.append(v.e);
      }
      v.draw(l, this.by);
    });
    const rows: string[][] = [];
    for (const l of loads) {
      for (const g of [...l.groups].sort((a, b) => b.records - a.records)) {
        rows.push([l.vertex, String(g.group), String(g.subtask), num(g.records), num(g.bytes), `${num(100 * g.share, 1)} %`]);
      }
    }
    this.table(rows);
  }

  private table(rows: string[][]): void {
    const lines = fit(this.rows, rows.length, () => h("tr", {}, ...Array.from({ length: 6 }, () => h("td"))));
    rows.forEach((cells, i) => cells.forEach((text, c) => lines[i]?.children[c] && say(lines[i].children[c], text)));
  }

  /** The subpartitions of each producer: the one at its limit stops them all. */
  draw(p: Picture): void {
    const first = p.vertices?.[0]?.id ?? "source";
    const channels = (p.channels ?? []).filter((c) => c.from.vertex === first).slice(0, 24);
    while (this.queueViews.length > channels.length) this.queueViews.pop()?.e.remove();
    const limit = knobNumber(p, "maxBuffersPerSubpartition", 10);
    const fullest = new Map<number, number>();
    for (const c of channels) fullest.set(c.from.subtask, Math.max(fullest.get(c.from.subtask) ?? 0, c.producer.buffers));
    [...channels].sort((a, b) => a.from.subtask - b.from.subtask || a.to.subtask - b.to.subtask).forEach((c, i) => {
      let v = this.queueViews[i];
      if (!v) {
        v = new QueueView();
        this.queueViews.push(v);
        this.queues.append(v.e);
      }
      const least = Math.min(...channels.filter((x) => x.from.subtask === c.from.subtask).map((x) => x.producer.buffers));
      v.draw(c, limit, c.producer.buffers >= limit - 1 && c.producer.buffers === fullest.get(c.from.subtask) && least < limit / 2);
    });
  }
}

class QueueView {
  private readonly name = h("span", { class: "label" });
  private readonly slots = new Slots(170, 210);
  private readonly count = h("b");
  private readonly hot = h("span", { class: "tag hot", hidden: true }, t("keyload.hot"));
  readonly e = h("div", { class: "kl-queue" }, this.name, this.slots.e, h("span", {}, this.count, " "), this.hot);

  draw(c: Channel, limit: number, hot: boolean): void {
    say(this.name, `${c.from.vertex} ${c.from.subtask} → ${c.to.subtask}`);
    const slots: Slot[] = [];
    for (let i = c.producer.buffers; i < limit; i++) slots.push({ kind: "ghost" });
    for (let i = 0; i < Math.min(c.producer.buffers, 40); i++) slots.push({ kind: "data", fill: 1 });
    this.slots.draw(slots);
    this.slots.label(t("keyload.queue", { n: c.producer.buffers, limit }));
    say(this.count, `${c.producer.buffers}/${limit}`);
    this.hot.hidden = !hot;
    cls(this.e, hot ? "kl-queue hot" : "kl-queue");
  }
}

/** The groups of one vertex on a ruler: height is load, the look is the owner's. */
class GroupRuler {
  private readonly name = h("b");
  private readonly about = h("span", { class: "label" });
  private readonly bars = h("div", { class: "kl-bars", role: "img" });
  private readonly top = h("span", { class: "kl-top", "aria-hidden": "true" });
  private readonly flag = h("span", { class: "kl-flag" });
  private readonly axis = h("div", { class: "kl-x", "aria-hidden": "true" });
  private readonly subs = h("div", { class: "kl-subs" });
  readonly e: HTMLElement;

  constructor() {
    this.e = h("div", { class: "kl" }, h("div", { class: "kl-h" }, this.name, this.about),
      h("div", { class: "kl-ax" }, this.top, this.flag, this.bars, this.axis), this.subs);
  }

  draw(l: KeyLoad, by: "records" | "bytes"): void {
    attr(this.e, "data-vertex", l.vertex);
    say(this.name, l.vertex);
    const marks = Math.min(l.maxParallelism, mostMarks);
    const sums = Array.from({ length: marks }, () => ({ n: 0, subtask: -1 }));
    let total = 0;
    for (const g of l.groups) {
      const at = sums[Math.floor((g.group * marks) / l.maxParallelism)];
      if (!at) continue;
      at.n += g[by];
      at.subtask = g.subtask;
      total += g[by];
    }
    const most = Math.max(1, ...sums.map((s) => s.n));
    fit(this.bars, marks, () => h("i")).forEach((e, i) => {
      const s = sums[i];
      if (!s) return;
      cls(e, s.subtask < 0 ? "" : `own o${s.subtask % 3}`);
      prop(e, "--f", s.n === 0 ? 0 : Math.max(3, (100 * s.n) / most).toFixed(1));
    });
    const words = (n: number): string => (by === "bytes" ? sized(n) : num(n));
    say(this.top, words(most));
    const hot = l.groups.find((g) => g.group === l.hottest);
    const used = l.groups.length + l.leftOut;
    say(this.about, t("keyload.about", { used: num(used), of: num(l.maxParallelism), skew: num(l.skew, 2) }));
    this.flag.hidden = !hot || hot.share < 0.15;
    if (hot) {
      const x = (100 * (hot.group + 0.5)) / l.maxParallelism;
      prop(this.flag, "--l", x.toFixed(2));
      cls(this.flag, x > 60 ? "kl-flag back" : "kl-flag");
      say(this.flag, t("keyload.group", { group: hot.group, share: num((100 * hot[by]) / Math.max(1, total)) }));
    }
    attr(this.bars, "aria-label", t("keyload.say", { vertex: l.vertex, used, of: l.maxParallelism, group: l.hottest, share: hot ? num(100 * hot.share) : 0 }));
    this.drawAxis(l);
    this.drawSubtasks(l, by, words);
  }

  private drawAxis(l: KeyLoad): void {
    const marks = [0, 0.25, 0.5, 0.75, 1].map((x) => Math.round(x * l.maxParallelism));
    fit(this.axis, marks.length, () => h("span")).forEach((e, i) => {
      const g = marks[i] ?? 0;
      say(e, num(g));
      prop(e, "--l", ((100 * g) / l.maxParallelism).toFixed(2));
      cls(e, i === 0 ? "first" : i === marks.length - 1 ? "last" : "");
    });
  }

  private drawSubtasks(l: KeyLoad, by: "records" | "bytes", words: (n: number) => string): void {
    const total = Math.max(1, l.subtasks.reduce((n, s) => n + s[by], 0));
    const lines = fit(this.subs, l.subtasks.length, () => h("div", { class: "kl-sub" }, h("i"), h("span"), h("span", { class: "track2", "aria-hidden": "true" }, h("i")), h("b"), h("span", { class: "label" })));
    l.subtasks.forEach((s, i) => {
      const line = lines[i];
      if (!line) return;
      const [sw, name, track, value, note] = [...line.children] as [HTMLElement, HTMLElement, HTMLElement, HTMLElement, HTMLElement];
      cls(sw, `sw own o${s.subtask % 3}`);
      say(name, t("ruler.subtask.n", { n: s.subtask }));
      prop(track.firstElementChild as HTMLElement, "--v", ((100 * s[by]) / total).toFixed(1));
      say(value, `${num((100 * s[by]) / total, 1)} %`);
      say(note, t("keyload.subtask", { value: by === "bytes" ? words(s.bytes) : t("keyload.records", { n: words(s.records) }), groups: s.groups }));
    });
  }
}

/** Whose keys: the generator's, the built-in flights', or those of the learner's own file. */
export class InputChoice {
  private readonly file = $<HTMLInputElement>("#kl-file");
  private readonly column = $<HTMLSelectElement>("#kl-column");
  private readonly about = $("#kl-input");
  private readonly run = $<HTMLButtonElement>("#kl-run");
  private readonly problem = $("#kl-error");
  private mode = "generator";
  private uploaded: api.InputInfo | undefined;
  private id = "";

  constructor(private readonly flights: { columns: string[]; rows: number }, private readonly onRun: (input?: string, key?: string) => void) {
    for (const b of $$<HTMLButtonElement>("#kl-from button")) b.addEventListener("click", () => this.choose(b.value));
    this.file.addEventListener("change", () => void this.upload());
    this.run.addEventListener("click", () => this.onRun(this.input(), this.key()));
  }

  input(): string | undefined {
    return this.mode === "generator" ? undefined : this.id || undefined;
  }

  key(): string | undefined {
    return this.input() ? this.column.value : undefined;
  }

  refuse(text: string): void {
    this.problem.hidden = text === "";
    say(this.problem, text);
  }

  private choose(mode: string): void {
    this.mode = mode;
    for (const b of $$<HTMLButtonElement>("#kl-from button")) attr(b, "aria-pressed", String(b.value === mode));
    for (const e of $$("[data-kl]")) e.hidden = !(e.dataset["kl"] ?? "").split(" ").includes(mode);
    this.refuse("");
    this.id = "";
    if (mode === "flights") this.take({ id: "flights", name: "flights", format: "csv", columns: this.flights.columns, rows: this.flights.rows }, "dest");
    else if (mode === "file" && this.uploaded) this.take(this.uploaded);
    else this.column.replaceChildren();
    say(this.about, mode === "flights" ? t("keys.flights.text") : this.id && this.uploaded ? t("keys.input", { rows: num(this.uploaded.rows), format: this.uploaded.format }) : "");
    this.run.disabled = mode === "file" && !this.uploaded;
  }

  private take(info: api.InputInfo, column = ""): void {
    this.id = info.id;
    this.column.replaceChildren(...info.columns.map((c) => h("option", { value: c, selected: c === column }, c)));
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
      say(this.about, t("keys.input", { rows: num(this.uploaded.rows), format: this.uploaded.format }));
      this.run.disabled = false;
    } catch (e) {
      this.uploaded = undefined;
      this.id = "";
      say(this.about, "");
      this.refuse(e instanceof Error ? e.message : String(e));
    }
  }
}
