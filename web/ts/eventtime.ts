import { $, attr, cls, fit, h, icon, prop, say } from "./dom";
import { knobNumber, vertexOf } from "./reading";
import { num, t } from "./text";
import type { ChannelWatermark, EventTime, Picture, Subtask } from "./types";

const mostTasks = 6;
const timersShown = 8;
const lanes = 3;

/** What stands for the end of time: a channel whose source has ended. */
const endOfTime = 9e15;

const seconds = (ms: number): string => num(ms / 1000, 3);

/** Where event time stands in each channel, whom it waits for, and what waits for it: windows and timers. */
export class EventTimes {
  private readonly root = $("#et");
  private readonly none = $("#et-none");
  private readonly rows = $("#et-rows");
  private readonly twin = $<HTMLDetailsElement>("#et-twin");
  private readonly views: TaskView[] = [];

  draw(p: Picture): void {
    const tasks = (vertexOf(p, "count")?.subtasks ?? []).filter((s) => s.eventTime?.windows).slice(0, mostTasks);
    this.none.hidden = tasks.length > 0;
    while (this.views.length > tasks.length) this.views.pop()?.e.remove();
    tasks.forEach((s, i) => {
      let v = this.views[i];
      if (!v) {
        v = new TaskView();
        this.views.push(v);
        this.root.append(v.e);
      }
      if (s.eventTime) v.draw(s, s.eventTime, knobNumber(p, "windowMs", 5000));
    });
    if (this.twin.open) this.table(tasks);
  }

  private table(tasks: Subtask[]): void {
    const rows: string[][] = [];
    for (const s of tasks) {
      const name = `count ${s.index}`;
      const e = s.eventTime;
      if (!e) continue;
      const newest = newestOf(e);
      for (const g of e.gates ?? []) for (const c of g.channels) rows.push([name, `${c.from.vertex} ${c.from.subtask}`, timeOf(c.watermark), t(`et.is.${stateOf(c, newest)}`)]);
      for (const w of e.windows?.open ?? []) rows.push([name, t("et.window", { start: seconds(w.start), end: seconds(w.end) }), seconds(w.end), t("et.held", { keys: num(w.keys), n: num(w.records) })]);
      for (const x of e.windows?.next ?? []) rows.push([name, t("et.timer", { key: x.key }), seconds(x.time), t("et.group", { n: x.keyGroup })]);
    }
    const lines = fit(this.rows, rows.length, () => h("tr", {}, ...Array.from({ length: 4 }, () => h("td"))));
    rows.forEach((cells, i) => cells.forEach((text, c) => lines[i]?.children[c] && say(lines[i].children[c], text)));
  }
}

type State = "holds" | "idle" | "catching" | "takes";

/** Between two watermarks some channel is always a little behind. One that is so far behind the newest holds time back. */
const heldMs = 1000;

/** The newest watermark of the channels that take part; without any, the least number. */
function newestOf(e: EventTime): number {
  return Math.max(...(e.gates ?? []).flatMap((g) => g.channels).filter((c) => c.aligned).map((c) => c.watermark ?? -Infinity));
}

function stateOf(c: ChannelWatermark, newest: number): State {
  if (c.status === "IDLE") return "idle";
  if (!c.aligned) return "catching";
  return newest > -Infinity && newest - (c.watermark ?? -Infinity) > heldMs ? "holds" : "takes";
}

function timeOf(ms: number | undefined): string {
  if (ms === undefined) return t("et.unknown");
  return ms > endOfTime ? t("et.end") : seconds(ms);
}

/** The axis: from the first of what is open or waited for to the newest channel, in whole windows. */
function rangeOf(e: EventTime, windowMs: number): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  const take = (ms: number | undefined): void => {
    if (ms === undefined || ms > endOfTime) return;
    low = Math.min(low, ms);
    high = Math.max(high, ms);
  };
  take(e.watermark);
  for (const g of e.gates ?? []) for (const c of g.channels) if (c.status !== "IDLE") take(c.watermark);
  for (const w of e.windows?.open ?? []) {
    take(w.start);
    take(w.end - 1);
  }
  if (low > high) return [0, windowMs];
  low = Math.floor(low / windowMs) * windowMs;
  return [low, Math.max(low + 2 * windowMs, Math.ceil((high + 1) / windowMs) * windowMs)];
}

