import { $, attr, cls, fit, h, prop, say } from "./dom";
import { knobNumber, poolOf, vertexOf } from "./reading";
import { Slots, type Slot } from "./slots";
import { duration, num, t } from "./text";
import { addRow, fillTable, measured, progressOf, rowOf, TryCell, type Settings, type Turn } from "./tries";
import type { Comparison, Picture, Subtask } from "./types";

/** The settings to be tried: what fits the overdraft, the same without one, what is too much for it, and a larger one. */
const tries: Settings[] = [
  { fanOut: 1000, overdraftBuffers: 20 },
  { fanOut: 1000, overdraftBuffers: 0 },
  { fanOut: 5000, overdraftBuffers: 20 },
  { fanOut: 5000, overdraftBuffers: 200 },
];

/** Soft and hard back-pressure apart, the overdraft in use, and the mail that waits for the task. */
export class Overdraft {
  private readonly live = $("#overdraft-live");
  private readonly body = $("#overdraft-tries");
  private readonly rows = $("#overdraft-rows");
  private readonly views: SourceView[] = [];
  private readonly lines: TryLine[] = [];

  constructor(private readonly turn: Turn) {}

  draw(p: Picture): void {
    const subtasks = vertexOf(p, "source")?.subtasks ?? [];
    while (this.views.length > subtasks.length) this.views.pop()?.e.remove();
    subtasks.forEach((s, i) => {
      let v = this.views[i];
      if (!v) {
        v = new SourceView();
        this.views.push(v);
        this.live.append(v.e);
      }
      v.draw(p, s);
    });
  }

  compare(rows: Comparison[]): void {
    const list: [Settings, Comparison | undefined][] = tries.map((s) => [s, rowOf(rows, s)]);
    for (const r of rows) if (!list.some(([, x]) => x === r) && (r.current || r.seconds > 0)) list.push([{ ...r.knobs }, r]);
    while (this.lines.length > list.length) this.lines.pop()?.e.remove();
    list.forEach(([s, r], i) => {
      let line = this.lines[i];
      if (!line) {
        line = new TryLine(this.turn);
        this.lines.push(line);
        addRow(this.body, line.e);
      }
      line.draw(s, r);
    });
    fillTable(this.rows, list.map(([s, r]) => textsOf(s, r)));
  }
}

function textsOf(s: Settings, r: Comparison | undefined): string[] {
  const head = [num(Number(s["fanOut"])), num(Number(s["overdraftBuffers"])), progressOf(r)];
  if (!measured(r)) return [...head, "", "", "", "", "", ""];
  return [...head, num(r.softBackPressured), num(r.hardBackPressured), num(r.overdraftMax), `${num(100 * r.outPoolUsageMax)} %`, duration(r.mailboxLatencyMs),
    r.checkpoints > 0 ? duration(r.checkpointMs) : t("try.nocheckpoint")];
}

/** Twice as long on the left as one that is never seen whole: at most so many slots of the overdraft are drawn. */
const mostOverdraft = 60;

class SourceView {
  private readonly name = h("b");
  private readonly bar = h("span", { class: "soft-hard", role: "img" }, h("i", { class: "u-soft" }), h("i", { class: "u-hard" }));
  private readonly soft = h("b");
  private readonly hard = h("b");
  private readonly hardBox = h("span", { class: "od-hard" }, h("i", { class: "sw u-hard" }), `${t("overdraft.hard")} `, this.hard, ` ${t("unit.ms/s")}`);
  private readonly pool = new Slots(190, 236);
  private readonly over = new Slots(300, 330);
  private readonly poolText = h("span");
  private readonly overText = h("span");
  private readonly mail = h("span", { class: "mails", "aria-hidden": "true" });
  private readonly mailText = h("span");
  private readonly mailWait = h("span");
  readonly e: HTMLElement;

  constructor() {
    this.e = h("div", { class: "od" },
      h("div", { class: "od-time" }, this.name, this.bar,
        h("div", { class: "cap" }, h("span", {}, h("i", { class: "sw u-soft" }), `${t("overdraft.soft")} `, this.soft, ` ${t("unit.ms/s")}`), this.hardBox)),
      h("div", { class: "od-pool" }, this.pool.e, h("div", { class: "cap" }, this.poolText)),
      h("div", { class: "od-over" }, this.over.e, h("div", { class: "cap" }, this.overText)),
      h("div", { class: "od-mail" }, this.mail, h("div", { class: "cap" }, this.mailText), h("div", { class: "cap" }, this.mailWait)));
  }

