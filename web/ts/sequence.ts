import { $, $$, attr, cls, fit, h, prop, say } from "./dom";
import { knobNumber, segmentBytes } from "./reading";
import { clock, num, sized, t } from "./text";
import { addRow, fillTable, measured, progressOf, rowOf, TryCell, type Settings, type Turn } from "./tries";
import type { Comparison, Frame, Frames, KnobInfo, Picture } from "./types";

/** Frames drawn at once. */
export const drawnFrames = 16;
/** As many as the engine keeps of a channel. */
const keptFrames = 256;

/** The frames between both ends, one a row, with the books of each end beside it. */
export class Sequence {
  private readonly channels = $("#seq-channels");
  private readonly views = $("#seq-view");
  private readonly hold = $<HTMLButtonElement>("#seq-hold");
  private readonly body = $("#seq");
  private readonly none = $("#seq-none");
  private readonly rows = $("#seq-rows");
  private readonly lines: FrameLine[] = [];
  private chosen = "";
  private view = "latest";
  private held = false;
  private latest: Frame[] = [];
  /** The frames of a channel from its first one on, as far as they were seen. */
  private readonly openings = new Map<string, { first: number; frames: Frame[] }>();
  private wanted = false;
  private segment = 32 << 10;
  private p: Picture | undefined;

  constructor(private readonly asked: () => void) {
    this.hold.addEventListener("click", () => {
      this.held = !this.held;
      attr(this.hold, "aria-pressed", String(this.held));
      if (!this.held) this.asked();
    });
    for (const b of $$<HTMLButtonElement>("button", this.views)) {
      b.addEventListener("click", () => {
        this.view = b.value;
        for (const x of $$("button", this.views)) attr(x, "aria-pressed", String(x === b));
        this.drawFrames();
      });
    }
  }

  /** What to ask for next: the consumer chosen, and how many frames. The opening is asked for once, while it is kept. */
  next(): { consumer: string; n: number } {
    return { consumer: this.chosen, n: this.wanted || this.chosen === "" ? keptFrames : drawnFrames };
  }

  take(f: Frames): void {
    const first = f.channels[0];
    if (!this.chosen && first) this.chosen = first.consumer;
    this.drawChannels(f);
    const mine = f.channels.find((c) => c.consumer === this.chosen);
    if (!mine) return;
    const frames = f.frames.filter((x) => x.consumer === this.chosen);
    const opening = this.openings.get(this.chosen);
    const kept = frames[0]?.number === mine.first && frames[0]?.kind === "PartitionRequest";
    // After a restart of the job its channels open anew.
    if (opening && mine.kept < keptFrames && opening.first !== mine.first) this.openings.delete(this.chosen);
    const has = this.openings.get(this.chosen);
    if (kept && (!has || has.frames.length < drawnFrames)) this.openings.set(this.chosen, { first: mine.first, frames: frames.slice(0, drawnFrames) });
    const now = this.openings.get(this.chosen);
    this.wanted = mine.kept < keptFrames && (!now || now.frames.length < drawnFrames);
    if (this.held) return;
    this.latest = frames.slice(-drawnFrames);
    this.drawFrames();
  }

  /** The counters of the chosen channel. */
  draw(p: Picture): void {
    this.p = p;
    this.segment = segmentBytes(p);
    const c = p.channels?.find((x) => `${x.to.vertex} ${x.to.subtask}` === this.chosen);
    const tcp = p.knobs["flowControl"] === "tcp";
    $("#seq-books").hidden = !c || tcp;
    $("#seq-tcp").hidden = !tcp;
    if (!c || tcp) return;
    const initial = knobNumber(p, "exclusiveBuffers", 2);
    const saved = c.announcedCredit - c.sentAddCredit;
    say($("#seq-given"), t("seq.given", { initial, announced: num(c.announcedCredit), sum: num(initial + c.announcedCredit) }));
    say($("#seq-used"), t("seq.used", { sent: num(c.sentBuffers), left: c.producer.credit }));
    say($("#seq-saved"), t("seq.saved", { credits: num(c.announcedCredit), messages: num(c.sentAddCredit), saved: num(saved), share: num((100 * saved) / Math.max(1, c.announcedCredit)) }));
  }

  private drawChannels(f: Frames): void {
    const buttons = fit(this.channels, f.channels.length, () => {
      const b = h("button", { type: "button" });
      b.addEventListener("click", () => {
        this.chosen = b.value;
        this.latest = [];
        this.wanted = true;
        for (const x of $$<HTMLButtonElement>("button", this.channels)) attr(x, "aria-pressed", String(x === b));
        if (this.p) this.draw(this.p);
        this.asked();
      });
      return b;
    });
    f.channels.forEach((c, i) => {
      const b = buttons[i];
      if (!b) return;
      b.value = c.consumer;
      attr(b, "value", c.consumer);
      say(b, `${c.producer} → ${c.consumer}`);
      attr(b, "aria-pressed", String(c.consumer === this.chosen));
    });
    const mine = f.channels.find((c) => c.consumer === this.chosen);
    say($("#seq-producer"), mine?.producer ?? "");
    say($("#seq-consumer"), mine?.consumer ?? "");
  }