class Row {
  readonly name = h("span");
  readonly ax = h("span", { class: "et-ax" });
  readonly word = h("span", { class: "word" });
  readonly e: HTMLElement;

  constructor(kind: string) {
    this.e = h("div", { class: `et-row ${kind}` }, this.name, this.ax, this.word);
  }
}

class ChannelRow extends Row {
  private readonly bar = h("i", { class: "et-bar" });
  private readonly line = h("i", { class: "et-line" });
  private state = "";

  constructor() {
    super("channel");
    this.ax.append(this.bar, this.line);
  }

  draw(c: ChannelWatermark, state: State, at: (ms: number) => number, task: number | undefined): void {
    say(this.name, `${c.from.vertex} ${c.from.subtask}`);
    attr(this.e, "data-channel", `${c.from.vertex} ${c.from.subtask}`);
    prop(this.bar, "--v", (c.watermark === undefined ? 0 : at(c.watermark)).toFixed(2));
    attr(this.ax, "title", t("et.at", { time: timeOf(c.watermark) }));
    this.line.hidden = task === undefined;
    if (task !== undefined) prop(this.line, "--v", at(task).toFixed(2));
    if (state === this.state) return;
    this.state = state;
    cls(this.e, `et-row channel ${state}`);
    cls(this.bar, `et-bar ${state}`);
    this.word.replaceChildren(...(state === "holds" ? [icon("pause", true)] : []), state === "takes" ? "" : t(`et.is.${state}`));
  }
}

class TaskView {
  private readonly name = h("h3");
  private readonly time = h("b");
  private readonly held = h("span", { class: "tag waits", hidden: true });
  private readonly facts = h("span");
  private readonly rows = h("div", { class: "et-rows" });
  private readonly timersHead = h("h4");
  private readonly timers = h("ol");
  private readonly groups = h("div", { class: "et-groups", role: "img" });
  private readonly first = h("span");
  private readonly last = h("span");
  private readonly windows = new Row("windows");
  private readonly scale = new Row("time");
  private channels: ChannelRow[] = [];
  private gates: Row[] = [];
  private shape = "";
  readonly e: HTMLElement;

  constructor() {
    say(this.windows.name, t("et.windows"));
    this.e = h("article", { class: "et" },
      h("header", {}, this.name, h("span", {}, `${t("et.now")} `, this.time), this.held, this.facts),
      this.rows,
      h("div", { class: "et-timers" }, this.timersHead, this.timers, this.groups, h("div", { class: "et-ends" }, this.first, this.last)));
  }

  draw(s: Subtask, e: EventTime, windowMs: number): void {
    this.build(e);
    const [low, high] = rangeOf(e, windowMs);
    const at = (ms: number): number => Math.min(100, Math.max(0, (100 * (ms - low)) / (high - low)));
    say(this.name, `count ${s.index}`);
    say(this.time, e.watermark === undefined ? t("et.unknown") : e.watermark > endOfTime ? t("et.end") : `${seconds(e.watermark)} ${t("unit.s")}`);
    const newest = newestOf(e);
    const holders: string[] = [];
    let i = 0;
    (e.gates ?? []).forEach((g, k) => {
      const row = this.gates[k];
      if (row) {
        say(row.name, t("et.gate", { n: g.index }));
        say(row.ax, t("et.least", { time: timeOf(g.watermark) }));
      }
      for (const c of g.channels) {
        const state = stateOf(c, newest);
        this.channels[i++]?.draw(c, state, at, e.watermark);
        if (state === "holds") holders.push(`${c.from.vertex} ${c.from.subtask}`);
      }
    });
    this.held.hidden = holders.length === 0;
    const names = holders.slice(0, 4).join(", ");
    if (this.held.dataset["who"] !== names) {
      this.held.dataset["who"] = names;
      this.held.replaceChildren(icon("pause", true), t("et.waits", { who: names }));
    }
    this.drawWindows(e, at, low, high, windowMs);
    this.drawTimers(s, e);
  }

