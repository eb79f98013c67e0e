import { $, attr, cls, fit, h, prop, say } from "./dom";
import { ChannelStrip } from "./strip";
import { gateSize, inFlight, segmentBytes, subtaskOf, type Sample } from "./reading";
import { duration, num, sized, t } from "./text";
import type { Channel, Gate, Picture } from "./types";

/** Beyond this many strips a gate shows its first few and says how many more it has. */
const mostStrips = 24;

/** Channels, grouped by the consumer's gate: floating buffers and the debloated size belong to it. */
export class Gates {
  private readonly root = $("#gates");
  private readonly gates = new Map<string, GateView>();

  /** before gives the reading just before debloating was last switched, if that is known. */
  draw(p: Picture, before: Sample | undefined, label: boolean): void {
    const groups = new Map<string, { gate: Gate | undefined; channels: Channel[] }>();
    for (const c of p.channels ?? []) {
      const name = `${c.to.vertex} ${c.to.subtask}`;
      let g = groups.get(name);
      if (!g) {
        g = { gate: p.gates?.find((x) => x.vertex === c.to.vertex && x.subtask === c.to.subtask), channels: [] };
        groups.set(name, g);
      }
      g.channels.push(c);
    }
    for (const [name, view] of this.gates) {
      if (!groups.has(name)) {
        view.e.remove();
        this.gates.delete(name);
      }
    }
    const strips = Math.max(1, Math.floor(mostStrips / Math.max(1, groups.size)));
    for (const [name, g] of groups) {
      let view = this.gates.get(name);
      if (!view) {
        view = new GateView(name);
        this.gates.set(name, view);
        this.root.append(view.e);
      }
      view.draw(p, g.gate, g.channels, strips, before?.gates[name], label);
    }
  }
}

class GateView {
  private readonly pool = h("span", { class: "pool", "aria-hidden": "true" });
  private readonly lent = h("span");
  private readonly size = h("b");
  private readonly flight = h("b");
  private readonly was = h("span", { class: "dim wide" });
  private readonly drains = h("b");
  private readonly drainsBox = h("span", {}, `${t("gate.drains")} `, this.drains);
  private readonly more = h("p", { class: "more-ch", hidden: true });
  private readonly strips = new Map<string, ChannelStrip>();
  private readonly body = h("div");
  readonly e: HTMLElement;

  constructor(name: string) {
    this.e = h("div", { class: "gate", "data-gate": name },
      h("div", { class: "gate-h" }, h("b", {}, t("gate", { name })),
        h("span", {}, t("gate.pool"), this.pool, this.lent), h("span", { class: "grow" }),
        h("span", {}, `${t("gate.size")} `, this.size),
        h("span", { class: "flight" }, `${t("gate.inflight")} `, this.flight, " ", this.was), this.drainsBox),
      this.body, this.more);
  }

  draw(p: Picture, gate: Gate | undefined, channels: Channel[], most: number, was: number | undefined, label: boolean): void {
    const first = channels[0];
    if (!first) return;
    const segment = segmentBytes(p);
    const size = gateSize(p, first.to.vertex, first.to.subtask);
    const cut = p.knobs["debloat"] === true && size < segment;
    cls(this.e, !cut ? "gate uncut" : size > 0.78 * segment ? "gate high" : "gate");
    prop(this.e, "--cut", `${((100 * size) / segment).toFixed(1)}%`);
    this.head(p, gate, channels, first, size, was);

    const shown = channels.slice(0, most);
    const names = new Set(shown.map(nameOf));
    for (const [name, strip] of this.strips) {
      if (!names.has(name)) {
        strip.e.remove();
        this.strips.delete(name);
      }
    }
    for (const c of shown) {
      const name = nameOf(c);
      let strip = this.strips.get(name);
      if (!strip) {
        strip = new ChannelStrip(c);
        this.strips.set(name, strip);
        this.body.append(strip.e);
      }
      strip.draw(p, c, { segment, size, cut, floating: gate?.floatingTotal ?? 0, label });
    }
    this.more.hidden = shown.length === channels.length;
    say(this.more, t("channels.more", { n: channels.length - shown.length }));
  }

  private head(p: Picture, gate: Gate | undefined, channels: Channel[], first: Channel, size: number, was: number | undefined): void {
    const total = gate?.floatingTotal ?? 0;
    if (total === 0) {
      fit(this.pool, 0, () => h("i"));
      say(this.lent, t("gate.nofloat"));
    } else {
      const lent = total - (gate?.floatingFree ?? 0);
      fit(this.pool, total, () => h("i")).forEach((e, i) => cls(e, i < lent ? "lent" : ""));
      say(this.lent, t("gate.lent", { lent, free: gate?.floatingFree ?? 0 }));
    }
    say(this.size, sized(size));
    say(this.flight, sized(channels.reduce((sum, c) => sum + inFlight(c), 0)));
    say(this.was, was === undefined ? "" : t("gate.was", { was: sized(was) }));
    const estimate = subtaskOf(p, first.to.vertex, first.to.subtask)?.estimatedTimeToConsumeBuffersMs;
    this.drainsBox.hidden = estimate === undefined;
    if (estimate !== undefined) say(this.drains, estimate >= 100 ? `${num(estimate / 1000, 2, true)} ${t("unit.s")}` : duration(estimate));
    attr(this.drainsBox, "title", "estimatedTimeToConsumeBuffersMs");
  }
}

const nameOf = (c: Channel): string => `${c.kind} ${c.from.vertex} ${c.from.subtask} ${c.to.vertex} ${c.to.subtask}`;
