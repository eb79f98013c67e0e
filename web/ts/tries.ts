import { $$, attr, cls, fit, h, say } from "./dom";
import { num, t } from "./text";
import type { Comparison, KnobValue } from "./types";

// Rows of a lab's comparison: what the learner has tried, and what is still to be tried.

export type Settings = Record<string, KnobValue>;

/** Turns several knobs of the running job at once. */
export type Turn = (knobs: Settings) => void;

/** The row that was measured under these settings; where several fit, the one that is being filled. */
export function rowOf(rows: Comparison[], want: Settings): Comparison | undefined {
  const fits = rows.filter((r) => Object.entries(want).every(([name, value]) => r.knobs[name] === value));
  return fits.find((r) => r.current) ?? fits.at(-1);
}

export const measured = (r: Comparison | undefined): r is Comparison => r !== undefined && r.seconds > 0;

/** How far a row is. */
export function progressOf(r: Comparison | undefined): string {
  if (!r || (!r.current && r.seconds === 0)) return t("try.untried");
  if (r.seconds === 0) return t("try.settling");
  return t(r.current ? "try.measuring" : "try.measured", { s: num(r.seconds) });
}

/** A row's state in words, with the button that sets its knobs. */
export class TryCell {
  private readonly word = h("span", { class: "try-word" });
  private readonly button = h("button", { type: "button", class: "small" });
  readonly e = h("span", { class: "try" }, this.word, this.button);
  private settings: Settings = {};

  constructor(turn: Turn) {
    this.button.addEventListener("click", () => turn(this.settings));
  }

  /** what is the setting in words, for the button's name. */
  draw(row: Comparison | undefined, settings: Settings, what: string): void {
    this.settings = settings;
    const tried = row !== undefined && (row.current || row.seconds > 0);
    say(this.word, progressOf(row));
    cls(this.word, row?.current ? "try-word now" : "try-word");
    this.button.hidden = row?.current ?? false;
    say(this.button, t(tried ? "try.again" : "try.set"));
    attr(this.button, "aria-label", t(tried ? "try.again.what" : "try.set.what", { what }));
  }
}

/** Adds a row whose cells know the heads of their columns: a narrow page shows them one below the other. */
export function addRow(body: Element, row: HTMLTableRowElement): void {
  const heads = $$("thead th", body.closest("table") ?? body);
  [...row.cells].forEach((c, i) => {
    if (c.matches("td:not(.act)")) attr(c, "data-head", heads[i]?.textContent ?? "");
  });
  body.append(row);
}

/** The rows of a table of texts. */
export function fillTable(body: Element, rows: string[][]): void {
  const lines = fit(body, rows.length, () => h("tr"));
  rows.forEach((cells, i) => {
    const line = lines[i];
    if (!line) return;
    const places = fit(line, cells.length, () => h("td"));
    cells.forEach((text, c) => {
      const place = places[c];
      if (place) say(place, text);
    });
  });
}
