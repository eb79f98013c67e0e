import * as api from "./api";
import { $, h, say } from "./dom";
import { clock, t } from "./text";

const every = 2000;

/** The runs that a live exercise may be judged from, with their clocks; the newest is chosen until the learner chooses. */
export class Runs {
  private readonly list = $("#runs-list");
  private readonly none = $("#runs-none");
  private readonly rows = new Map<string, { row: HTMLElement; box: HTMLInputElement; word: HTMLElement; clock: HTMLElement }>();
  private own = false;

  constructor(private readonly lab: string) {
    this.list.addEventListener("change", () => (this.own = true));
    document.addEventListener("visibilitychange", () => void this.look());
    setInterval(() => void this.look(), every);
    void this.look();
  }

  get chosen(): string | undefined {
    return [...this.rows.values()].find((r) => r.box.checked)?.box.value;
  }

  /** Chooses none of them. */
  leave(): void {
    this.own = true;
    for (const r of this.rows.values()) r.box.checked = false;
  }

  private async look(): Promise<void> {
    if (document.hidden) return;
    try {
      this.show((await api.sessions()).filter((s) => s.lab === this.lab));
    } catch {
      // a server that is gone says so when the run is to be judged
    }
  }

  /** sessions are newest first. */
  private show(sessions: api.SessionInfo[]): void {
    for (const [id, r] of this.rows) {
      if (sessions.some((s) => s.id === id)) continue;
      if (r.box.checked) this.own = false;
      r.row.remove();
      this.rows.delete(id);
    }
    for (const s of [...sessions].reverse()) {
      let r = this.rows.get(s.id);
      if (!r) {
        const box = h("input", { type: "radio", name: "run", value: s.id });
        const word = h("span");
        const time = h("span", { class: "mono" });
        r = { row: h("label", {}, box, word, time), box, word, clock: time };
        this.rows.set(s.id, r);
        this.list.prepend(r.row);
        if (!this.own) box.checked = true;
      }
      say(r.word, t(`state.${s.state}`));
      say(r.clock, clock(s.timeMs, false));
    }
    const first = sessions[0];
    if (first && !this.own && !this.chosen) this.rows.get(first.id)!.box.checked = true;
    this.none.hidden = sessions.length > 0;
  }
}
