import { h, prop, reducedMotion, say } from "./dom";

// The wire between two task managers. The engine counts what was sent; between two pictures these are marks that travel
// once across. Where exactly a frame is on a real socket nobody can tell, so only their number and order mean something.

const travelMs = 700;
const mostAtOnce = 3; // marks of one kind for one picture; more would be a blur

interface Mark {
  e: HTMLElement;
  from: number; // when it sets out
  back: boolean; // consumer to producer
}

const moving = new Set<Wire>();
let running = false;
let still = false;

/** Holds every wire as it is, or lets them go on. */
export function holdWires(hold: boolean): void {
  still = hold;
  if (!hold) run();
}

function run(): void {
  if (running || still || moving.size === 0) return;
  running = true;
  requestAnimationFrame(step);
}

function step(now: number): void {
  running = false;
  if (still) return;
  for (const w of moving) if (!w.advance(now)) moving.delete(w);
  run();
}

export class Wire {
  readonly e = h("div", { class: "wire", role: "img" }, h("span", { class: "rail d" }), h("span", { class: "rail c" }));
  private readonly marks: Mark[] = [];
  private readonly spare: Record<string, HTMLElement[]> = { frame: [], ev: [], token: [] };
  private width = 200;
  private lastStill = 0;
  private free = 0; // when the next mark may set out
  private freeBack = 0;

  constructor() {
    new ResizeObserver((entries) => {
      this.width = entries[0]?.contentRect.width ?? this.width;
    }).observe(this.e);
  }

  /** What went over the wire since the last picture. */
  sent(frames: number, events: number, credits: number, messages: number, backlog: number, fill: number): void {
    if (still || document.hidden) return;
    if (reducedMotion.matches) {
      this.sentStill(frames, events, credits, backlog, fill);
      return;
    }
    const now = performance.now();
    const apart = (travelMs * 32) / this.width; // so that marks do not cover each other
    let at = Math.max(now, this.free);
    const n = at - now > travelMs ? 0 : Math.min(frames, mostAtOnce);
    for (let i = 0; i < n; i++, at += apart) this.add(this.frame(backlog, fill), at, false);
    for (let i = 0; i < Math.min(events, mostAtOnce); i++, at += apart) this.add(this.take("ev"), at, false);
    this.free = at;
    at = Math.max(now, this.freeBack);
    const tokens = at - now > travelMs ? 0 : Math.min(messages, mostAtOnce);
    for (let i = 0; i < tokens; i++) {
      const share = Math.floor(credits / tokens) + (i < credits % tokens ? 1 : 0);
      this.add(this.token(share), at, true);
      at += apart;
    }
    this.freeBack = at;
    if (this.marks.length > 0) {
      moving.add(this);
      run();
    }
  }

  /** Without motion marks jump to their place once a second. */
  private sentStill(frames: number, events: number, credits: number, backlog: number, fill: number): void {
    const now = performance.now();
    if (now - this.lastStill < 1000 || frames + events + credits === 0) return;
    this.lastStill = now;
    for (const m of this.marks.splice(0)) this.drop(m);
    const put = (e: HTMLElement, at: number, back: boolean): void => {
      this.marks.push({ e, from: now, back });
      prop(e, "--x", `${at * this.width}px`);
    };
    if (frames > 0) put(this.frame(backlog, fill), 0.3, false);
    if (events > 0) put(this.take("ev"), 0.6, false);
    if (credits > 0) put(this.token(credits), 0.5, true);
  }

  private add(e: HTMLElement, from: number, back: boolean): void {
    if (this.marks.length > 24) return;
    this.marks.push({ e, from, back });
  }

  advance(now: number): boolean {
    for (let i = this.marks.length - 1; i >= 0; i--) {
      const m = this.marks[i];
      if (!m) continue;
      const way = (now - m.from) / travelMs;
      if (way >= 1) {
        this.marks.splice(i, 1);
        this.drop(m);
        continue;
      }
      const x = way < 0 ? -40 : (m.back ? 1 - way : way) * (this.width + 26) - 26;
      prop(m.e, "--x", `${x.toFixed(1)}px`);
    }
    return this.marks.length > 0;
  }

  private frame(backlog: number, fill: number): HTMLElement {
    const e = this.take("frame");
    say(e.firstElementChild as Element, String(backlog));
    prop(e, "--f", fill.toFixed(2));
    return e;
  }

  private token(credits: number): HTMLElement {
    const e = this.take("token");
    say(e, `+${credits}`);
    return e;
  }

  private take(kind: "frame" | "ev" | "token"): HTMLElement {
    const e = this.spare[kind]?.pop() ?? this.make(kind);
    prop(e, "--x", "-40px");
    this.e.append(e);
    return e;
  }

  private make(kind: string): HTMLElement {
    if (kind === "token") return h("span", { class: "token" });
    return h("span", { class: kind === "ev" ? "frame ev" : "frame" }, h("span"));
  }

  private drop(m: Mark): void {
    m.e.remove();
    const kind = m.e.classList.contains("token") ? "token" : m.e.classList.contains("ev") ? "ev" : "frame";
    this.spare[kind]?.push(m.e);
  }
}
