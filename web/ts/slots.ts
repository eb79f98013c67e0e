import { attr, cls, fit, h, prop } from "./dom";

/** One place for a buffer. */
export interface Slot {
  kind: "data" | "event" | "free" | "ghost" | "gap";
  fill?: number; // share of the segment
  writing?: boolean;
  read?: boolean;
  float?: boolean;
  passed?: boolean; // a barrier has overtaken it
}

/** A row of slots. Where they are too many for the room they get thinner: a count is never smoothed. */
export class Slots {
  private readonly cut = h("span", { class: "cutline" });
  readonly e = h("div", { class: "slots", role: "img" }, this.cut);

  constructor(private readonly room: number) {}

  draw(slots: Slot[]): void {
    const places = slots.filter((s) => s.kind !== "gap").length;
    const gaps = slots.length - places;
    const width = Math.max(2, Math.min(14, Math.floor((this.room + 2 - gaps * 8) / Math.max(1, places)) - 2));
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
