import { $, attr, cls, fit, h, prop, say } from "./dom";
import { duration, num, sized, t } from "./text";
import { fillTable, progressOf, TryCell, type Settings, type Turn } from "./tries";
import type { Comparison, KnobInfo } from "./types";

const modes = ["aligned", "timeout", "unaligned"] as const;
type Mode = (typeof modes)[number];

const phases = [
  ["startDelayMs", "p-delay", "phase.startDelay"],
  ["alignmentMs", "p-align", "phase.alignment"],
  ["syncMs", "p-sync", "phase.sync"],
  ["asyncMs", "p-async", "phase.async"],
] as const;

/** The timeout that an empty cell's button sets. */
const timeoutMs = 500;

/** Which row of the matrix a setting belongs to: unaligned with an aligned timeout is a mode of its own. */
export function modeOf(knobs: Settings): Mode {
  if (knobs["checkpointMode"] !== "unaligned") return "aligned";
  return Number(knobs["alignedTimeoutMs"]) > 0 ? "timeout" : "unaligned";
}

/** Mode by debloating, filled by the learner's own runs. */
export class Matrix {
  private readonly rows = $("#matrix-rows");
  private readonly cells: Cell[] = [];

  constructor(turn: Turn, knobs: KnobInfo[]) {
    const aligned = Number(knobs.find((k) => k.name === "alignedTimeoutMs")?.default ?? 0);
    const body = $("#matrix");
    for (const mode of modes) {
      const row = h("tr", {}, h("th", { scope: "row" }, h("b", {}, t(`matrix.${mode}`)), h("span", { class: "label" }, t(`matrix.${mode}.about`, { ms: timeoutMs }))));
      for (const debloat of [false, true]) {
        const cell = new Cell(mode, debloat, { checkpointMode: mode === "aligned" ? "aligned" : "unaligned", alignedTimeoutMs: mode === "timeout" ? timeoutMs : aligned, debloat }, turn);
        this.cells.push(cell);
        row.append(cell.e);
      }
      body.append(row);
    }
  }

  draw(rows: Comparison[]): void {
    const found = this.cells.map((c) => c.find(rows));
    const longest = Math.max(1, ...found.map((r) => r?.checkpointMs ?? 0));
    this.cells.forEach((c, i) => c.draw(found[i], longest));
    fillTable(this.rows, this.cells.map((c, i) => c.texts(found[i])));
  }
}

class Cell {
  private readonly try: TryCell;
  private readonly time = h("b", { class: "mx-time" });
  private readonly persisted = h("span");
  private readonly bar = h("div", { class: "mx-bar", role: "img" });
  private readonly notes = h("span", { class: "label" });
  private readonly body: HTMLElement;
  private readonly what: string;
  readonly e: HTMLTableCellElement;

  constructor(private readonly mode: Mode, private readonly debloat: boolean, private readonly settings: Settings, turn: Turn) {
    this.try = new TryCell(turn);
    this.what = `${t(`matrix.${mode}`)}, ${t(debloat ? "matrix.on" : "matrix.off")}`;
    this.body = h("div", { class: "mx-body" }, h("div", { class: "mx-head" }, this.time, this.persisted), this.bar, this.notes);
    this.e = h("td", { "data-mode": mode, "data-debloat": String(debloat) }, this.body, this.try.e);
  }

  find(rows: Comparison[]): Comparison | undefined {
    const fits = rows.filter((r) => modeOf(r.knobs) === this.mode && r.knobs["debloat"] === this.debloat);
    return fits.find((r) => r.current && r.checkpoints > 0) ?? fits.findLast((r) => r.checkpoints > 0) ?? fits.find((r) => r.current) ?? fits.at(-1);
  }

  draw(r: Comparison | undefined, longest: number): void {
    const has = r !== undefined && r.checkpoints > 0;
    cls(this.e, `mx${r?.current ? " now" : ""}${has ? "" : " none"}`);
    this.try.draw(r, this.settings, this.what);
    this.body.hidden = !has;
    if (!has) {
      if (r?.current) say(this.try.e.firstElementChild as Element, t("matrix.waits"));
      return;
    }
    say(this.time, duration(r.checkpointMs));
    say(this.persisted, r.persistedBytes > 0 ? t("matrix.persisted", { bytes: sized(r.persistedBytes) }) : t("matrix.nothing"));
    const sum = phases.reduce((n, [field]) => n + r.phases[field], 0);
    prop(this.bar, "--w", ((100 * Math.min(longest, Math.max(sum, 0))) / longest).toFixed(2));
    fit(this.bar, phases.length, () => h("i")).forEach((e, i) => {
      const p = phases[i];
      if (!p) return;
      cls(e, p[1]);
      prop(e, "--v", ((100 * r.phases[p[0]]) / Math.max(0.001, sum)).toFixed(2));
    });
    attr(this.bar, "aria-label", phases.map(([field, , name]) => `${t(name)} ${duration(r.phases[field])}`).join(", "));
    let notes = t(r.checkpoints === 1 ? "matrix.one" : "matrix.n", { n: r.checkpoints });
    if (r.overtaken > 0) notes += `, ${t("matrix.overtaken", { n: num(r.overtaken) })}`;
    say(this.notes, notes);
  }

  texts(r: Comparison | undefined): string[] {
    const head = [t(`matrix.${this.mode}`), t(this.debloat ? "knob.on" : "knob.off")];
    if (!r || r.checkpoints === 0) return [...head, progressOf(r), "", "", "", "", "", "", ""];
    return [...head, progressOf(r), num(r.checkpoints), duration(r.checkpointMs), sized(r.persistedBytes), ...phases.map(([field]) => duration(r.phases[field]))];
  }
}
