import { $, attr, cls, fit, h, prop, say } from "./dom";
import { duration, num, sized, t } from "./text";
import { fillTable, measured, progressOf, rowOf, TryCell, type Turn } from "./tries";
import type { Comparison } from "./types";

const settings = [100, 1, 0, -1];

/** The histogram's axis: doubling bounds from 16 µs to 16 s. */
const leastMs = 0.016;
const bins = 21;
const place = (ms: number): number => Math.min(100, Math.max(0, (100 * (Math.log2(Math.max(ms, leastMs / 2) / leastMs) + 1)) / bins));
const ticks = [0.1, 1, 10, 100, 1000, 10_000];

const timeoutName = (ms: number): string => (ms === -1 ? t("timeouts.full") : ms === 0 ? t("timeouts.each") : t("timeouts.every"));

/** Below a second a latency is compared with the timeout, which is in ms. */
const wait = (ms: number): string => (ms >= 100 && ms < 1000 ? `${num(ms)} ${t("unit.ms")}` : duration(ms));

/** Four buffer timeouts side by side: how full buffers leave, how many, and how long records take. */
export class Timeouts {
  private readonly root = $("#timeouts");
  private readonly rows = $("#timeouts-rows");
  private readonly columns: Column[];
  private readonly other: Column;
  private segment = 32 << 10;

  constructor(turn: Turn) {
    this.columns = settings.map((ms) => new Column(ms, turn));
    this.other = new Column(undefined, turn);
    this.root.append(...this.columns.map((c) => c.e), this.other.e);
  }

  draw(rows: Comparison[], segment: number): void {
    this.segment = segment;
    const named: [number, Comparison | undefined][] = settings.map((ms) => [ms, rowOf(rows, { bufferTimeoutMs: ms })]);
    const most = Math.max(1, ...rows.map((r) => r.buffersPerSecond));
    this.columns.forEach((c, i) => c.draw(named[i]?.[0] ?? 0, named[i]?.[1], segment, most));
    // A setting of the learner's own stands beside the four while it is in force.
    const own = rows.find((r) => r.current && !settings.includes(Number(r.knobs["bufferTimeoutMs"])));
    this.other.e.hidden = !own;
    if (own) {
      const ms = Number(own.knobs["bufferTimeoutMs"]);
      this.other.draw(ms, own, segment, most);
      named.push([ms, own]);
    }
    fillTable(this.rows, named.map(([ms, r]) => this.texts(ms, r)));
  }

  private texts(ms: number, r: Comparison | undefined): string[] {
    const head = [`${num(ms)} ${t("unit.ms")}`, progressOf(r)];
    if (!measured(r)) return [...head, "", "", "", "", "", "", ""];
    const l = r.latencyMs;
    return [...head, num(r.buffersPerSecond), sized(r.meanBufferBytes), `${num((100 * r.meanBufferBytes) / this.segment, 1)} %`, num(r.recordsPerSecond),
      l ? wait(l.p50) : "", l ? wait(l.p99) : "", l ? wait(l.max) : ""];
  }
}

class Column {
  private readonly title = h("h3");
  private readonly name = h("span", { class: "label" });
  private readonly try: TryCell;
  private readonly slot = h("i", { class: "slot data big", role: "img" });
  private readonly fill = h("b");
  private readonly bytes = h("span", { class: "label" });
  private readonly buffers = h("b");
  private readonly marks = h("div", { class: "tmo-rate", "aria-hidden": "true" });
  private readonly hist = h("div", { class: "hist", role: "img" });
  private readonly bars = h("div", { class: "hist-bars" });
  private readonly p50 = h("span", { class: "hist-pin" }, h("span", {}, "p50"));
  private readonly p99 = h("span", { class: "hist-pin p99" }, h("span", {}, "p99"));
  private readonly top = h("span", { class: "y", "aria-hidden": "true" });
  private readonly v50 = h("b");
  private readonly v99 = h("b");
  private readonly body: HTMLElement;
  private readonly empty = h("div", { class: "tmo-empty", "aria-hidden": "true" }, h("i", { class: "slot big untried" }));
  readonly e: HTMLElement;

