import uPlot from "uplot";
import { $, attr, fit, h, prop, say } from "./dom";
import { keepSeconds, type History } from "./history";
import { bufferRoom, segmentBytes, type Sample } from "./reading";
import { bytes, clock, num, sized, t } from "./text";
import type { Picture } from "./types";

/** How often the words for a chart change, in seconds. */
const sayEvery = 5;

interface Kind {
  id: string;
  series: { of: (s: Sample) => number; name?: string }[];
  /** The live value and its unit. */
  now: (s: Sample, p: Picture) => [string, string];
  /** The top of the axis, at least, and how it is written. */
  top: (p: Picture) => number;
  write: (x: number) => string;
}

const kinds: Kind[] = [
  {
    id: "throughput", series: [{ of: (s) => s.throughput }], now: (s) => [num(s.throughput), t("unit.records/s")],
    top: () => 100, write: (x) => num(x),
  },
  {
    id: "buffers", series: [{ of: (s) => s.queuedOut, name: "chart.out" }, { of: (s) => s.queuedIn, name: "chart.in" }],
    now: (s, p) => [num(s.queuedOut + s.queuedIn), t("chart.of", { n: bufferRoom(p) })], top: (p) => bufferRoom(p), write: (x) => num(x),
  },
  {
    id: "size", series: [{ of: (s) => s.sizeHigh }, { of: (s) => s.sizeLow }],
    now: (s) => {
      const high = bytes(s.sizeHigh);
      const low = bytes(s.sizeLow);
      return [low.value === high.value ? high.value : `${low.value}–${high.value}`, high.unit];
    },
    top: (p) => segmentBytes(p), write: (x) => sized(x),
  },
  {
    id: "inflight", series: [{ of: (s) => s.inFlight }],
    now: (s) => {
      const b = bytes(s.inFlight);
      return [b.value, b.unit];
    },
    top: () => 64 << 10, write: (x) => sized(x),
  },
];

/** Four charts of the last minute. Each has a table of the same figures behind its button. */
export class Charts {
  private readonly views: ChartView[];

  constructor(private readonly labelOf: (knob: string) => string, private readonly onPanel: (panel: string | null) => void) {
    const root = $("#charts");
    this.views = kinds.map((k) => new ChartView(k, (open) => this.onPanel(open ? k.id : null)));
    root.append(...this.views.map((v) => v.e));
  }

  draw(p: Picture, history: History): void {
    for (const v of this.views) v.draw(p, history, this.labelOf);
  }

  /** After a change of the theme the canvases take its colours. */
  recolour(): void {
    for (const v of this.views) v.recolour();
  }

  open(id: string): boolean {
    const v = this.views.find((x) => x.kind.id === id);
    v?.showTable();
    return v !== undefined;
  }
}

class ChartView {
  private readonly value = h("span", { class: "v" }, "–");
  private readonly unit = h("small");
  private readonly top = h("span", { class: "y", "aria-hidden": "true" });
  private readonly plot = h("div", { class: "plot", role: "img" });
  private readonly pins = h("div");
  private readonly tableButton = h("button", { type: "button" }, t("chart.table"));
  readonly e: HTMLElement;
  private chart: uPlot | undefined;
  private max = 0;
  private saidAt = -Infinity;
  private history: History | undefined;
  private labelOf: (knob: string) => string = (k) => k;

  constructor(readonly kind: Kind, private readonly onTable: (open: boolean) => void) {
    const name = t(`chart.${kind.id}`);
    attr(this.tableButton, "aria-label", t("chart.asTable", { name }));
    this.e = h("figure", { class: "chart", id: `chart-${kind.id}` },
      h("header", {}, h("h3", {}, name), h("span", { class: "val" }, this.value, " ", this.unit)),
      this.plot,
      h("div", { class: "xax" }, h("span", {}, t("chart.seconds", { n: keepSeconds })), this.tableButton, h("span", {}, t("chart.now"))));
    attr(this.plot, "aria-label", name);
    this.plot.append(this.top, this.pins);
    if (kind.series[1]?.name) {
      kind.series.forEach((s, i) => this.plot.append(h("span", { class: `tag2 s${i}`, "data-series": i }, s.name ? t(s.name) : "")));
    }
    this.tableButton.addEventListener("click", () => this.showTable());
    new ResizeObserver(() => this.resize()).observe(this.plot);
  }

  private build(): void {
    const css = getComputedStyle(document.documentElement);
    const colour = (name: string): string => css.getPropertyValue(name).trim();
    const lines = this.kind.series.map((_, i) =>
      i === 0 ? { stroke: colour("--data"), width: 1.5, points: { show: false } } : { stroke: colour("--ink-3"), width: 1.5, dash: [4, 3], points: { show: false } });
    this.chart = new uPlot(
      {
        width: Math.max(60, this.plot.clientWidth), height: this.plot.clientHeight || 47, padding: [3, 0, 0, 0], legend: { show: false }, cursor: { show: false }, select: { show: false, left: 0, top: 0, width: 0, height: 0 },
        scales: {
          x: { time: false, range: (_u, _min, max) => [max - keepSeconds, max] },
          y: { range: () => [0, this.max] },
        },
        axes: [{ show: false }, { show: false }],
        series: [{}, ...lines],
      },
      [[], ...lines.map(() => [])] as unknown as uPlot.AlignedData,
      this.plot,
    );
  }