  private drawFrames(): void {
    const frames = this.view === "opening" ? (this.openings.get(this.chosen)?.frames ?? []) : this.latest;
    this.none.hidden = frames.length > 0;
    if (frames.length === 0) say(this.none, t(this.view === "opening" ? "seq.lost" : "seq.none"));
    while (this.lines.length > frames.length) this.lines.pop()?.e.remove();
    frames.forEach((f, i) => {
      let line = this.lines[i];
      if (!line) {
        line = new FrameLine();
        this.lines.push(line);
        this.body.append(line.e);
      }
      line.draw(f, this.segment);
    });
    fillTable(this.rows, frames.map((f) => [String(f.number), time(f.sentMs), f.receivedMs < 0 ? t("seq.onway") : time(f.receivedMs), f.kind + (f.type ? ` ${f.type}` : ""),
      f.fromProducer ? `${f.producer} → ${f.consumer}` : `${f.consumer} → ${f.producer}`, f.kind === "BufferResponse" ? String(f.seq) : "", f.bytes > 0 ? num(f.bytes) : "",
      carriesBacklog(f) ? String(f.backlog) : "", f.credit > 0 ? String(f.credit) : "",
      ...books(f).map(([a, b]) => (a === b ? figure(b) : `${figure(a)} → ${figure(b)}`))]));
  }
}

const time = (ms: number): string => `${clock(ms, false)}.${String(Math.floor(ms) % 1000).padStart(3, "0")}`;
const figure = (n: number): string => (n < 0 ? "–" : String(n));
const carriesBacklog = (f: Frame): boolean => f.kind === "BufferResponse" || f.kind === "BacklogAnnouncement";

/** Before and after of each figure: credit and backlog at the producer; exclusive, floating, unannounced, queued, backlog at
 * the consumer. A frame on its way has not touched the books of the end that it goes to. */
function books(f: Frame): [number, number][] {
  const unread = f.receivedMs < 0;
  const p: [number, number][] = (["credit", "backlog"] as const).map((k) => [f.producerBefore[k], f.producerAfter[k]]);
  const c: [number, number][] = (["exclusive", "floating", "unannounced", "queued", "backlog"] as const).map((k) => [f.consumerBefore[k], f.consumerAfter[k]]);
  const nothing = (x: [number, number][]): [number, number][] => x.map(() => [-1, -1]);
  if (unread && f.fromProducer) return [...p, ...nothing(c)];
  if (unread) return [...nothing(p), ...c];
  return [...p, ...c];
}

class FrameLine {
  private readonly time = h("td", { class: "mono dim" });
  private readonly left = [h("td"), h("td")];
  private readonly right = Array.from({ length: 5 }, () => h("td"));
  private readonly name = h("span", { class: "msg-name" });
  private readonly mark = h("span");
  private readonly note = h("span", { class: "msg-note" });
  private readonly msg = h("div", {}, this.name, h("i"), this.mark, h("i"), this.note);
  readonly e = h("tr", {}, this.time, ...this.left, h("td", { class: "lifelines" }, this.msg), ...this.right);

  draw(f: Frame, segment: number): void {
    attr(this.e, "data-kind", f.kind);
    attr(this.e, "data-number", String(f.number));
    say(this.time, time(f.sentMs));
    say(this.name, f.kind);
    const opens = f.kind === "AddCredit" && f.producerBefore.credit === 0 && f.producerAfter.credit > 0 && f.receivedMs >= 0;
    cls(this.msg, `msg ${f.fromProducer ? "right" : "left"}${f.receivedMs < 0 ? " flying" : ""}`);
    cls(this.e, f.isEvent ? "ev" : opens ? "opens" : "");
    let note = "";
    if (f.isEvent) {
      cls(this.mark, "mk ev");
      say(this.mark, "");
      note = t("seq.event");
    } else if (f.kind === "BufferResponse") {
      cls(this.mark, "mk frame");
      prop(this.mark, "--f", Math.min(1, f.bytes / segment).toFixed(2));
      this.number(f.backlog);
      note = sized(f.bytes);
    } else if (f.kind === "BacklogAnnouncement") {
      cls(this.mark, "mk frame ask");
      prop(this.mark, "--f", "0");
      this.number(f.backlog);
    } else if (f.kind === "AddCredit" || f.kind === "PartitionRequest") {
      cls(this.mark, "mk token");
      say(this.mark, `+${f.credit}`);
      if (opens) note = t("seq.opens");
    } else {
      cls(this.mark, "mk");
      say(this.mark, "");
      if (f.kind === "NewBufferSize") note = sized(f.credit);
    }
    if (f.receivedMs < 0) note = t("seq.onway");
    say(this.note, note);
    const all = books(f);
    [...this.left, ...this.right].forEach((cell, i) => {
      const [before, after] = all[i] ?? [-1, -1];
      const moved = before !== after && before >= 0;
      say(cell, moved ? `${before} → ${after}` : figure(after));
      cls(cell, moved ? "moved" : "");
    });
  }

