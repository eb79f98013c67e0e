import type { Mini, Row } from "./classtypes";
import { $, attr, cls, fit, h, icon, say } from "./dom";
import { ownMachine } from "./joined";
import { clock, knows, num, pageAt, t } from "./text";
import type { WallLab } from "./walltypes";

/** What the columns of the wall are of. */
export interface Columns {
  lab: WallLab | undefined;
  /** Names are not for a projector. */
  aliases: boolean;
  /** The choices of the question asked last, whose answers have a column; none without one, or where claims need the room. */
  choices: string[];
  /** Titles by id. */
  exercises: Map<string, string>;
  labs: Map<string, string>;
}

type Steer = (what: string, body: unknown) => void;

const SVG = "http://www.w3.org/2000/svg";
const steps = [["predict", "P"], ["run", "R"], ["observe", "O"], ["explain", "E"]] as const;
const marks: Record<string, [string, string, string]> = { shown: ["ok", "tick", "evidence.shown"], contradicted: ["wait", "x", "evidence.contradicted"], waiting: ["no", "ring", "evidence.waiting"] };

function shape<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Record<string, string>): SVGElementTagNameMap[K] {
  const e = document.createElementNS(SVG, tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  return e;
}

/** One learner's row. It is made once and only changed where something differs. */
export class WallRow {
  private readonly hand = h("button", { type: "button", class: "quiet handup", hidden: true }, icon("hand"));
  private readonly name = h("span", { class: "nm" });
  private readonly steps = h("span", { class: "proe", role: "img" });
  private readonly exercise = h("td", { class: "wex" });
  private readonly answer = h("td", { class: "wans" });
  private readonly mini = h("td", { class: "wmini" });
  private readonly last = h("td", { class: "num" });
  private readonly stuck = h("td", { class: "num" }, h("b"));
  private readonly spot = h("button", { type: "button", class: "link" });
  private readonly own = ownMachine();
  private readonly line = h("span", { class: "mid" });
  private readonly held = h("span", { class: "wheld", role: "img", "aria-label": t("wall.why.held"), title: t("wall.why.held"), hidden: true }, icon("pause", true));
  private readonly picture = shape("svg", { class: "spark", viewBox: "0 0 104 20", role: "img" });
  readonly e = h("tr", {}, h("th", { scope: "row" }, this.name, this.hand), h("td", {}, this.steps), this.answer, this.exercise, this.mini, this.last, this.stuck);
  private claims: HTMLElement[] = [];
  private key = "";
  private row: Row | undefined;

  constructor(steer: Steer, lower: (id: string) => void) {
    this.mini.append(this.picture, this.line, this.held, this.spot, this.own);
    this.picture.append(shape("path", { class: "sp-line" }), shape("g", {}));
    this.spot.addEventListener("click", () => this.row && steer("spotlight", { session: this.spot.getAttribute("aria-pressed") === "true" ? "" : this.row.session }));
    this.hand.addEventListener("click", () => this.row && lower(this.row.id));
    this.steps.append(...steps.map(([, letter]) => h("i", {}, letter)));
  }

  draw(r: Row, c: Columns, mayDrive: boolean, spotlight: string, stuck: boolean): void {
    this.row = r;
    const name = c.aliases ? r.alias || t("wall.noalias") : r.name;
    cls(this.e, `${stuck || r.handFor ? "stuck" : ""}${r.online ? "" : " away"}`.trim());
    attr(this.e, "data-person", r.id);
    this.drawName(r, name, mayDrive);
    this.hand.hidden = !r.handFor;
    attr(this.hand, "aria-label", r.handFor ? t("wall.hand.lower", { name, clock: clock(r.handFor * 1000, false) }) : null);
    attr(this.hand, "title", this.hand.getAttribute("aria-label"));
    this.drawSteps(r);
    this.drawClaims(r, c);
    const status = r.exerciseStatus ?? "";
    const points = r.points > 0 ? t("wall.points", { n: num(r.points) }) : "–";
    say(this.exercise, r.exercise ? (knows(`status.${status}`) ? t(`status.${status}`) : t("wall.at.work")) : points);
    this.answer.hidden = c.choices.length === 0;
    const chosen = r.answer === undefined ? "" : (c.choices[r.answer] ?? "");
    say(this.answer, chosen || "–");
    attr(this.answer, "title", chosen || null);
    attr(this.exercise, "data-status", status || null);
    this.drawMini(r.mini);
    say(this.line, r.line ? t("wall.line", { n: r.line }) : "");
    const can = r.session !== undefined && r.session !== "";
    this.spot.hidden = !can;
    this.own.hidden = r.own !== true;
    attr(this.spot, "aria-pressed", String(can && r.session === spotlight));
    attr(this.spot, "aria-label", t(r.session === spotlight ? "wall.spot.end" : "wall.spot", { name }));
    say(this.spot, t(r.session === spotlight ? "wall.spot.end.short" : "wall.spot.short"));
    say(this.last, r.mini?.checkpointMs ? `${num(r.mini.checkpointMs / 1000, 1)} ${t("unit.s")}` : "–");
    const time = $("b", this.stuck);
    say(time, r.online ? clock(r.stuck * 1000, false) : t("wall.away"));
    cls(time, stuck ? "" : "plain");
  }

  private drawName(r: Row, name: string, mayDrive: boolean): void {
    const to = r.session && r.here && r.lab ? pageAt(`/labs/${r.lab}?session=${r.session}${mayDrive ? "" : "&watch=1"}`) : "";
    const key = `${name}|${to}`;
    if (this.key === key) return;
    this.key = key;
    // Names are the learners' own: they come as text, whatever is in them.
    this.name.replaceChildren(to ? h("a", { href: to, title: t(mayDrive ? "wall.open.drive" : "wall.open") }, name) : name);
  }

  private drawSteps(r: Row): void {
    const at = r.step === "done" ? steps.length : steps.findIndex(([s]) => s === r.step);
    steps.forEach((_, i) => {
      const e = this.steps.children[i];
      if (e) cls(e, i < at ? "d" : i === at ? "n" : "");
    });
    attr(this.steps, "aria-label", r.step ? t(`wall.at.${r.step}`) : t("wall.at.none"));
  }

  private drawClaims(r: Row, { lab, labs, exercises }: Columns): void {
    const same = lab !== undefined && r.lab === lab.id && !r.exercise;
    const n = same ? lab.claims.length : lab && lab.claims.length === 0 ? 0 : 1;
    if (this.claims.length !== n || this.claims[0]?.dataset["same"] !== String(same)) {
      for (const e of this.claims) e.remove();
      this.claims = Array.from({ length: n }, () => h("td", { "data-same": String(same), ...(same || !lab ? {} : { colspan: lab.claims.length }) }));
      this.answer.after(...this.claims);
    }
    if (!same) {
      const other = this.claims[0];
      if (!other) return;
      const at = r.exercise ? t("wall.at.exercise", { title: exercises.get(r.exercise) ?? r.exercise }) : r.lab ? this.otherLab(r, labs) : "–";
      say(other, at);
      attr(other, "title", at);
      cls(other, "mid");
      return;
    }
    this.claims.forEach((e, i) => {
      const state = r.claims?.[i] ?? "waiting";
      if (e.dataset["state"] === state) return;
      e.dataset["state"] = state;
      const [c, mark, word] = marks[state] ?? ["no", "ring", "evidence.waiting"];
      e.replaceChildren(h("span", { class: `wev ${c}` }, icon(mark), h("span", { class: "vh" }, t(word))));
    });
  }

  private otherLab(r: Row, labs: Map<string, string>): string {
    const lab = labs.get(r.lab ?? "") ?? r.lab ?? "";
    return r.of > 0 ? t("wall.other", { lab, n: num(r.shown), of: num(r.of) }) : lab;
  }

  /** The miniature: of each vertex how busy and how back-pressured it is, then the last checkpoints' durations. */
  private drawMini(m: Mini | undefined): void {
    this.picture.toggleAttribute("hidden", !m);
    this.held.hidden = m?.held !== true;
    if (!m) return;
    const busy = m.busy ?? [];
    const pressed = m.pressed ?? [];
    const g = this.picture.lastElementChild as SVGGElement;
    const bars = fit(g, busy.length * 3, (i) => shape("rect", { class: ["mb", "mbusy", "mpress"][i % 3] ?? "", width: "7" }));
    busy.forEach((b, v) => {
      const p = pressed[v] ?? 0;
      const x = String(v * 10 + 0.5);
      const [box, full, press] = bars.slice(v * 3);
      const put = (e: Element | undefined, y: number, height: number): void => {
        if (!e) return;
        attr(e, "x", x);
        attr(e, "y", y.toFixed(1));
        attr(e, "height", Math.max(0, height).toFixed(1));
      };
      put(box, 0.5, 19);
      put(full, 19.5 - 19 * b, 19 * b);
      put(press, 19.5 - 19 * Math.min(1, b + p), 19 * Math.min(p, 1 - b));
    });
    const d = m.durations ?? [];
    const from = busy.length * 10 + 6;
    const top = Math.max(1, ...d);
    const points = d.map((ms, i) => `${(from + ((103 - from) * i) / Math.max(1, d.length - 1)).toFixed(1)},${(18 - (16 * ms) / top).toFixed(1)}`);
    attr(this.picture.firstElementChild as Element, "d", points.length > 1 ? `M${points.join(" ")}` : "");
    const state = knows(`state.${m.state}`) ? t(`state.${m.state}`) : m.state;
    attr(this.picture, "aria-label", t("wall.mini", {
      state, rate: num(m.recordsPerSecond), busy: num(100 * Math.max(0, ...busy)), pressed: num(100 * Math.max(0, ...pressed)), cause: m.bottleneck || "–",
    }));
  }
}