  draw(p: Picture, s: Subtask): void {
    say(this.name, `source ${s.index}`);
    const soft = s.recent.softBackPressuredTimeMsPerSecond;
    const hard = s.recent.hardBackPressuredTimeMsPerSecond;
    prop(this.bar.firstElementChild as HTMLElement, "--v", Math.min(100, soft / 10).toFixed(1));
    prop(this.bar.lastElementChild as HTMLElement, "--v", Math.min(100, hard / 10).toFixed(1));
    attr(this.bar, "aria-label", t("overdraft.times", { soft: num(soft), hard: num(hard) }));
    say(this.soft, num(soft));
    say(this.hard, num(hard));
    cls(this.hardBox, hard >= 1 ? "od-hard on" : "od-hard");
    const pool = poolOf(p, `source ${s.index} out`);
    const limit = knobNumber(p, "overdraftBuffers", 20);
    if (pool) {
      const over = pool.overdraftInUse;
      // Segments taken for the overdraft are counted with the pool's own.
      const used = Math.max(0, Math.min(pool.size, pool.requested - pool.available - over));
      const own: Slot[] = Array.from({ length: pool.size }, (_, i) => (i < used ? { kind: "data", fill: 1 } : { kind: "free" }));
      this.pool.draw(own);
      this.pool.label(t("pool.of", { what: t("pool.out"), used, size: pool.size }));
      say(this.poolText, t("overdraft.pool", { used, size: pool.size }));
      const places = Math.max(over, Math.min(limit, mostOverdraft));
      this.over.draw(Array.from({ length: places }, (_, i) => (i < over ? { kind: "data", fill: 1, float: true } : { kind: "free", float: true })));
      const text = limit === 0 && over === 0 ? t("overdraft.none") : t("overdraft.used", { used: over, limit });
      this.over.label(text);
      say(this.overText, text);
    }
    fit(this.mail, Math.min(12, s.mailboxQueueSize), () => h("i"));
    say(this.mailText, s.mailboxQueueSize > 0 ? t("overdraft.mail", { n: s.mailboxQueueSize }) : t("overdraft.nomail"));
    say(this.mailWait, t("overdraft.waited", { ms: duration(s.mailboxLatencyMs) }));
  }
}

class TryLine {
  private readonly name = h("th", { scope: "row" });
  private readonly bar = h("span", { class: "soft-hard", role: "img" }, h("i", { class: "u-soft" }), h("i", { class: "u-hard" }));
  private readonly cells = Array.from({ length: 5 }, () => h("td"));
  private readonly try: TryCell;
  readonly e: HTMLTableRowElement;

  constructor(turn: Turn) {
    this.try = new TryCell(turn);
    const [times, ...rest] = this.cells;
    this.e = h("tr", {}, this.name, h("td", { class: "bar" }, this.bar), ...(times ? [times] : []), ...rest, h("td", { class: "act" }, this.try.e));
  }

  draw(s: Settings, r: Comparison | undefined): void {
    const what = t("overdraft.setting", { fan: num(Number(s["fanOut"])), over: num(Number(s["overdraftBuffers"])) });
    say(this.name, what);
    attr(this.e, "data-try", `${s["fanOut"]}/${s["overdraftBuffers"]}`);
    this.try.draw(r, s, what);
    const has = measured(r);
    cls(this.e, `${r?.current ? "now" : ""}${has ? "" : " none"}`.trim());
    this.bar.hidden = !has;
    const texts = has ? [`${num(r.softBackPressured)} / ${num(r.hardBackPressured)}`, ...textsOf(s, r).slice(5)] : ["", "", "", "", ""];
    this.cells.forEach((c, i) => say(c, texts[i] ?? ""));
    if (!has) return;
    prop(this.bar.firstElementChild as HTMLElement, "--v", Math.min(100, r.softBackPressured / 10).toFixed(1));
    prop(this.bar.lastElementChild as HTMLElement, "--v", Math.min(100, r.hardBackPressured / 10).toFixed(1));
    attr(this.bar, "aria-label", t("overdraft.times", { soft: num(r.softBackPressured), hard: num(r.hardBackPressured) }));
  }
}
