import { $, $$, attr, cls, fit, h, icon, say } from "./dom";
import { socketAddress } from "./stream";
import { clock, num, t } from "./text";
import { inFlink } from "./tracepoints";

interface Event {
  seq: number;
  name: string;
  thread: string;
  timeMs: number;
  fields: Record<string, string | number>;
}

interface Stop {
  id: number;
  event: Event;
}

interface Message {
  events?: Event[];
  counts?: Record<string, number>;
  stopped: Stop[];
  armed: Record<string, string>;
  error?: string;
}

interface Row {
  e: HTMLElement;
  box: HTMLInputElement;
  count: HTMLElement;
  when: HTMLInputElement;
  fields: HTMLElement;
  names: Set<string>;
  refused: HTMLElement;
}

/** Rows of the log, and events that can be filtered and saved. */
const shownRows = 60;
const keptEvents = 5000;

/** What a page looks at from the start. Each record is too much; those are recorded once they are armed. */
const watched = (name: string): boolean => !["recordEmitted", "keyGroupComputed", "compositeKeyBuilt", "valueRead"].includes(name);

/** Named events of the job. A checked one stops the thread that hits it, as a breakpoint does; all others go on. */
export class Trace {
  private readonly hold = $<HTMLButtonElement>("#tr-hold");
  private readonly stepButton = $<HTMLButtonElement>("#tr-step");
  private readonly resumeButton = $<HTMLButtonElement>("#tr-resume");
  private readonly until = $<HTMLSelectElement>("#tr-until");
  private readonly filter = $<HTMLInputElement>("#tr-filter");
  private readonly save = $<HTMLButtonElement>("#tr-save");
  private readonly kept = $("#tr-kept");
  private readonly log = $("#tr-log");
  private readonly stops = $("#tr-stops");
  private readonly rows = new Map<string, Row>();
  private socket: WebSocket | undefined;
  private events: Event[] = [];
  private stopped: Stop[] = [];
  private armed: Record<string, string> = {};
  private once = "";
  /** What was armed last: an error that comes is about it. */
  private asked = "";
  /** Points that are looked at only until one event has told its fields. */
  private readonly peeked = new Set<string>();
  private held = false;
  private due = false;
  private retry = 0;
  private session = "";

  constructor(private readonly points: string[], private readonly onStopped: (stopped: boolean) => void) {
    const list = $("#tr-points");
    for (const name of points) list.append(this.row(name));
    this.until.append(h("option", { value: "" }, t("trace.until.choose")), ...points.map((p) => h("option", { value: p }, p)));
    this.until.addEventListener("change", () => {
      this.once = this.until.value;
      if (this.once) this.arm(this.once, "");
    });
    this.hold.addEventListener("click", () => {
      this.held = !this.held;
      attr(this.hold, "aria-pressed", String(this.held));
      if (!this.held) this.drawLog();
    });
    this.filter.addEventListener("input", () => this.drawLog());
    this.save.addEventListener("click", () => this.export());
    this.stepButton.addEventListener("click", () => this.step());
    this.resumeButton.addEventListener("click", () => this.resume());
    this.empty();
  }

  /** One tracepoint: its mark, and behind a press what it is and a condition for stopping. */
  private row(name: string): HTMLElement {
    const box = h("input", { type: "checkbox", disabled: true, "aria-label": t("trace.point.stop", { name }) });
    const count = h("span", { class: "dim" }, "0");
    const about = h("button", { type: "button", class: "quiet about", "aria-expanded": "false", "aria-label": t("trace.settings", { name }) }, icon("chev"));
    const when = h("input", { type: "text", class: "mono", id: `tr-when-${name}`, maxlength: 200, spellcheck: "false", autocomplete: "off" });
    const fields = h("span", { class: "mono" });
    const fieldsLine = h("p", { hidden: true }, `${t("trace.fieldsOf")} `, fields);
    const refused = h("p", { class: "refused", role: "alert", hidden: true });
    const set = h("form", {}, h("label", { for: `tr-when-${name}` }, t("trace.when")), when, h("button", { type: "submit" }, t("trace.when.set")), refused);
    const more = h("div", { class: "more", hidden: true }, h("p", {}, t(`trace.about.${name}`)),
      h("p", {}, `${t("trace.flink")} `, h("span", { class: "mono" }, inFlink[name] ?? "")), fieldsLine, set);
    const e = h("div", { class: "point", "data-point": name, id: `point-${name}`, tabindex: -1 }, h("label", {}, box, h("span", { class: "mono" }, name), count), about, more);
    about.addEventListener("click", () => {
      more.hidden = !more.hidden;
      attr(about, "aria-expanded", String(!more.hidden));
      if (more.hidden) return;
      if (fields.textContent === "") {
        this.peeked.add(name);
        this.watch();
      }
      more.scrollIntoView({ block: "nearest" });
    });
    box.addEventListener("change", () => (box.checked ? this.arm(name, when.value) : this.send({ disarm: name })));
    set.addEventListener("submit", (ev) => {
      ev.preventDefault();
      this.arm(name, when.value);
    });
    this.rows.set(name, { e, box, count, when, fields, names: new Set(), refused });
    return e;
  }

