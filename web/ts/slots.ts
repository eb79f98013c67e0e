import { attr, cls, fit, h, presenting, prop } from "./dom";

/** One place for a buffer. */
export interface Slot {
  kind: "data" | "event" | "free" | "ghost" | "gap";
  fill?: number; // share of the segment
  writing?: boolean;
  read?: boolean;
  float?: boolean;
  passed?: boolean; // a barrier has overtaken it
}

const [widest, gap] = presenting ? [21, 3] : [14, 2];

/** A row of slots. Where they are too many for the room they get thinner: a count is never smoothed. */
export class Slots {
  private readonly cut = h("span", { class: "cutline" });
  readonly e = h("div", { class: "slots", role: "img" }, this.cut);

  private readonly room: number;

  /** room is the width there is for them; large is that of a projector's page. */
  constructor(room: number, large = 1.5 * room) {
    this.room = presenting ? large : room;
  }

  draw(slots: Slot[]): void {
    const places = slots.filter((s) => s.kind !== "gap").length;
    const gaps = slots.length - places;
    const width = Math.max(2, Math.min(widest, Math.floor((this.room + gap - gaps * (6 + gap)) / Math.max(1, places)) - gap));
    prop(this.e, "--slot-w", `${width}px`);
    this.cut.remove();
    const marks = fit(this.e, slots.length, () => h("i"));
    slots.forEach((s, i) => {
      const e = marks[i];
      if (!e) return;
      if (s.kind === "gap") {
        cls(e, "gap");
        return;
      }
      let name = `slot ${s.kind}`;
      if (s.writing) name += " writing";
      if (s.float) name += " float";
      if (s.read) name += " read";
      if (s.passed) name += " passed";
      cls(e, name);
      if (s.kind === "data") prop(e, "--f", (s.fill ?? 0).toFixed(3));
    });
    this.e.append(this.cut);
  }

  label(text: string): void {
    attr(this.e, "aria-label", text);
  }
}
