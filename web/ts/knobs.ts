import * as address from "./address";
import * as api from "./api";
import { $, $$, attr, h, icon, maybe, say } from "./dom";
import { places, toPlace, toValue } from "./slider";
import { clock, num, t } from "./text";
import type { KnobChange, KnobInfo, KnobValue, PageData } from "./types";

/** The knobs: before a run they fill its start, in one they change the running job. A change is pending until a picture
 * shows that the job has it. */
export class Knobs {
  readonly values: Record<string, KnobValue>;
  private readonly views = new Map<string, KnobView>();
  private readonly reset = $<HTMLButtonElement>("#reset");
  private readonly list = $("#changes");
  /** Whether the job of the session still runs: after its end knobs are for the next start. */
  live = false;
  private session = "";
  private job: Record<string, KnobValue> = {};
  private changes: KnobChange[] = [];

  constructor(private readonly page: PageData) {
    this.values = { ...page.values };
    for (const k of page.knobs) {
      const e = maybe(`#knob-${k.name}`);
      if (!e) continue;
      this.views.set(k.name, new KnobView(e, k, (v) => this.turn(k, v)));
    }
    this.reset.addEventListener("click", () => this.resetAll());
    if (api.watching) for (const c of $$<HTMLButtonElement | HTMLInputElement | HTMLSelectElement>(".knob :is(button:not(.about), input, select)")) c.disabled = true;
    this.show();
  }

  labelOf = (name: string): string => this.page.labels[name] ?? name;

  /** Values that differ from the lab's defaults, for a start and for the address. */
  differing(): Record<string, KnobValue> {
    const out: Record<string, KnobValue> = {};
    for (const k of this.page.knobs) {
      const v = this.values[k.name];
      if (v !== undefined && v !== k.default) out[k.name] = v;
    }
    return out;
  }

  follow(session: string): void {
    this.session = session;
    this.live = session !== "";
    for (const v of this.views.values()) v.settle();
  }

  /** Takes what the job says its knobs are. */
  confirm(knobs: Record<string, KnobValue>, changes: KnobChange[]): void {
    if (!this.live) return;
    this.job = knobs;
    let moved = changes.length !== this.changes.length;
    this.changes = changes;
    for (const [name, value] of Object.entries(knobs)) {
      const view = this.views.get(name);
      if (!view) continue;
      if (view.wanted !== undefined) {
        if (view.wanted !== value) continue; // still on its way
        view.settle();
        moved = true;
      }
      if (this.values[name] !== value) {
        this.values[name] = value;
        moved = true;
      }
    }
    if (moved) this.show();
  }

  private turn(k: KnobInfo, value: KnobValue): void {
    const view = this.views.get(k.name);
    if (!view || (this.values[k.name] === value && view.wanted === undefined)) return;
    this.values[k.name] = value;
    view.error("");
    if (this.session && this.live) void this.send({ [k.name]: value });
    this.show();
  }

  /** Turns several knobs at once, as a panel's button does; those that stand as they should stay out of it. */
  turnAll = (knobs: Record<string, KnobValue>): void => {
    const moved: Record<string, KnobValue> = {};
    for (const k of this.page.knobs) {
      const v = knobs[k.name];
      if (v === undefined || this.values[k.name] === v) continue;
      moved[k.name] = v;
      this.values[k.name] = v;
      this.views.get(k.name)?.error("");
    }
    if (this.session && this.live && Object.keys(moved).length > 0) void this.send(moved);
    this.show();
  };

  private async send(knobs: Record<string, KnobValue>): Promise<void> {
    const before: Record<string, KnobValue> = {};
    for (const [name, v] of Object.entries(knobs)) {
      before[name] = v;
      this.views.get(name)?.want(v);
    }
    this.show();
    try {
      await api.change(this.session, knobs);
    } catch (e) {
      for (const name of Object.keys(knobs)) {
        const view = this.views.get(name);
        if (!view || view.wanted !== before[name]) continue; // turned again meanwhile
        view.settle();
        const elsewhere = e instanceof api.Problem && e.field !== name && this.views.has(e.field);
        if (!elsewhere) view.error(e instanceof api.Problem ? e.reason || e.message : String(e));
      }
      // All of them were refused together: the job has what it had.
      for (const name of Object.keys(knobs)) {
        const has = this.job[name];
        if (has !== undefined && this.views.get(name)?.wanted === undefined) this.values[name] = has;
      }
      this.show();
    }
  }

  private resetAll(): void {
    const back: Record<string, KnobValue> = {};
    for (const k of this.page.knobs) if (this.values[k.name] !== k.default) back[k.name] = k.default;
    for (const [name, v] of Object.entries(back)) {
      this.values[name] = v;
      this.views.get(name)?.error("");
    }
    if (this.session && this.live && Object.keys(back).length > 0) void this.send(back);
    this.show();
  }

  private show(): void {
    const differing = this.differing();
    const inAddress: Record<string, string | null> = {};
    for (const k of this.page.knobs) {
      const v = this.values[k.name];
      if (v === undefined) continue;
      this.views.get(k.name)?.show(v);
      inAddress[k.name] = k.name in differing ? String(v) : null;
    }
    address.set(inAddress);
    this.reset.disabled = api.watching || Object.keys(differing).length === 0;
    this.showChanges(differing);
  }

