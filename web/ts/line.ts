import { Problem } from "./api";
import { $, say } from "./dom";
import { t } from "./text";

/** How often a page in the line asks whether it is its turn. Who does not ask for 15 s has left. */
const askEvery = 3000;

/** The line before a full server of classes: its page shows the learner's place and asks again until the job starts. */
export class Line {
  private timer = 0;
  private readonly start = $<HTMLButtonElement>("#start-run");
  private readonly leave = $<HTMLButtonElement>("#start-leave");

  constructor(left: () => void) {
    this.leave.addEventListener("click", () => {
      this.end();
      left();
      this.start.focus();
    });
  }

  get waits(): boolean {
    return !this.leave.hidden;
  }

  /** Waits on after a refusal that means no more than "not yet"; any other ends the wait and is the caller's to tell. */
  takes(e: unknown, again: () => void): boolean {
    const place = e instanceof Problem ? e.place : 0;
    // Whoever waits already keeps the place while the server is out of reach for a moment.
    const passing = this.waits && (!(e instanceof Problem) || e.status >= 500 || e.status === 423 || (e.status === 429 && !e.field));
    if (place === 0 && !passing) {
      this.end();
      return false;
    }
    clearTimeout(this.timer);
    this.timer = window.setTimeout(again, askEvery);
    if (place === 0) return true;
    const focused = document.activeElement === this.start;
    this.start.hidden = true;
    this.leave.hidden = false;
    if (focused || document.activeElement === document.body) this.leave.focus({ preventScroll: true });
    say($("#start-h"), t("line.title", { n: place }));
    say($("#start-why"), t("line.text"));
    return true;
  }

  end(): void {
    clearTimeout(this.timer);
    if (!this.waits) return;
    this.leave.hidden = true;
    this.start.hidden = false;
    say($("#start-h"), t("start.title"));
    say($("#start-why"), t("start.text"));
  }
}
