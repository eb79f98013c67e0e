import { $, $$, fit, h, prop, say } from "./dom";
import { num, sized, t } from "./text";
import { fillTable, type Turn } from "./tries";
import type { Picture, Restored, Subtask, Vertex } from "./types";

type Span = [number, number];

/** About how many pixels a label takes: Chinese characters are as wide as the line's letters are high. */
const width = (label: string): number => [...label].reduce((n, c) => n + (c > "\u2e7f" ? 12 : 6.3), 0);

const text = (r: Span): string => `[${r[0]}, ${r[1]})`;

/** The paths of the last restore: a row a new subtask, on the axis of the ruler. */
export class Restore {
  private readonly root = $("#restore");
  private readonly none = $("#restore-none");
  private readonly from = $("#restore-from");
  private readonly body = $("#restore-rows");
  private readonly buttons = $$<HTMLButtonElement>("#restore-to button");
  private shown = "";

  constructor(turn: Turn) {
    for (const b of this.buttons) b.addEventListener("click", () => turn({ parallelism: Number(b.value) }));
  }

  draw(p: Picture): void {
    for (const b of this.buttons) b.disabled = p.state !== "RUNNING" || Number(b.value) === Number(p.knobs["parallelism"]);
    const v = p.vertices?.find((x) => x.subtasks?.some((s) => s.state?.restored));
    const all = (v?.subtasks ?? []).filter((s) => s.state?.restored);
    const key = JSON.stringify([p.restoredCheckpointId, this.root.clientWidth, all.map((s) => [s.keyGroups, s.state?.restored, s.state?.restoredKeys])]);
    if (key === this.shown) return;
    this.shown = key;
    this.none.hidden = all.length > 0;
    this.root.hidden = all.length === 0;
    say(this.from, all.length > 0 && p.restoredCheckpointId ? t("restore.from", { n: p.restoredCheckpointId }) : "");
    if (!v || all.length === 0) {
      fit(this.body, 0, () => h("tr"));
      return;
    }
    this.drawRows(v, all);
    this.drawTable(all);
  }

  private drawRows(v: Vertex, all: Subtask[]): void {
    const groups = v.maxParallelism;
    const nodes: Node[] = [];
    for (const s of all) {
      const r = s.state?.restored;
      if (!r) continue;
      const own: Span = [s.keyGroups[0], s.keyGroups[1] + 1];
      nodes.push(
        h("div", { class: "rl" }, h("b", {}, t("restore.subtask", { n: s.index })), h("span", { class: "dim mono" }, text(own))),
        h("div", { class: "lanes", role: "img", "aria-label": this.say(s, r) }, ...this.lanes(r, groups)),
        h("div", { class: "rr" }, this.steps(r), h("span", {}, t("restore.back", { keys: num(s.state?.restoredKeys ?? 0), out: num(s.state?.keysOutOfRange ?? 0) }))),
      );
    }
    nodes.push(h("span"), this.scale(all, groups), h("span"));
    this.root.replaceChildren(...nodes);
  }

  /** The handle whose files were opened has the first lane, with what was cut off it; each other one has a lane of its own. */
  private lanes(r: Restored, groups: number): Node[] {
    const sorted = [...r.handles].sort((a, b) => Number(b.how === "base") - Number(a.how === "base"));
    return sorted.map((x) => {
      const lane = h("div", { class: "lane" });
      lane.append(this.span(x.taken, groups, `rng s${x.subtask % 3}`, t(`restore.lane.${x.how}`, { n: x.subtask }), t("restore.lane.short", { n: x.subtask })));
      if (x.how === "base") for (const c of r.clips ?? []) lane.append(this.span(c, groups, "rng clip", t("restore.clip", { range: text(c) }), text(c)));
      return lane;
    });
  }

  private span(at: Span, groups: number, name: string, label: string, short: string): HTMLElement {
    const e = h("span", { class: name, title: `${label} ${text(at)}` });
    prop(e, "--l", ((100 * at[0]) / groups).toFixed(3));
    prop(e, "--w", ((100 * (at[1] - at[0])) / groups).toFixed(3));
    // What has no room is shortened, or left to the words beside it.
    const room = ((at[1] - at[0]) / groups) * Math.max(300, this.root.clientWidth - 292) - 18;
    if (room > width(label)) e.append(h("span", {}, label));
    else if (room > width(short)) e.append(h("span", {}, short));
    return e;
  }

  private steps(r: Restored): HTMLElement {
    const words: string[] = [];
    for (const x of r.handles) if (x.how === "base") words.push(t("restore.step.open", { n: x.subtask }));
    for (const c of r.clips ?? []) words.push(t("restore.step.clip", { range: text(c) }));
    for (const x of r.handles) if (x.how !== "base") words.push(t(`restore.step.${x.how}`, { n: x.subtask }));
    const ops = h("div", { class: "ops" });
    words.forEach((w, i) => {
      if (i > 0) ops.append(h("em", { "aria-hidden": "true" }, "→"));
      ops.append(h("span", {}, w));
    });
    return ops;
  }

  private say(s: Subtask, r: Restored): string {
    const parts = r.handles.map((x) => `${t(`restore.lane.${x.how}`, { n: x.subtask })} ${text(x.taken)}`);
    for (const c of r.clips ?? []) parts.push(t("restore.clip", { range: text(c) }));
    return `${t("restore.subtask", { n: s.index })}: ${parts.join(", ")}`;
  }

  private scale(all: Subtask[], groups: number): HTMLElement {
    const ax = h("div", { class: "ax scale-x", "aria-hidden": "true" });
    const marks = new Set<number>([0, groups]);
    for (const s of all) {
      marks.add(s.keyGroups[0]);
      for (const x of s.state?.restored?.handles ?? []) marks.add(x.keyGroups[0]);
    }
    let last = -100;
    for (const g of [...marks].sort((a, b) => a - b)) {
      const l = (100 * g) / groups;
      if (l - last < 3) continue;
      last = l;
      const mark = h("span", { class: g === 0 ? "at num first" : g === groups ? "at num last" : "at num" }, num(g));
      prop(mark, "--l", l.toFixed(3));
      ax.append(mark);
    }
    return ax;
  }

  private drawTable(all: Subtask[]): void {
    const rows: string[][] = [];
    for (const s of all) {
      const r = s.state?.restored;
      for (const x of r?.handles ?? []) {
        rows.push([String(s.index), text([s.keyGroups[0], s.keyGroups[1] + 1]), String(x.subtask), text(x.keyGroups), text(x.taken), t(`restore.how.${x.how}`),
          x.how === "base" ? (r?.clips ?? []).map(text).join(" ") : "", x.tables ? num(x.tables) : "", sized(x.bytes), num(s.state?.restoredKeys ?? 0)]);
      }
    }
    fillTable(this.body, rows);
  }
}