  private number(n: number): void {
    if (this.mark.firstElementChild) say(this.mark.firstElementChild, String(n));
    else this.mark.replaceChildren(h("span", {}, String(n)));
  }
}

/** Credits beside plain TCP: what the fast neighbour of a slow channel gets. */
export class FlowTries {
  private readonly body = $("#flow-tries");
  private readonly rows = $("#flow-rows");
  private readonly tries: { settings: Settings; name: string; line: FlowLine }[];

  constructor(turn: Turn, knobs: KnobInfo[]) {
    const deflt = (name: string): number => Number(knobs.find((k) => k.name === name)?.default ?? 0);
    const usual = { exclusiveBuffers: deflt("exclusiveBuffers"), floatingBuffers: deflt("floatingBuffers") };
    this.tries = [
      { settings: { flowControl: "credit", ...usual }, name: t("flow.credit"), line: new FlowLine(turn) },
      { settings: { flowControl: "tcp", ...usual }, name: t("flow.tcp"), line: new FlowLine(turn) },
      { settings: { flowControl: "credit", ...usual, exclusiveBuffers: 0 }, name: t("flow.zero"), line: new FlowLine(turn) },
    ];
    for (const x of this.tries) addRow(this.body, x.line.e);
  }

  draw(rows: Comparison[]): void {
    const found = this.tries.map((x) => rowOf(rows, x.settings));
    const base = found[0];
    const most = Math.max(1, ...found.flatMap((r) => r?.subtaskRecordsPerSecond ?? []));
    this.tries.forEach((x, i) => x.line.draw(x.name, x.settings, found[i], base, most));
    fillTable(this.rows, this.tries.map((x, i) => {
      const r = found[i];
      if (!measured(r)) return [x.name, progressOf(r), "", "", "", "", ""];
      return [x.name, progressOf(r), num(r.subtaskRecordsPerSecond?.[0] ?? 0), num(r.subtaskRecordsPerSecond?.[1] ?? 0), shareOf(r, base), num(r.addCreditMessages), num(r.announcedCredits)];
    }));
  }
}

/** The neighbour's records per second as a share of those with credits. */
function shareOf(r: Comparison, base: Comparison | undefined): string {
  const with1 = base?.subtaskRecordsPerSecond?.[1] ?? 0;
  return measured(base) && with1 > 0 ? `${num((100 * (r.subtaskRecordsPerSecond?.[1] ?? 0)) / with1)} %` : "–";
}

class FlowLine {
  private readonly name = h("th", { scope: "row" });
  private readonly slow = new Bar();
  private readonly fast = new Bar();
  private readonly share = h("td", { class: "num" });
  private readonly perBuffer = h("td", { class: "num" });
  private readonly try: TryCell;
  readonly e: HTMLTableRowElement;

  constructor(turn: Turn) {
    this.try = new TryCell(turn);
    this.e = h("tr", {}, this.name, this.slow.e, this.fast.e, this.share, this.perBuffer, h("td", { class: "act" }, this.try.e));
  }

  draw(name: string, settings: Settings, r: Comparison | undefined, base: Comparison | undefined, most: number): void {
    say(this.name, name);
    attr(this.e, "data-try", `${settings["flowControl"]}/${settings["exclusiveBuffers"]}`);
    const has = measured(r);
    cls(this.e, `${r?.current ? "now" : ""}${has ? "" : " none"}`.trim());
    this.slow.draw(has ? r.subtaskRecordsPerSecond?.[0] : undefined, most);
    this.fast.draw(has ? r.subtaskRecordsPerSecond?.[1] : undefined, most);
    say(this.share, has ? shareOf(r, base) : "");
    say(this.perBuffer, !has ? "" : r.addCreditMessages > 0 ? t("flow.messages", { n: num(r.addCreditMessages), credits: num(r.announcedCredits) }) : t("flow.nomessages"));
    this.try.draw(r, settings, name);
  }
}

/** A cell with a bar and its figure. */
export class Bar {
  private readonly bar = h("i");
  private readonly value = h("span");
  readonly e = h("td", { class: "hbar" }, h("span", { class: "track2", "aria-hidden": "true" }, this.bar), this.value);

  draw(n: number | undefined, most: number): void {
    prop(this.bar, "--v", n === undefined ? 0 : ((100 * n) / Math.max(1, most)).toFixed(1));
    say(this.value, n === undefined ? "" : num(n));
  }
}