  private arm(name: string, when: string): void {
    this.asked = name;
    this.refuse(name, "");
    this.send({ arm: name, when });
    // A condition on a field that no event has would never stop anything, and nothing would say why.
    const names = this.rows.get(name)?.names;
    const unknown = when.split("&&").map((part) => part.split(/[=!<>]/)[0]?.trim() ?? "").filter((f) => f && f !== "thread" && names?.has(f) === false);
    if (unknown[0] && names && names.size > 0) this.refuse(name, t("trace.when.unknown", { name, field: unknown[0], fields: [...names, "thread"].join(", ") }));
  }

  /** Says beside a point why its condition was not taken, or cannot hold. */
  private refuse(name: string, text: string): void {
    const r = this.rows.get(name);
    if (!r) return;
    r.refused.hidden = text === "";
    r.refused.replaceChildren(...(text ? [icon("x"), h("span", {}, text)] : []));
    attr(r.when, "aria-invalid", text ? "true" : null);
    const about = $<HTMLButtonElement>(".about", r.e);
    if (text && about.getAttribute("aria-expanded") === "false") about.click();
    if (text) r.refused.scrollIntoView({ block: "nearest" });
  }

  private watch(): void {
    this.send({ watch: this.points.filter((p) => watched(p) || this.peeked.has(p)) });
  }

  /** Joins the trace of a run; the one before is left, and what was stopped there goes on. */
  follow(session: string): void {
    this.leave();
    this.session = session;
    this.connect();
  }

  leave(): void {
    this.session = "";
    clearTimeout(this.retry);
    this.socket?.close(1000);
    this.socket = undefined;
    this.events = [];
    this.take({ stopped: [], armed: {}, counts: {} });
    this.enable(false);
    this.empty();
  }

  private connect(): void {
    const socket = new WebSocket(socketAddress(`/api/v1/sessions/${this.session}/trace`));
    this.socket = socket;
    socket.onopen = () => {
      this.enable(true);
      this.watch();
    };
    socket.onmessage = (e: MessageEvent<string>) => this.take(JSON.parse(e.data) as Message);
    socket.onclose = (e) => {
      if (socket !== this.socket) return;
      this.enable(false);
      this.take({ stopped: [], armed: {} });
      if (e.code !== 1000 && this.session) this.retry = window.setTimeout(() => this.connect(), 2000 + Math.random() * 2000);
    };
  }

  private send(message: unknown): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  private enable(on: boolean): void {
    this.hold.disabled = this.until.disabled = !on;
    for (const r of this.rows.values()) r.box.disabled = !on;
    if (!on) this.stepButton.disabled = this.resumeButton.disabled = true;
  }

  /** One step of the thread that has stood longest. */
  step(): void {
    const first = this.stopped[0];
    if (first) this.send({ step: first.id });
  }

  private resume(): void {
    this.send({ resumeAll: true });
  }

  private take(m: Message): void {
    if (m.events) {
      this.events.push(...m.events);
      if (this.events.length > keptEvents) this.events.splice(0, this.events.length - keptEvents);
      for (const e of m.events) {
        const r = this.rows.get(e.name);
        if (r) this.tellFields(r, e);
        if (this.peeked.delete(e.name)) this.watch();
      }
    }
    this.stopped = m.stopped;
    this.armed = m.armed;
    if (this.once && m.stopped.some((s) => s.event.name === this.once)) {
      this.send({ disarm: this.once });
      this.once = "";
      this.until.value = "";
    }
    for (const [name, r] of this.rows) {
      if (m.counts) say(r.count, num(m.counts[name] ?? 0));
      if (document.activeElement !== r.box) r.box.checked = name in this.armed && name !== this.once;
      r.e.classList.toggle("here", m.stopped.some((s) => s.event.name === name));
      r.e.classList.toggle("if", Boolean(this.armed[name]));
    }
    const first = m.stopped[0];
    this.stepButton.disabled = this.resumeButton.disabled = !first;
    if (m.error) this.refuse(this.asked, m.error);
    this.drawStops();
    this.onStopped(first !== undefined);
    this.drawLog();
  }

  /** The names of an event's fields, and a condition to begin with. */
  private tellFields(r: Row, e: Event): void {
    const names = Object.keys(e.fields);
    if (r.names.size > 0 && names.every((n) => r.names.has(n))) return;
    for (const n of names) r.names.add(n);
    say(r.fields, [...r.names, "thread"].join(", "));
    if (r.fields.parentElement) r.fields.parentElement.hidden = false;
    const number = names.find((n) => typeof e.fields[n] === "number");
    r.when.placeholder = t("trace.when.hint", { example: number ? `${number} == ${e.fields[number]}` : `thread == "${e.thread}"` });
  }

