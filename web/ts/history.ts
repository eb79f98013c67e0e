import { sample, type Sample } from "./reading";
import type { KnobChange, Picture } from "./types";

export const keepSeconds = 60;

/** The readings of the last minute. They survive a change of the language or a reload of the page: the job's clock tells
 * whether they still belong to the run. */
export class History {
  samples: Sample[] = [];
  changes: KnobChange[] = [];
  private beforeAt = -1;
  private beforeSample: Sample | undefined;

  constructor(private readonly session: string) {
    try {
      const kept = JSON.parse(sessionStorage.getItem(this.key()) ?? "[]") as Sample[];
      if (Array.isArray(kept)) this.samples = kept;
    } catch {
      // nothing kept
    }
    addEventListener("pagehide", () => this.keep());
  }

  add(p: Picture): void {
    const s = sample(p);
    const last = this.samples.at(-1);
    if (last && s.t < last.t) this.samples = []; // another run's clock
    if (last && s.t - last.t < 0.05) return;
    this.samples.push(s);
    const from = s.t - keepSeconds - 1;
    let old = 0;
    while ((this.samples[old]?.t ?? from) < from) old++;
    if (old > 0) this.samples.splice(0, old);
    this.changes = p.changes ?? [];
  }

  /** Takes readings from before the page was opened. */
  recall(earlier: Sample[]): void {
    const first = this.samples[0]?.t ?? Infinity;
    const from = (this.samples.at(-1)?.t ?? earlier.at(-1)?.t ?? 0) - keepSeconds - 1;
    this.samples.unshift(...earlier.filter((s) => s.t >= from && s.t < first - 0.5));
    this.beforeAt = -1;
  }

  /** The mean of the second before debloating was last switched on, while it is on. */
  before(p: Picture): Sample | undefined {
    if (p.knobs["debloat"] !== true) return undefined;
    const on = this.changes.findLast((c) => c.name === "debloat" && c.to === true);
    if (!on) return undefined;
    if (on.atMs !== this.beforeAt) {
      const at = on.atMs / 1000;
      this.beforeSample = this.samples.findLast((s) => s.t < at);
      this.beforeAt = on.atMs;
    }
    return this.beforeSample;
  }

  private key(): string {
    return `weir.history.${this.session}`;
  }

  private keep(): void {
    try {
      for (const k of Object.keys(sessionStorage)) if (k.startsWith("weir.history.")) sessionStorage.removeItem(k);
      sessionStorage.setItem(this.key(), JSON.stringify(this.samples));
    } catch {
      // full or forbidden: the charts start anew
    }
  }
}
