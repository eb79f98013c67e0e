import * as api from "./api";
import { $, attr, fit, h, prop, say } from "./dom";
import { duration, num, sized, t } from "./text";
import { fillTable } from "./tries";
import type { Picture, Subtask } from "./types";

const columns = 60;

/** Values that live, and those that have expired and are still stored: now, and over the last minute. */
export class TTLPanel {
  private readonly button = $<HTMLButtonElement>("#ttl-compact");
  private readonly said = $("#ttl-said");
  private readonly subtasks = $("#ttl-subtasks");
  private readonly rows = $("#ttl-rows");
  private readonly twin = $<HTMLDetailsElement>("#ttl-twin");
  private readonly history: { at: number; live: number; expired: number }[] = [];
  private session = "";
  private busy = false;

  constructor() {
    this.button.disabled = true;
    this.button.addEventListener("click", () => void this.compact());
  }

  follow(session: string): void {
    this.session = session;
    this.history.length = 0;
    this.busy = false;
    say(this.said, t("ttl.compact.about"));
  }

  leave(): void {
    this.button.disabled = true;
  }

  private async compact(): Promise<void> {
    this.busy = true;
    say(this.said, t("ttl.compacting"));
    try {
      const out = (await api.act(this.session, "compact")) as { dropped: number };
      say(this.said, t("ttl.compacted", { n: num(out.dropped) }));
    } catch (e) {
      say(this.said, e instanceof api.Problem ? e.reason : String(e));
    }
    this.busy = false;
  }

  draw(p: Picture): void {
    this.button.disabled = this.busy || p.state !== "RUNNING" || p.knobs["backend"] !== "lsm";
    const update = p.knobs["ttlUpdate"] === "read" ? "ttl.read" : "ttl.write";
    say($("#ttl-about"), t("ttl.about", { ms: `${num(Number(p.knobs["ttlMs"]) / 1000, 3)} ${t("unit.s")}`, update: t(update) }));
    const all = (p.vertices?.at(-1)?.subtasks ?? []).filter((s) => s.state?.ttl);
    if (all.length === 0) return;
    const sum = (read: (s: Subtask) => number): number => all.reduce((n, s) => n + read(s), 0);
    const live = sum((s) => s.state?.ttl?.live ?? 0);
    const expired = sum((s) => s.state?.ttl?.expired ?? 0);
    const oldest = Math.max(...all.map((s) => s.state?.ttl?.oldestReadMs ?? 0));
    say($("#ttl-live"), num(live));
    say($("#ttl-expired"), num(expired));
    say($("#ttl-byreads"), num(sum(byReads)));
    say($("#ttl-behind"), num(sum(behind)));
    say($("#ttl-bytes"), sized(sum((s) => s.state?.bytes ?? 0)));
    say($("#ttl-oldest"), duration(oldest));
    const at = Math.floor(p.timeMs / 1000);
    const last = this.history.at(-1);
    if (last?.at === at) Object.assign(last, { live, expired });
    else this.history.push({ at, live, expired });
    while (this.history.length > columns) this.history.shift();
    this.chart();
    this.bars(all);
    if (this.twin.open) fillTable(this.rows, all.map((s) => [num(s.index), num(s.state?.ttl?.live ?? 0), num(s.state?.ttl?.expired ?? 0), num(byReads(s)), num(behind(s)), sized(s.state?.bytes ?? 0), duration(s.state?.ttl?.oldestReadMs ?? 0)]));
  }

  private chart(): void {
    const top = Math.max(1, ...this.history.map((x) => x.live + x.expired));
    const cells = fit($("#ttl-cols"), this.history.length, () => h("span", {}, h("i", { class: "ttl-expired" }), h("i", { class: "ttl-live" })));
    this.history.forEach((x, i) => {
      const c = cells[i];
      if (!c) return;
      prop(c.children[0] as HTMLElement, "--v", ((100 * x.expired) / top).toFixed(2));
      prop(c.children[1] as HTMLElement, "--v", ((100 * x.live) / top).toFixed(2));
    });
    say($("#ttl-top"), num(top));
    const now = this.history.at(-1);
    attr($("#ttl-chart"), "aria-label", t("ttl.chart.say", { live: num(now?.live ?? 0), expired: num(now?.expired ?? 0), top: num(top) }));
  }

  private bars(all: Subtask[]): void {
    const top = Math.max(1, ...all.map((s) => (s.state?.ttl?.live ?? 0) + (s.state?.ttl?.expired ?? 0)));
    const lines = fit(this.subtasks, all.length, () =>
      h("div", { class: "ttl-row" }, h("span"), h("div", { class: "ttl-split" }, h("i", { class: "ttl-live" }), h("i", { class: "ttl-expired" })), h("span")));
    all.forEach((s, i) => {
      const e = lines[i];
      const x = s.state?.ttl;
      if (!e || !x) return;
      say(e.children[0] as Element, t("ttl.subtask", { n: s.index }));
      const bar = e.children[1] as HTMLElement;
      prop(bar.children[0] as HTMLElement, "--v", ((100 * x.live) / top).toFixed(2));
      prop(bar.children[1] as HTMLElement, "--v", ((100 * x.expired) / top).toFixed(2));
      say(e.children[2] as Element, t("ttl.row", { live: num(x.live), expired: num(x.expired), bytes: sized(s.state?.bytes ?? 0) }));
    });
  }
}

const behind = (s: Subtask): number => s.state?.droppedInBackground ?? 0;
const byReads = (s: Subtask): number => (s.state?.droppedExpired ?? 0) - behind(s);