  private resize(): void {
    const width = this.plot.clientWidth;
    if (this.chart && width > 0) this.chart.setSize({ width, height: this.plot.clientHeight || 47 });
  }

  recolour(): void {
    this.chart?.destroy();
    this.chart = undefined;
  }

  draw(p: Picture, history: History, labelOf: (knob: string) => string): void {
    this.history = history;
    this.labelOf = labelOf;
    const samples = history.samples;
    const last = samples.at(-1);
    if (!last) return;
    if (!this.chart) this.build();
    const [value, unit] = this.kind.now(last, p);
    say(this.value, value);
    say(this.unit, unit);
    const rows = this.kind.series.map((s) => samples.map(s.of));
    let most = this.kind.top(p);
    for (const row of rows) for (const x of row) if (x > most) most = x;
    // The top moves in steps, so that a line does not wander because of its own noise.
    const step = 10 ** Math.floor(Math.log10(most)) / 2;
    this.max = this.kind.id === "size" || this.kind.id === "buffers" ? most : Math.ceil(most / step) * step;
    say(this.top, this.kind.write(this.max));
    this.chart?.setData([samples.map((s) => s.t), ...rows] as uPlot.AlignedData);
    this.kind.series.forEach((s, i) => {
      const tag = this.plot.querySelector(`[data-series="${i}"]`);
      if (tag && s.name) say(tag, `${t(s.name)} ${num(s.of(last))}`);
    });
    this.drawPins(last.t, history);
    if (last.t - this.saidAt >= sayEvery || last.t < this.saidAt) {
      this.saidAt = last.t;
      const line = rows[0] ?? [];
      attr(this.plot, "aria-label", t("chart.say", { name: t(`chart.${this.kind.id}`), now: `${value} ${unit}`, least: this.kind.write(Math.min(...line)), most: this.kind.write(Math.max(...line)) }));
    }
  }

  private drawPins(now: number, history: History): void {
    const seen = history.changes.filter((c) => c.atMs / 1000 > now - keepSeconds);
    const marks = fit(this.pins, seen.length, () => h("span", {}, h("span", { class: "pin" }), h("span", { class: "pinned" }, h("span", { class: "tag2" }))));
    seen.forEach((c, i) => {
      const mark = marks[i];
      if (!mark) return;
      const x = 100 - (100 * (now - c.atMs / 1000)) / keepSeconds;
      const name = mark.lastElementChild as HTMLElement;
      prop(mark.firstElementChild as HTMLElement, "--l", x.toFixed(2));
      prop(name, "--l", x.toFixed(2));
      // Only the first chart names a pin, the last one.
      name.hidden = this.kind.id !== "throughput" || i < seen.length - 1;
      const to = typeof c.to === "boolean" ? t(c.to ? "knob.on" : "knob.off") : String(c.to);
      say(name.firstElementChild as Element, `${this.labelOf(c.name)} ${to}`);
    });
  }

  /** The same figures, a row for each second, newest first. */
  showTable(): void {
    const name = t(`chart.${this.kind.id}`);
    const samples = this.history?.samples ?? [];
    const body = h("tbody");
    let second = Infinity;
    for (let i = samples.length - 1; i >= 0; i--) {
      const s = samples[i];
      if (!s || Math.floor(s.t) === second) continue;
      second = Math.floor(s.t);
      const changed = (this.history?.changes ?? []).filter((c) => Math.floor(c.atMs / 1000) === second);
      body.append(h("tr", {}, h("td", { class: "mono" }, clock(s.t * 1000, false)), ...this.kind.series.map((k) => h("td", {}, this.kind.write(k.of(s)))),
        h("td", {}, changed.map((c) => `${this.labelOf(c.name)} ${c.from} → ${c.to}`).join("; "))));
    }
    const heads = this.kind.series.map((s, i) => h("th", { scope: "col" }, s.name ? t(s.name) : i === 0 ? name : "min"));
    const close = h("button", { type: "button", class: "primary" }, t("pointer.done"));
    const dialog = h("dialog", { class: "table", "aria-label": name }, h("h2", {}, name),
      h("div", { class: "twin-scroll", tabindex: 0, role: "region", "aria-label": name },
        h("table", { class: "figures" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("trace.time")), ...heads, h("th", { scope: "col" }, t("chart.changed")))), body)),
      h("div", { class: "foot" }, close));
    document.body.append(dialog);
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => {
      dialog.remove();
      this.onTable(false);
      this.tableButton.focus();
    });
    dialog.showModal();
    this.onTable(true);
  }
}
