import { $, attr, cls, h, say } from "./dom";
import { Bar } from "./sequence";
import { num, t } from "./text";
import { addRow, fillTable, measured, progressOf, TryCell, type Settings, type Turn } from "./tries";
import type { Comparison, KnobValue, Picture } from "./types";

const compared = ["keys", "twoStage", "maxParallelism", "parallelism"] as const;

/** The knobs that make another load of it; of these only the hot share counts as a cure. */
const loads = ["hotKeyShare", "rate", "recordBytes", "workMs", "workOn", "keyType", "seed", "sinkWorkMs"] as const;

interface Cure {
  id: string;
  settings: Settings;
  row: Comparison | undefined;
}

/** The cures for skew, each with what it gains in records per second. Rows of another load are not comparable for the
 * server; the page keeps them, because fewer hot records are a cure too. */
export class Cures {
  private readonly body = $("#kl-cures");
  private readonly rows = $("#kl-cure-rows");
  private readonly lines = new Map<string, CureLine>();
  private readonly seen = new Map<string, { load: Settings; rows: Comparison[] }>();
  private fromFile = false;
  private base: { load: Settings; knobs: Settings } | undefined;

  constructor(private readonly turn: Turn) {}

  /** A new run has a new first row. The keys of a file are what they are: more of them is no cure to try. */
  begin(fromFile: boolean): void {
    this.fromFile = fromFile;
    this.seen.clear();
    this.base = undefined;
  }

  draw(rows: Comparison[], p: Picture): void {
    const first = rows[0];
    if (!first || p.vertices === undefined) return;
    const load: Settings = {};
    for (const name of loads) if (p.knobs[name] !== undefined) load[name] = p.knobs[name];
    // While a change is on its way the rows still belong to the load before.
    const current = rows.find((r) => r.current);
    if (!current || compared.some((n) => current.knobs[n] !== p.knobs[n])) return;
    const key = JSON.stringify(load);
    this.seen.delete(key); // the newest stands last
    this.seen.set(key, { load, rows });
    const other = this.base && Object.keys(load).some((n) => n !== "hotKeyShare" && load[n] !== this.base?.load[n]);
    if (!this.base || other || Number(load["hotKeyShare"]) > Number(this.base.load["hotKeyShare"])) this.base = { load, knobs: { ...first.knobs } };
    this.show(this.list());
  }

  private rowsOf(load: Settings): Comparison[] {
    const now = [...this.seen.keys()].at(-1);
    const key = JSON.stringify(load);
    // Only the load in force has a row that is being filled.
    return (this.seen.get(key)?.rows ?? []).map((r) => (key === now ? r : { ...r, current: false }));
  }

  private list(): Cure[] {
    const base = this.base;
    if (!base) return [];
    const key = JSON.stringify(base.load);
    const kept = this.seen.get(key);
    const share = Number(base.load["hotKeyShare"]);
    const lessHot = [...this.seen.values()].findLast((s) => Number(s.load["hotKeyShare"]) < share)?.load;
    const same = this.rowsOf(base.load);
    const equal = (r: Comparison, knobs: Settings): boolean => compared.every((n) => r.knobs[n] === knobs[n]);
    const only = (name: string): Comparison | undefined => {
      const fits = same.filter((r) => r.knobs[name] !== base.knobs[name] && compared.every((n) => n === name || r.knobs[n] === base.knobs[n]));
      return fits.find((r) => r.current) ?? fits.at(-1);
    };
    const groups = Number(base.knobs["maxParallelism"]) || 128;
    const set = (name: string, value: KnobValue): Settings => ({ ...base.knobs, hotKeyShare: share, [name]: value });
    const cure = (id: string, name: string, value: KnobValue): Cure => {
      const row = kept ? only(name) : undefined;
      return { id, row, settings: set(name, row?.knobs[name] ?? value) };
    };
    const list = [
      { id: "base", row: same.find((r) => equal(r, base.knobs)), settings: { ...base.knobs, hotKeyShare: share } },
      ...(this.fromFile ? [] : [cure("keys", "keys", Math.min(100_000, Number(base.knobs["keys"]) * 10))]),
      cure("maxParallelism", "maxParallelism", groups >= 256 ? 128 : 256),
      cure("twoStage", "twoStage", base.knobs["twoStage"] !== true),
    ];
    if (share > 0) {
      const less = lessHot ? Number(lessHot["hotKeyShare"]) : Math.round(share * 25) / 100;
      list.push({ id: "hotKeyShare", row: lessHot ? this.rowsOf(lessHot).find((r) => equal(r, base.knobs)) : undefined, settings: set("hotKeyShare", less) });
    }
    return list;
  }

  private show(list: Cure[]): void {
    const base = list[0]?.row;
    const most = Math.max(1, ...list.map((c) => c.row?.emittedPerSecond ?? 0));
    for (const [id, line] of this.lines) {
      if (!list.some((c) => c.id === id)) {
        line.e.remove();
        this.lines.delete(id);
      }
    }
    for (const c of list) {
      let line = this.lines.get(c.id);
      if (!line) {
        line = new CureLine(c.id, this.turn);
        this.lines.set(c.id, line);
        addRow(this.body, line.e);
      }
      line.draw(c, base, most);
    }
    fillTable(this.rows, list.map((c) => [nameOf(c), progressOf(c.row), measured(c.row) ? num(c.row.emittedPerSecond) : "", gainOf(c, base)]));
  }
}

function nameOf(c: Cure): string {
  const v = c.settings[c.id];
  if (c.id === "base") return t("cure.base");
  if (c.id === "twoStage") return t(v === true ? "cure.twoStage" : "cure.oneStage");
  return t(`cure.${c.id}`, { n: num(Number(v), 2) });
}

function gainOf(c: Cure, base: Comparison | undefined): string {
  if (c.id === "base" || !measured(c.row) || !measured(base) || base.emittedPerSecond <= 0) return "";
  const more = c.row.emittedPerSecond - base.emittedPerSecond;
  return t("cure.gain", { sign: more < 0 ? "−" : "+", n: num(Math.abs(more)), x: num(c.row.emittedPerSecond / base.emittedPerSecond, 2) });
}

class CureLine {
  private readonly name = h("th", { scope: "row" });
  private readonly rate = new Bar();
  private readonly gain = h("td", { class: "num" });
  private readonly try: TryCell;
  readonly e: HTMLTableRowElement;

  constructor(id: string, turn: Turn) {
    this.try = new TryCell(turn);
    this.e = h("tr", { "data-cure": id }, this.name, this.rate.e, this.gain, h("td", { class: "act" }, this.try.e));
  }

  draw(c: Cure, base: Comparison | undefined, most: number): void {
    const name = nameOf(c);
    say(this.name, name);
    const has = measured(c.row);
    cls(this.e, `${c.row?.current ? "now" : ""}${has ? "" : " none"}`.trim());
    this.rate.draw(has ? c.row?.emittedPerSecond : undefined, most);
    say(this.gain, gainOf(c, base));
    attr(this.gain, "data-gain", has && measured(base) && base.emittedPerSecond > 0 ? ((c.row?.emittedPerSecond ?? 0) / base.emittedPerSecond).toFixed(3) : null);
    this.try.draw(c.row, c.settings, name);
  }
}