  constructor(ms: number | undefined, turn: Turn) {
    this.try = new TryCell(turn);
    const axis = h("div", { class: "hist-x", "aria-hidden": "true" }, ...ticks.map((ms) => {
      const e = h("span", {}, ms < 1000 ? num(ms, 1) : `${num(ms / 1000)}s`);
      prop(e, "--l", place(ms).toFixed(2));
      return e;
    }));
    this.hist.append(this.top, this.bars, this.p50, this.p99);
    this.body = h("div", { class: "tmo-body" },
      h("div", { class: "tmo-fill" }, this.slot, h("div", {}, h("div", {}, this.fill, h("span", { class: "label" }, ` ${t("timeouts.fill")}`)), this.bytes,
        h("div", { class: "tmo-n" }, this.buffers, h("span", { class: "label" }, ` ${t("timeouts.buffers")}`)), this.marks)),
      this.hist, axis,
      h("div", { class: "tmo-p" }, h("span", {}, "p50 ", this.v50), h("span", {}, "p99 ", this.v99)));
    this.e = h("article", { class: "tmo", "data-timeout": ms ?? "own", hidden: ms === undefined }, h("header", {}, this.title, this.name), this.try.e, this.body, this.empty);
  }

  draw(ms: number, r: Comparison | undefined, segment: number, most: number): void {
    say(this.title, `${num(ms)} ${t("unit.ms")}`);
    say(this.name, timeoutName(ms));
    this.try.draw(r, { bufferTimeoutMs: ms }, `${num(ms)} ${t("unit.ms")}`);
    const has = measured(r);
    cls(this.e, `tmo${r?.current ? " now" : ""}${has ? "" : " none"}`);
    this.body.hidden = !has;
    this.empty.hidden = has;
    if (!has) return;
    const fill = Math.min(1, r.meanBufferBytes / segment);
    prop(this.slot, "--f", fill.toFixed(3));
    attr(this.slot, "aria-label", t("timeouts.slot", { share: num(100 * fill, 1), bytes: sized(r.meanBufferBytes), of: sized(segment) }));
    say(this.fill, `${num(100 * fill, fill < 0.1 ? 1 : 0)} %`);
    say(this.bytes, t("timeouts.of", { bytes: sized(r.meanBufferBytes), of: sized(segment) }));
    say(this.buffers, num(r.buffersPerSecond));
    prop(this.marks, "--v", ((100 * r.buffersPerSecond) / most).toFixed(1));
    this.drawLatency(r);
  }

  private drawLatency(r: Comparison): void {
    const counts = Array.from({ length: bins }, () => 0);
    let total = 0;
    for (const b of r.latencyBuckets ?? []) {
      const i = Math.min(bins - 1, Math.max(0, Math.round(Math.log2(b.upToMs / leastMs))));
      counts[i] = (counts[i] ?? 0) + b.count;
      total += b.count;
    }
    const top = Math.max(1, ...counts);
    fit(this.bars, bins, () => h("i")).forEach((e, i) => prop(e, "--f", ((100 * (counts[i] ?? 0)) / top).toFixed(1)));
    say(this.top, total > 0 ? `${num((100 * top) / total)} %` : "");
    const l = r.latencyMs;
    this.p50.hidden = this.p99.hidden = !l;
    say(this.v50, l ? wait(l.p50) : t("timeouts.nolatency"));
    say(this.v99, l ? wait(l.p99) : "–");
    if (!l) return;
    prop(this.p50, "--l", place(l.p50).toFixed(2));
    prop(this.p99, "--l", place(l.p99).toFixed(2));
    cls(this.p50, place(l.p50) < 24 ? "hist-pin flip" : "hist-pin");
    // Two names that would cover each other stand at two heights.
    cls(this.p99, place(l.p99) - place(l.p50) < (place(l.p50) < 24 ? 34 : 20) ? "hist-pin p99 low" : "hist-pin p99");
    attr(this.hist, "aria-label", t("timeouts.hist", { p50: wait(l.p50), p99: wait(l.p99), n: num(total) }));
  }
}
