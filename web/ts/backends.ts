import * as api from "./api";
import { $, cls, fit, h, prop, say } from "./dom";
import { Poll } from "./poll";
import { duration, num, sized, t } from "./text";
import { fillTable, progressOf, TryCell, type Settings, type Turn } from "./tries";
import type { Comparison, KnobInfo, Picture } from "./types";

const kinds = [
  ["be.hashmap", { backend: "hashmap", incremental: true }],
  ["be.lsm", { backend: "lsm", incremental: false }],
  ["be.lsm.inc", { backend: "lsm", incremental: true }],
] as const;

/** The options that the backends and storages hang on, with the knob of each. */
const options = [
  ["state.backend.type", "backend"],
  ["execution.checkpointing.storage", "checkpointStorage"],
  ["execution.checkpointing.incremental", "incremental"],
  ["execution.checkpointing.snapshot-compression", "snapshotCompression"],
] as const;

/** Backend by storage, filled by the learner's own runs; the two mistakes; and who decides what is in force. */
export class Backends {
  private readonly lines: Row[] = [];
  private readonly button = $<HTMLButtonElement>("#be-touch");
  private readonly said = $("#be-said");
  private readonly poll: Poll<string>;
  private readonly config = $("#be-config");
  private session = "";

  constructor(turn: Turn, private readonly knobs: KnobInfo[]) {
    const body = $("#be-tries");
    for (const [name, settings] of kinds) {
      for (const storage of ["file", "memory"]) {
        const row = new Row(name, storage, { ...settings, checkpointStorage: storage }, turn);
        this.lines.push(row);
        body.append(row.e);
      }
    }
    this.button.disabled = true;
    this.button.addEventListener("click", () => void this.touch());
    this.poll = new Poll(2000, api.configuration, (yaml) => say($("#be-yaml"), yaml));
  }

  follow(session: string): void {
    this.session = session;
    this.button.disabled = false;
    say(this.said, t("be.touch.about"));
    cls(this.said, "be-said");
    this.poll.follow(session);
  }

  leave(): void {
    this.button.disabled = true;
    this.poll.leave();
  }

  private async touch(): Promise<void> {
    try {
      const out = (await api.act(this.session, "touchOutsideRecord")) as { error: string };
      say(this.said, out.error || t("be.touch.fine"));
    } catch (e) {
      say(this.said, e instanceof Error ? e.message : String(e));
    }
    cls(this.said, "be-said told");
  }

  compare(rows: Comparison[]): void {
    const most = Math.max(1, ...rows.map((r) => r.checkpointedBytes));
    for (const l of this.lines) l.draw(rows, most);
    fillTable($("#be-rows"), this.lines.map((l) => l.texts(rows)));
  }

  draw(p: Picture): void {
    let tried = 0;
    let kept = 0;
    for (const s of p.vertices?.at(-1)?.subtasks ?? []) {
      tried += s.state?.inPlace?.tried ?? 0;
      kept += s.state?.inPlace?.kept ?? 0;
    }
    say($("#be-inplace"), tried > 0 ? t("be.inplace.seen", { n: num(tried), kept: num(kept) }) : t("be.inplace.off"));
    const lines = fit(this.config, options.length, () => h("tr", {}, h("td"), h("td"), h("td"), h("td")));
    options.forEach(([option, knob], i) => {
      const cells = [...(lines[i]?.children ?? [])];
      const base = this.knobs.find((k) => k.name === knob)?.default;
      const value = p.knobs[knob];
      const own = value !== base;
      const texts = [option, own ? flink(knob, value) : t("be.unset"), flink(knob, base), flink(knob, value)];
      texts.forEach((text, c) => {
        const cell = cells[c];
        if (cell) say(cell, text);
      });
      if (cells[1]) cls(cells[1], own ? "wins" : "");
      if (cells[2]) cls(cells[2], own ? "over" : "wins");
    });
  }
}

/** A knob's value as Flink calls it. */
function flink(knob: string, value: unknown): string {
  if (knob === "checkpointStorage") return value === "memory" ? "jobmanager" : "filesystem";
  return String(value);
}

class Row {
  private readonly try: TryCell;
  private readonly bar = h("i");
  private readonly written = h("span");
  private readonly cells: HTMLElement[];
  readonly e: HTMLTableRowElement;

  constructor(private readonly name: string, private readonly storage: string, private readonly settings: Settings, turn: Turn) {
    this.try = new TryCell(turn);
    this.cells = Array.from({ length: 7 }, () => h("td"));
    this.cells[3] = h("td", { class: "hbar" }, h("span", { class: "track2", "aria-hidden": "true" }, this.bar), this.written);
    this.e = h("tr", {}, h("th", { scope: "row" }, t(name)), h("td", {}, t(`be.${storage}`)), ...this.cells, h("td", { class: "act" }, this.try.e));
  }

  private find(rows: Comparison[]): Comparison | undefined {
    // On hashmap there is nothing to be incremental.
    const fits = rows.filter((r) => r.knobs["backend"] === this.settings["backend"] && r.knobs["checkpointStorage"] === this.storage && (r.knobs["backend"] === "hashmap" || r.knobs["incremental"] === this.settings["incremental"]));
    return fits.find((r) => r.current) ?? fits.findLast((r) => r.checkpoints > 0) ?? fits.at(-1);
  }

  draw(rows: Comparison[], most: number): void {
    const r = this.find(rows);
    const what = `${t(this.name)}, ${t(`be.${this.storage}`)}`;
    this.try.draw(r, this.settings, what);
    const figures = figuresOf(r);
    cls(this.e, `${r?.current ? "now" : ""}${r && r.seconds > 0 ? "" : " none"}`);
    figures.forEach((text, i) => {
      if (i === 3) {
        prop(this.bar, "--v", r && r.checkpoints > 0 ? ((100 * r.checkpointedBytes) / most).toFixed(1) : 0);
        say(this.written, text);
      } else if (this.cells[i]) say(this.cells[i], text);
    });
  }

  texts(rows: Comparison[]): string[] {
    const r = this.find(rows);
    return [t(this.name), t(`be.${this.storage}`), progressOf(r), ...figuresOf(r)];
  }
}

function figuresOf(r: Comparison | undefined): string[] {
  if (!r || r.seconds === 0) return ["", "", "", "", "", "", ""];
  const perSubtask = r.recordsPerSecond / Math.max(1, r.subtaskRecordsPerSecond?.length ?? 1);
  const busy = perSubtask > 0 ? t("be.us", { n: num((1000 * r.busiest) / perSubtask, 1) }) : "";
  const has = r.checkpoints > 0;
  return [num(r.recordsPerSecond), busy, sized(r.keyedBytes), has ? sized(r.checkpointedBytes) : t("try.nocheckpoint"), has ? sized(r.stateBytes) : "", has ? duration(r.phases.syncMs) : "", has ? duration(r.phases.asyncMs) : ""];
}