  /** Rows for gates and channels; made anew when their number changes. */
  private build(e: EventTime): void {
    const shape = (e.gates ?? []).map((g) => `${g.vertex}:${g.channels.length}`).join();
    if (shape === this.shape) return;
    this.shape = shape;
    this.gates = [];
    this.channels = [];
    this.rows.replaceChildren();
    for (const g of e.gates ?? []) {
      const gate = new Row("gate");
      this.gates.push(gate);
      this.rows.append(gate.e);
      for (let i = 0; i < g.channels.length; i++) {
        const c = new ChannelRow();
        this.channels.push(c);
        this.rows.append(c.e);
      }
    }
    this.rows.append(this.windows.e, this.scale.e);
  }

  private drawWindows(e: EventTime, at: (ms: number) => number, low: number, high: number, windowMs: number): void {
    const w = e.windows;
    if (!w) return;
    const boxes = fit(this.windows.ax, w.open.length, () => h("span", { class: "et-win" }, h("span"), h("span")));
    w.open.forEach((o, i) => {
      const box = boxes[i] as HTMLElement | undefined;
      if (!box) return;
      prop(box, "--l", at(o.start).toFixed(2));
      prop(box, "--v", (at(o.end) - at(o.start)).toFixed(2));
      const [keys, records] = [...box.children];
      if (keys) say(keys, t("et.keys", { n: num(o.keys) }));
      if (records) say(records, t("et.records", { n: num(o.records) }));
      attr(box, "title", `${t("et.window", { start: seconds(o.start), end: seconds(o.end) })}: ${t("et.held", { keys: num(o.keys), n: num(o.records) })}`);
    });
    say(this.windows.word, w.openWindows > w.open.length ? t("et.more", { n: num(w.openWindows - w.open.length) }) : t("et.open", { n: num(w.openWindows) }));
    say(this.facts, t("et.facts", { results: num(w.results), fired: num(w.fired), held: num(w.held), late: num(w.late) }));
    const step = windowMs * Math.max(1, Math.ceil((high - low) / windowMs / 8));
    const marks: number[] = [];
    for (let ms = low; ms <= high; ms += step) marks.push(ms);
    const labels = fit(this.scale.ax, marks.length, () => h("span", { class: "at" }));
    marks.forEach((ms, i) => {
      const label = labels[i] as HTMLElement | undefined;
      if (!label) return;
      prop(label, "--l", at(ms).toFixed(2));
      cls(label, ms === low ? "at first" : ms === high ? "at last" : "at");
      say(label, seconds(ms));
    });
    say(this.scale.word, t("et.axis"));
  }

  private drawTimers(s: Subtask, e: EventTime): void {
    const w = e.windows;
    if (!w) return;
    const next = w.next.slice(0, timersShown);
    say(this.timersHead, t("et.timers", { n: num(w.timers), shown: next.length }));
    const lines = fit(this.timers, next.length, () => h("li", {}, h("span", {}, h("b"), " ", h("span")), h("span")));
    next.forEach((x, i) => {
      const [left, right] = [...(lines[i]?.children ?? [])];
      if (left?.children[0]) say(left.children[0], `${i + 1}`);
      if (left?.children[1]) say(left.children[1], `${seconds(x.time)} ${t("unit.s")}`);
      if (right) say(right, `${t("et.timer", { key: x.key })} → ${t("et.group", { n: x.keyGroup })}`);
    });
    // The same timers where they are stored: neighbours stand at different heights.
    const [from, to] = s.keyGroups;
    const of = to - from + 1;
    const ends: number[] = Array.from({ length: lanes }, () => -100);
    const marks = fit(this.groups, next.length, () => h("i", {}, h("span")));
    const order = next.map((x, i) => ({ i, l: (100 * (x.keyGroup - from + 0.5)) / of })).sort((a, b) => a.l - b.l);
    for (const { i, l } of order) {
      let lane = ends.findIndex((end) => l - end > 4.4);
      if (lane < 0) lane = ends.indexOf(Math.min(...ends));
      ends[lane] = l;
      const mark = marks[i] as HTMLElement | undefined;
      if (!mark) continue;
      prop(mark, "--l", l.toFixed(2));
      prop(mark, "--lane", lane);
      if (mark.firstElementChild) say(mark.firstElementChild, `${i + 1}`);
    }
    attr(this.groups, "aria-label", t("et.groups", { list: next.map((x, i) => `${i + 1}: ${x.keyGroup}`).join(", ") }));
    say(this.first, t("et.range", { from, end: to + 1 }));
    say(this.last, t("et.stored"));
  }
}
