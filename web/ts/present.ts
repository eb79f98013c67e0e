import * as address from "./address";
import { $, $$, attr, maybe, say } from "./dom";
import type { Lesson } from "./lesson";
import { t } from "./text";

/** A lab on a projector: one thing at a time fills the screen, the lesson's own knobs stand below it. */
export class Present {
  private readonly screens: HTMLElement[];
  private readonly step = $("#present-step");
  private readonly next = $<HTMLButtonElement>("#present-next");
  private readonly where = $("#present-where");
  private at = 0;

  constructor(private readonly lesson: Lesson) {
    this.screens = [$(".lesson"), ...$$(".main > [data-panel]").filter((e) => e.dataset["panel"] !== "trace")];
    this.next.addEventListener("click", () => {
      this.lesson.move(1);
      this.show(0);
    });
    $("#present-prev").addEventListener("click", () => this.move(-1));
    $("#present-more").addEventListener("click", () => this.move(1));
    addEventListener("keydown", (e) => this.onKey(e));
    this.show(maybe("#start:not([hidden])") ? 0 : 1);
  }

  /** The job runs: its own panel is what there is to see. */
  began(): void {
    if (this.at === 0) this.show(1);
  }

  open(panel: string): boolean {
    const i = this.screens.findIndex((e) => nameOf(e) === panel);
    if (i >= 0) this.show(i);
    return i >= 0;
  }

  draw(): void {
    const now = maybe(".step.now .steph");
    if (!now) return;
    const title = now.querySelector("span:nth-child(2)")?.textContent ?? "";
    const note = now.querySelector("small")?.textContent ?? "";
    say(this.step, note ? `${title}, ${note}` : title);
    say(this.next, $("#next-step").textContent ?? "");
  }

  private move(by: number): void {
    this.show((this.at + by + this.screens.length) % this.screens.length);
  }

  private show(i: number): void {
    this.at = i;
    this.screens.forEach((e, n) => e.classList.toggle("shown", n === i));
    const e = this.screens[i];
    if (!e) return;
    const heading = e.querySelector("h1, h2")?.textContent ?? e.getAttribute("aria-label") ?? "";
    say(this.where, t("present.where", { n: i + 1, of: this.screens.length, name: heading }));
    attr(this.where, "data-screen", nameOf(e));
    address.set({ panel: i === 0 ? null : nameOf(e) });
    this.draw();
  }

  private onKey(e: KeyboardEvent): void {
    const on = e.target as HTMLElement;
    if (e.ctrlKey || e.metaKey || e.altKey || on.closest("input, textarea, select, dialog, [role=group].seg")) return;
    if (e.key === "PageDown" || e.key === "ArrowRight") this.move(1);
    else if (e.key === "PageUp" || e.key === "ArrowLeft") this.move(-1);
    else return;
    e.preventDefault();
  }
}

const nameOf = (e: HTMLElement): string => e.dataset["panel"] ?? "lesson";
