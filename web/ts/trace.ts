import { $, attr, cls, fit, h, say } from "./dom";
import { socketAddress } from "./stream";
import { clock, num, t } from "./text";

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

/** In the order of a record's way. */
const points = [
  "recordEmitted", "subpartitionFull", "softBackpressureBegan", "flush", "readerPolled", "onlyEventMayPass",
  "bufferReceived", "creditAnnounced", "creditAdded", "debloated",
];

const keptRows = 60;

/** Named events of the job. A checked one stops the thread that hits it, as a breakpoint does; all others go on. */
export class Trace {
  private readonly hold = $<HTMLButtonElement>("#tr-hold");
  private readonly stepButton = $<HTMLButtonElement>("#tr-step");
  private readonly resumeButton = $<HTMLButtonElement>("#tr-resume");
  private readonly until = $<HTMLSelectElement>("#tr-until");
  private readonly said = $("#tr-said");
  private readonly log = $("#tr-log");
  private readonly rows = new Map<string, { e: HTMLElement; box: HTMLInputElement; count: HTMLElement }>();
  private socket: WebSocket | undefined;
  private events: Event[] = [];
  private stopped: Stop[] = [];
  private armed: Record<string, string> = {};
  private once = "";
  private held = false;
  private due = false;
  private retry = 0;
  private session = "";

  constructor(private readonly onStopped: (stopped: boolean) => void) {
    const list = $("#tr-points");
    for (const name of points) {
      const box = h("input", { type: "checkbox", disabled: true, "aria-label": t("trace.point.stop", { name }) });
      const count = h("span", { class: "dim" }, "0");
      const e = h("label", {}, box, h("span", { class: "mono" }, name), count);
      box.addEventListener("change", () => this.send(box.checked ? { arm: name } : { disarm: name }));
      this.rows.set(name, { e, box, count });
      list.append(e);
    }
    this.until.append(h("option", { value: "" }, t("trace.until.choose")), ...points.map((p) => h("option", { value: p }, p)));
    this.until.addEventListener("change", () => {
      this.once = this.until.value;
      if (this.once) this.send({ arm: this.once });
    });
    this.hold.addEventListener("click", () => {
      this.held = !this.held;
      attr(this.hold, "aria-pressed", String(this.held));
      if (!this.held) this.drawLog();
    });
    this.stepButton.addEventListener("click", () => this.step());
    this.resumeButton.addEventListener("click", () => this.resume());
    this.empty();
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
      // Each record is too much to look at; it is recorded once it is armed.
      this.send({ watch: points.filter((p) => p !== "recordEmitted") });
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
      if (this.events.length > keptRows) this.events.splice(0, this.events.length - keptRows);
    }
    this.stopped = m.stopped;
    this.armed = m.armed;
    if (this.once && m.stopped.some((s) => s.event.name === this.once)) {
      this.send({ disarm: this.once });
      this.once = "";
      this.until.value = "";
    }
    let total = 0;
    for (const [name, r] of this.rows) {
      const n = m.counts?.[name] ?? 0;
      total += n;
      if (m.counts) say(r.count, num(n));
      if (document.activeElement !== r.box) r.box.checked = name in this.armed && name !== this.once;
      cls(r.e, m.stopped.some((s) => s.event.name === name) ? "here" : "");
    }
    const first = m.stopped[0];
    this.stepButton.disabled = this.resumeButton.disabled = !first;
    if (m.error) say(this.said, m.error);
    else if (first) {
      const what = { thread: first.event.thread, name: first.event.name, n: m.stopped.length - 1 };
      say(this.said, t(m.stopped.length > 1 ? "trace.stopped.more" : "trace.stopped", what));
    } else if (m.counts) say(this.said, t("trace.total", { n: num(total) }));
    this.onStopped(first !== undefined);
    this.drawLog();
  }

  private drawLog(): void {
    if (this.held || this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      if (this.held) return;
      const stops = new Set(this.stopped.map((s) => s.event.seq));
      const newest = this.events.slice().reverse();
      if (newest.length === 0) return;
      const rows = fit(this.log, newest.length, () => h("tr", {}, h("td"), h("td"), h("td"), h("td")));
      newest.forEach((e, i) => {
        const row = rows[i];
        if (!row) return;
        if (row.children.length !== 4) row.replaceChildren(h("td"), h("td"), h("td"), h("td"));
        const [time, point, thread, fields] = [...row.children] as [Element, Element, Element, Element];
        cls(row, stops.has(e.seq) ? "hit" : "");
        say(time, `${clock(e.timeMs, false)}.${String(Math.floor(e.timeMs % 1000)).padStart(3, "0")}`);
        say(point, e.name);
        say(thread, e.thread);
        say(fields, Object.entries(e.fields).map(([k, v]) => `${k}=${typeof v === "number" ? num(v) : v}`).join("  "));
      });
    });
  }

  private empty(): void {
    this.log.replaceChildren(h("tr", {}, h("td", { colspan: 4, class: "none" }, t("trace.none"))));
  }
}
