import { say } from "./dom";
import { clock } from "./text";

/** Counts down to a moment of the server's clock, which may go otherwise than this machine's. A reader that wants to hear the
 * time moves to it: it is no live region. */
export class Countdown {
  private until = 0;
  private timer = 0;

  constructor(private readonly e: HTMLElement, private readonly text: (clock: string) => string, private readonly over: string, private readonly none = "") {}

  /** until and now are the server's. Without until there is nothing to count. */
  set(until: string | undefined, now: string): void {
    const at = until ? Date.now() + Date.parse(until) - Date.parse(now) : 0;
    // Each word of the server's clock took its time to come: a second's difference is none.
    if (at !== 0 && Math.abs(at - this.until) < 1000) return;
    this.until = at;
    clearInterval(this.timer);
    if (at !== 0) this.timer = window.setInterval(() => this.draw(), 250);
    this.draw();
  }

  private draw(): void {
    this.e.hidden = this.until === 0 && this.none === "";
    const left = this.until - Date.now();
    if (this.until !== 0 && left <= 0) clearInterval(this.timer);
    this.e.toggleAttribute("data-over", this.until !== 0 && left <= 0);
    say(this.e, this.until === 0 ? this.none : left <= 0 ? this.over : this.text(clock(Math.ceil(left / 1000) * 1000, false)));
  }
}
