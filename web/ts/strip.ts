import { attr, cls, h, icon, say } from "./dom";
import { knobNumber, subtaskOf } from "./reading";
import { Slots, type Slot } from "./slots";
import { num, sized, t } from "./text";
import { Wire } from "./wire";
import type { Channel, Picture } from "./types";

/** What a strip takes from its gate. */
interface Setting {
  segment: number;
  size: number;
  cut: boolean;
  floating: number;
  label: boolean; // whether texts for screen readers are due; once a second is enough
}

/** Slots drawn of one queue; a longer one is cut at its old end, and says so. */
const mostSlots = 40;

/** One logical channel with both its ends, from the picture alone. */
export class ChannelStrip {
  private readonly top = h("span", { class: "top" });
  private readonly cutText = h("span", { class: "cut" });
  private readonly where = h("span", { class: "label" });
  private readonly queue = new Slots(160);
  private readonly queueCount = h("b");
  private readonly queueNote = h("span");
  private readonly queueBytes = h("span");
  private readonly credit = h("span", { class: "n" });
  private readonly sluice = h("div", { class: "sluice" }, h("span", {}, this.credit, h("span", { class: "label" }, t("sluice.credit"))), h("i"));
  private readonly sluiceWord = h("div", { class: "cap" });
  private readonly wire = new Wire();
  private readonly backlog = h("b");
  private readonly unannounced = h("b");
  private readonly slots = new Slots(166);
  private readonly own = h("span");
  private readonly floats = h("span");
  private readonly inplace = h("i", { class: "slot data read" });
  private readonly inplaceBox: HTMLElement;
  private readonly over = h("span", { class: "over", hidden: true }, icon("dia", true), h("span"));
  private last: Channel | undefined;
  /** Overtaken buffers that are still in the producer's queue, and in the consumer's. */
  private passed = 0;
  private passedIn = 0;
  readonly e: HTMLElement;

  constructor(c: Channel) {
    const from = `${c.from.vertex} ${c.from.subtask}`;
    const to = `${c.to.vertex} ${c.to.subtask}`;
    this.inplaceBox = h("div", { class: "inplace", role: "img" }, this.inplace, h("span", {}, t("inplace")));
    this.e = h("div", { class: "strip", tabindex: 0, role: "group", "data-channel": `${from} → ${to}`, "data-kind": c.kind,
      "aria-label": t("channel.name", { from, to, kind: t(`channel.${c.kind}`) }) },
      h("div", { class: "ch" }, h("b", {}, `${from} →`), h("b", {}, to), this.where, this.over,
        h("span", { class: "scale", "aria-hidden": "true" }, this.top, this.cutText)),
      h("div", {}, this.queue.e, h("div", { class: "cap" }, h("span", {}, this.queueCount, this.queueNote), this.queueBytes)));
    if (c.kind === "local") {
      this.e.append(h("div", { class: "bridge" }, h("span", {}, t("bridge")), icon("arr")), h("div", {}, this.inplaceBox));
    } else {
      this.e.append(
        h("div", {}, this.sluice, this.sluiceWord),
        h("div", {}, this.wire.e, h("div", { class: "cap" }, h("span", { class: "dim" }, `${t("wire.backlog")} `, this.backlog, h("span", { class: "wide" }, ` ${t("wire.rides")}`)),
          h("span", {}, `${t("wire.unannounced")} `, this.unannounced))),
        h("div", {}, this.slots.e, h("div", { class: "cap" }, this.own, this.floats)));
    }
  }

  draw(p: Picture, c: Channel, setting: Setting): void {
    const s = { ...setting, label: setting.label || !this.last };
    const from = subtaskOf(p, c.from.vertex, c.from.subtask)?.taskManager ?? 0;
    const to = subtaskOf(p, c.to.vertex, c.to.subtask)?.taskManager ?? 0;
    say(this.where, c.kind === "local" ? `${t("channel.local")}, ${t("channel.inside", { n: from + 1 })}` : `${t("channel.remote")}, ${t("channel.between", { from: from + 1, to: to + 1 })}`);
    say(this.top, `${Math.round(s.segment / 1024)}K`);
    say(this.cutText, `${num(s.size / 1024, 1)}K`);
    this.follow(c);
    this.drawQueue(p, c, s);
    if (c.kind === "local") this.drawInPlace(c, s);
    else {
      this.drawWire(c, s);
      this.drawConsumer(p, c, s);
    }
    this.last = c;
  }

  /** Keeps track of overtaken buffers: a barrier passes what waits, and what waits leaves in the order it came. */
  private follow(c: Channel): void {
    const moved = Math.max(0, c.sentBuffers - (this.last?.sentBuffers ?? c.sentBuffers));
    const more = Math.max(0, c.overtaken - (this.last?.overtaken ?? c.overtaken));
    const queued = c.kind === "remote" ? (c.consumer?.queued ?? 0) : 0;
    const here = Math.min(this.passed, moved);
    this.passed = Math.min(c.producer.buffers, this.passed - here + Math.min(more, c.producer.buffers));
    this.passedIn = more > 0 ? Math.min(queued, more) : Math.min(queued, Math.max(0, this.passedIn + here - moved));
    this.over.hidden = c.overtaken === 0;
    say(this.over.lastElementChild as Element, t("strip.overtaken", { n: num(c.overtaken) }));
  }