  /** Each stopped thread with its fields; the structures it is in are marked in the picture. */
  private drawStops(): void {
    const marks = new Set<Element>();
    for (const s of this.stopped) for (const selector of places(s.event)) for (const e of $$(selector)) marks.add(e);
    for (const e of $$(".held")) if (!marks.has(e)) e.classList.remove("held");
    for (const e of marks) e.classList.add("held");
    this.stops.hidden = this.stopped.length === 0;
    const items = fit(this.stops, this.stopped.length, () => h("li", {}, h("span", { class: "mono" }), h("span", { class: "mono dim" }), h("button", { type: "button" }), h("button", { type: "button" })));
    this.stopped.forEach((s, i) => {
      const [where, fields, step, go] = [...(items[i]?.children ?? [])] as [HTMLElement, HTMLElement, HTMLButtonElement, HTMLButtonElement];
      say(where, `${s.event.thread} · ${s.event.name}`);
      say(fields, fieldsOf(s.event));
      attr(fields, "title", fieldsOf(s.event));
      say(step, t("trace.step"));
      attr(step, "aria-label", t("trace.step.one", { thread: s.event.thread }));
      step.onclick = () => this.send({ step: s.id });
      say(go, t("trace.resume"));
      attr(go, "aria-label", t("trace.resume.one", { thread: s.event.thread }));
      go.onclick = () => this.send({ resume: s.id });
    });
  }

  private matching(): Event[] {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return this.events;
    return this.events.filter((e) => {
      const text = `${e.name} ${e.thread} ${fieldsOf(e)}`.toLowerCase();
      return words.every((w) => text.includes(w));
    });
  }

  private drawLog(): void {
    if (this.held || this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      if (this.held || this.events.length === 0) return;
      const stops = new Set(this.stopped.map((s) => s.event.seq));
      const matching = this.matching();
      this.save.disabled = matching.length === 0;
      say(this.kept, t("trace.shown", { n: num(Math.min(matching.length, shownRows)), of: num(this.events.length) }));
      // A row stays what it is and moves down as newer ones come.
      const rows = new Map([...this.log.children].map((r) => [(r as HTMLElement).dataset["seq"], r]));
      const newest = matching.slice(-shownRows).reverse().map((e) => {
        const row = rows.get(String(e.seq)) ?? logRow(e);
        cls(row, stops.has(e.seq) ? "hit" : "");
        return row;
      });
      const stay = new Set<Element>(newest);
      for (const r of rows.values()) if (!stay.has(r)) r.remove();
      newest.forEach((row, i) => {
        if (this.log.children[i] !== row) this.log.insertBefore(row, this.log.children[i] ?? null);
      });
    });
  }

  /** Saves what the filter lets through, a JSON value a line. */
  private export(): void {
    const lines = this.matching().map((e) => JSON.stringify(e) + "\n");
    const url = URL.createObjectURL(new Blob(lines, { type: "application/x-ndjson" }));
    const a = h("a", { href: url, download: `trace-${this.session.slice(0, 8)}.ndjson` });
    a.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  private empty(): void {
    this.save.disabled = true;
    say(this.kept, "");
    this.log.replaceChildren(h("tr", {}, h("td", { colspan: 4, class: "none" }, t("trace.none"))));
  }
}

function logRow(e: Event): Element {
  const time = `${clock(e.timeMs, false)}.${String(Math.floor(e.timeMs % 1000)).padStart(3, "0")}`;
  return h("tr", { "data-seq": e.seq }, h("td", {}, time), h("td", {}, e.name), h("td", {}, e.thread), h("td", {}, fieldsOf(e)));
}

function fieldsOf(e: Event): string {
  return Object.entries(e.fields).map(([k, v]) => `${k}=${v}`).join("  "); // as a condition has to name them
}

/** The panels that picture what an event of state is about. */
const panels: Record<string, string> = {
  compositeKeyBuilt: "lsm", valueRead: "lsm", entryCopied: "microscope", nativeCheckpoint: "shelf", sstReused: "shelf", sstUploaded: "shelf",
  sharedFileDeleted: "shelf", handlesIntersected: "restore", clipped: "restore",
};

/** The parts of the picture that an event is about: the vertex of its thread, its channel, its key group, its panel. */
function places(e: Event): string[] {
  const out: string[] = [];
  const panel = panels[e.name];
  if (panel) out.push(`#panel-${panel}`);
  const group = e.fields["keyGroup"] ?? e.fields["group"];
  if (typeof group === "number") out.push(`#ruler .cells > :nth-child(${group + 1})`);
  const task = /^(\S+) \d+$/.exec(e.thread);
  const { vertex, subtask, subpartition, to, channel } = e.fields;
  if (task) out.push(`#v-${CSS.escape(task[1] ?? "")}`);
  if (vertex !== undefined) out.push(`#v-${CSS.escape(String(vertex))}`);
  const from = vertex !== undefined ? `${vertex} ${subtask}` : task ? e.thread : "";
  if (from && typeof subpartition === "number") out.push(`.strip[data-channel^="${from} →"][data-channel$=" ${subpartition}"]`);
  if (to !== undefined && typeof channel === "number") {
    out.push(`#v-${CSS.escape(String(to).replace(/ \d+$/, ""))}`, `.strip[data-channel*=" ${channel} →"][data-channel$="→ ${to}"]`);
  }
  return out;
}