  private showChanges(differing: Record<string, KnobValue>): void {
    const items: Node[] = [];
    const line = (mark: string, filled: boolean, text: string, dim = false): void => {
      items.push(h("li", dim ? { class: "mid" } : {}, icon(mark, filled), h("span", {}, text)));
    };
    const word = (v: KnobValue): string => (typeof v === "boolean" ? t(v ? "knob.on" : "knob.off") : typeof v === "number" ? num(v, 3) : v);
    const waiting = [...this.views.values()].filter((v) => v.wanted !== undefined);
    for (const c of this.changes.slice(-3)) {
      line("dot", true, t("changes.applied", { name: this.labelOf(c.name), from: word(c.from), to: word(c.to), clock: clock(c.atMs, false) }));
    }
    const changed = new Set(this.changes.map((c) => c.name));
    for (const k of this.page.knobs) {
      const v = differing[k.name];
      if (v !== undefined && !changed.has(k.name) && this.views.get(k.name)?.wanted === undefined) {
        line("dot", true, t("changes.preset", { name: this.labelOf(k.name), from: word(k.default), to: word(v) }));
      }
    }
    for (const v of waiting) line(v.k.takesEffect === "restart" ? "restart" : "ring", false, t("changes.waiting", { name: this.labelOf(v.k.name), to: word(v.wanted ?? "") }));
    if (items.length === 0) line("ring", false, t("changes.none"), true);
    else if (!waiting.some((v) => v.k.takesEffect === "restart") && this.session) line("restart", false, t("changes.noRestart"), true);
    this.list.replaceChildren(...items);
  }
}

const sendAfter = 250; // ms of rest before a turned slider is sent

class KnobView {
  wanted: KnobValue | undefined;
  private readonly exact: HTMLInputElement | null;
  private readonly range: HTMLInputElement | null;
  private readonly toggle: HTMLButtonElement | null;
  private readonly choice: HTMLSelectElement | null;
  private readonly buttons: HTMLButtonElement[];
  private readonly wait: HTMLElement;
  private readonly err: HTMLElement;
  private timer = 0;

  constructor(private readonly e: HTMLElement, readonly k: KnobInfo, private readonly onTurn: (v: KnobValue) => void) {
    this.exact = maybe("input.exact", e);
    this.range = maybe("input[type=range]", e);
    this.toggle = maybe(".switch", e);
    this.choice = maybe("select", e);
    this.buttons = $$<HTMLButtonElement>(".seg button", e);
    this.wait = $(".wait", e);
    this.err = $(".err", e);
    const opt = $(".opt", e);
    if (opt.scrollWidth > opt.clientWidth) opt.classList.add("tail"); // the end of a long name tells more than its start

    this.toggle?.addEventListener("click", () => this.onTurn(this.toggle?.getAttribute("aria-checked") !== "true"));
    this.choice?.addEventListener("change", () => this.onTurn(this.choice?.value ?? ""));
    for (const b of this.buttons) b.addEventListener("click", () => this.onTurn(b.value));
    if (this.range) {
      this.range.max = String(places);
      this.range.addEventListener("input", () => this.slide(false));
      this.range.addEventListener("change", () => this.slide(true));
    }
    this.exact?.addEventListener("change", () => this.type());
    this.exact?.addEventListener("keydown", (ev) => {
      if (ev.key === "Enter") this.type();
    });
  }

  private slide(rest: boolean): void {
    if (!this.range) return;
    const v = toValue(this.k, Number(this.range.value));
    this.write(v);
    clearTimeout(this.timer);
    // What restarts the job waits until the slider is let go.
    if (rest) this.onTurn(v);
    else if (this.k.takesEffect !== "restart") this.timer = window.setTimeout(() => this.onTurn(v), sendAfter);
  }

  private type(): void {
    const text = this.exact?.value.trim().replace(/[,\s]/g, "") ?? "";
    const v = Number(text);
    if (text === "" || Number.isNaN(v)) {
      this.error(t("knob.number"));
      return;
    }
    this.error("");
    this.onTurn(v);
  }

  show(v: KnobValue): void {
    this.e.classList.toggle("changed", v !== this.k.default);
    if (typeof v === "boolean") {
      if (this.toggle) attr(this.toggle, "aria-checked", String(v));
      const word = maybe(".val", this.e);
      if (word) say(word, t(v ? "knob.on" : "knob.off"));
    }
    if (this.choice && document.activeElement !== this.choice) this.choice.value = String(v);
    for (const b of this.buttons) attr(b, "aria-pressed", String(b.value === v));
    if (typeof v === "number") {
      if (this.range && document.activeElement !== this.range) this.range.value = String(toPlace(this.k, v));
      this.write(v);
    }
  }

  private write(v: number): void {
    if (this.exact && document.activeElement !== this.exact) this.exact.value = num(v, 3);
    if (this.range) {
      const unit = maybe("small", this.e)?.textContent ?? "";
      attr(this.range, "aria-valuetext", `${num(v, 3)} ${unit}`.trim());
    }
  }

  want(v: KnobValue): void {
    this.wanted = v;
    this.wait.hidden = false;
    say(this.wait, t(this.k.takesEffect === "restart" ? "knob.pending.restart" : "knob.pending"));
  }

  settle(): void {
    this.wanted = undefined;
    this.wait.hidden = true;
  }

  error(text: string): void {
    this.err.hidden = text === "";
    say(this.err, text);
    if (this.exact) attr(this.exact, "aria-invalid", text ? "true" : null);
  }
}