  private drawQueue(p: Picture, c: Channel, s: Setting): void {
    const fill = c.producer.fill ?? []; // oldest first; drawn newest first, so that the head stands next to the wire
    const limit = knobNumber(p, "maxBuffersPerSubpartition", 10);
    const drawn = fill.slice(0, mostSlots);
    const slots: Slot[] = [];
    for (let i = drawn.length; i < Math.min(limit, mostSlots); i++) slots.push({ kind: "ghost" });
    for (let i = drawn.length - 1; i >= 0; i--) {
      const bytes = drawn[i] ?? 0;
      if (bytes < 0) slots.push({ kind: "event" });
      else slots.push({ kind: "data", fill: Math.min(1, bytes / s.segment), writing: i === fill.length - 1 && bytes < s.size, passed: i < this.passed });
    }
    this.queue.draw(slots);
    const events = fill.filter((b) => b < 0).length;
    const n = c.producer.buffers;
    say(this.queueCount, String(n));
    let note = `/${limit}`;
    if (c.producer.blocked) note += ` ${t("queue.blocked")}`;
    else if (n >= limit) note += ` ${t("queue.limit")}`;
    if (fill.length > drawn.length) note += `, ${t("queue.older", { n: fill.length - drawn.length })}`;
    say(this.queueNote, note);
    say(this.queueBytes, c.producer.blocked ? "" : sized(c.producer.bytes)); // there is room for one of the two
    if (s.label) {
      let text = t("queue", { n, limit, data: fill.length - events, events, bytes: sized(c.producer.bytes) });
      if (s.cut) text += t("queue.cut", { cut: sized(s.size), segment: sized(s.segment) });
      if (c.overtaken > 0) text += t("strip.overtaken.say", { n: c.overtaken, now: this.passed + this.passedIn });
      this.queue.label(text);
    }
  }

  private drawInPlace(c: Channel, s: Setting): void {
    const head = c.producer.fill?.find((b) => b >= 0) ?? 0;
    this.inplace.style.setProperty("--f", Math.min(1, head / s.segment).toFixed(3));
    if (s.label) attr(this.inplaceBox, "aria-label", t("inplace.say", { n: c.producer.fill?.length ?? 0 }));
  }

  private drawWire(c: Channel, s: Setting): void {
    const open = c.producer.credit > 0;
    cls(this.sluice, open ? "sluice open" : "sluice");
    say(this.credit, String(c.producer.credit));
    say(this.sluiceWord, t(open ? "sluice.open" : "sluice.shut"));
    say(this.backlog, String(c.producer.backlog));
    say(this.unannounced, String(c.consumer?.unannouncedCredit ?? 0));
    const since = (now: number, then: number | undefined): number => Math.max(0, now - (then ?? now));
    const frames = since(c.sentBuffers, this.last?.sentBuffers);
    const events = since(c.sentEvents, this.last?.sentEvents);
    const credits = since(c.announcedCredit, this.last?.announcedCredit);
    const messages = since(c.sentAddCredit, this.last?.sentAddCredit);
    this.wire.sent(frames, events, credits, messages, c.producer.backlog, s.size / s.segment);
    if (s.label) {
      attr(this.sluice, "title", t("sluice.say", { state: t(open ? "sluice.open" : "sluice.shut"), n: c.producer.credit }));
      attr(this.wire.e, "aria-label", t("wire", { frames, events, credits, backlog: c.producer.backlog }));
    }
  }

  /** Every filled slot is drawn as full as its buffer is. Which of them are the channel's own and which are borrowed, the
   * engine does not tell apart once they hold data: the oldest are drawn in the own slots, from the reader's side. */
  private drawConsumer(p: Picture, c: Channel, s: Setting): void {
    const e = c.consumer;
    if (!e) return;
    const exclusive = knobNumber(p, "exclusiveBuffers", 2);
    const filled = (e.fill ?? []).filter((bytes) => bytes >= 0).map((bytes) => Math.min(1, bytes / s.segment));
    const ownUsed = Math.max(0, exclusive - e.exclusiveFree);
    // One that is in use but no longer queued is the one being read.
    const reading = p.state === "RUNNING" && ownUsed > 0 && ownUsed + e.floatingHeld > filled.length;
    if (reading) filled.unshift(filled[0] ?? s.size / s.segment);
    const slots: Slot[] = [];
    for (let i = 0; i < exclusive; i++) {
      const fill = i >= exclusive - ownUsed ? filled[exclusive - 1 - i] : undefined;
      slots.push(fill === undefined ? { kind: "free" } : { kind: "data", fill, read: reading && i === exclusive - 1, passed: exclusive - 1 - i < this.passedIn });
    }
    const borrowed = filled.slice(ownUsed);
    if (s.floating > 0) slots.push({ kind: "gap" });
    for (let i = 0; i < s.floating; i++) {
      if (i >= e.floatingHeld) slots.push({ kind: "ghost" });
      else slots.push(i < borrowed.length ? { kind: "data", fill: borrowed[i] ?? 0, float: true, passed: ownUsed + i < this.passedIn } : { kind: "free", float: true });
    }
    this.slots.draw(slots);
    say(this.own, t("slots.own", { n: exclusive }));
    say(this.floats, t("slots.floating", { n: e.floatingHeld, of: s.floating }));
    if (s.label) this.slots.label(t("slots", { queued: e.queued, own: exclusive, floating: e.floatingHeld, total: s.floating }));
  }
}
