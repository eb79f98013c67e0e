import { Problem } from "./api";
import { ask } from "./classapi";
import type { InLine } from "./classtypes";
import { $, say } from "./dom";
import { t } from "./text";

/** How often a page in the line asks whether it is its turn. A page that the class tells so asks seldom, only to be sure: the
 * timers of one that is hidden are slow, and what it is told is not. */
const askEvery = 3000;
const askToldEvery = 60_000;

/** What this tab waits to start: it is waited for again after a reload, and when the spotlight goes out. */
interface Start {
  lab: string;
  input?: string | undefined;
  key?: string | undefined;
}

const lineKey = "weir.line";
export const keptStart = (): Start | null => JSON.parse(sessionStorage.getItem(lineKey) ?? "null") as Start | null;

/** The line before a full server of classes: its page shows the learner's place and asks again until the job starts. */
export class Line {
  private timer = 0;
  private again: (() => void) | undefined;
  private told: InLine = { place: 0, turn: false };
  private readonly start = $<HTMLButtonElement>("#start-run");
  private readonly leave = $<HTMLButtonElement>("#start-leave");

  constructor(left: () => void) {
    this.leave.addEventListener("click", () => {
      this.end();
      void leaveLine();
      left();
      this.start.focus();
    });
    document.addEventListener("weir-line", (e) => this.hear((e as CustomEvent<InLine>).detail));
    document.addEventListener("visibilitychange", () => document.hidden || this.ask());
  }

  get waits(): boolean {
    return !this.leave.hidden;
  }

  /** Waits on after a refusal that means no more than "not yet"; any other ends the wait and is the caller's to tell. */
  takes(e: unknown, what: Start, again: () => void): boolean {
    const place = e instanceof Problem ? e.place : 0;
    // Whoever waits already keeps the place while the server is out of reach for a moment.
    const passing = this.waits && (!(e instanceof Problem) || e.status >= 500 || e.status === 423 || (e.status === 429 && !e.field));
    if (place === 0 && !passing) {
      this.end();
      return false;
    }
    this.again = again;
    this.rest();
    if (place === 0) return true;
    sessionStorage.setItem(lineKey, JSON.stringify(what));
    const focused = document.activeElement === this.start;
    this.start.hidden = true;
    this.leave.hidden = false;
    if (focused || document.activeElement === document.body) this.leave.focus({ preventScroll: true });
    this.show(place);
    say($("#start-why"), t("line.text"));
    return true;
  }

  end(): void {
    clearTimeout(this.timer);
    this.again = undefined;
    sessionStorage.removeItem(lineKey);
    if (!this.waits) return;
    this.leave.hidden = true;
    this.start.hidden = false;
    say($("#start-h"), t("start.title"));
    say($("#start-why"), t("start.text"));
  }

  private show(place: number): void {
    say($("#start-h"), t("line.title", { n: place }));
  }

  /** Takes what the class tells of the line. */
  private hear(l: InLine): void {
    this.told = l;
    if (!this.waits) return;
    if (l.place > 0) this.show(l.place);
    if (l.turn) this.ask();
    else this.rest();
  }

  private rest(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.ask(), this.told.place > 0 && !this.told.turn ? askToldEvery : askEvery);
  }

  private ask(): void {
    clearTimeout(this.timer);
    const again = this.again;
    this.again = undefined;
    again?.();
  }
}

/** Gives the place in the line up, for which others wait. One that is not given up is passed over. */
export async function leaveLine(): Promise<void> {
  sessionStorage.removeItem(lineKey);
  await ask("DELETE", "class/line").catch(() => undefined);
}
