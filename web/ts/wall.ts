import { ask, reason } from "./classapi";
import { bars } from "./classbars";
import { ClassSocket } from "./classlive";
import type { ClassInfo, Live, Question, Row, WallState } from "./classtypes";
import { $, $$, attr, fit, h, handed, icon, prop, say } from "./dom";
import { preferences } from "./preferences";
import { Countdown } from "./classtimer";
import { clock, duration, knows, num, pageAt, t } from "./text";
import { askQuestion, largeCode, newClass, sendLab, setTimer } from "./walldialogs";
import { Folds } from "./wallfolds";
import { WallRow, type Columns } from "./wallrow";
import { sayNext, type Say } from "./wallsay";
import type { WallData, WallLab } from "./walltypes";

const data = handed<WallData>("wall");
const stuckAfter = 240; // seconds without progress that are worth a look
const namesKey = "weir.wall.alias";
const mostClaims = 6; // beside a column of answers

/** The instructor's wall: every learner's row, and what steers the class. */
class WallPage {
  private readonly rows = new Map<string, WallRow>();
  private readonly body = $("#w-rows");
  private readonly refused = $("#w-refused");
  private readonly freeze = $<HTMLButtonElement>("#w-freeze");
  private readonly unspot = $<HTMLButtonElement>("#w-unspot");
  private state: WallState | undefined;
  private heads = "";
  private columns: Columns = {
    lab: undefined, aliases: localStorage.getItem(namesKey) === "1", choices: [], exercises: new Map(data.exercises.map((x) => [x.id, x.title])), labs: new Map(data.labs.map((l) => [l.id, l.title])),
  };
  private readonly names = $<HTMLButtonElement>("#w-names");
  private readonly left = new Countdown($("#w-left"), (x) => x, t("wall.left.up"), "––:––");
  private readonly folds = new Folds(data, () => this.state);
  private history: Question | undefined;
  private hands = new Set<string>();

  constructor() {
    preferences();
    new ClassSocket<WallState>("/api/v1/class/wall/stream", true, (w) => this.draw(w), (up) => this.trouble(up ? this.storeTrouble() : t("class.away")));
    this.freeze.addEventListener("click", () => void this.steer("freeze", { frozen: !this.state?.live.frozen }));
    this.unspot.addEventListener("click", () => void this.steer("spotlight", { session: "" }));
    $("#w-send").addEventListener("click", () => this.send());
    $("#w-ask").addEventListener("click", () => this.ask());
    for (const b of $$("#w-qr, #w-join")) b.addEventListener("click", () => this.showCode());
    $("#w-left").addEventListener("click", () => setTimer(this.state?.live.until !== undefined, (minutes) => ask("POST", "class/timer", { minutes })));
    $("#w-q-close").addEventListener("click", () => void this.question("close"));
    $("#w-q-run").addEventListener("click", () => void this.question("run"));
    $("#w-new").addEventListener("click", () => newClass());
    $<HTMLSelectElement>("#w-classes").addEventListener("change", (e) => void this.enter((e.target as HTMLSelectElement).value));
    this.names.addEventListener("click", () => {
      this.columns = { ...this.columns, aliases: !this.columns.aliases };
      localStorage.setItem(namesKey, this.columns.aliases ? "1" : "");
      this.drawNames();
      if (this.state) this.draw(this.state);
    });
    this.drawNames();
    void this.listClasses();
    void this.lastQuestion();
  }

  private send = (): void => sendLab(data.labs, this.state?.live, (body) => ask("POST", "class/lab", body));
  private ask = (): void => askQuestion(data.labs, (body) => ask("POST", "class/questions", body));
  private showCode(): void {
    if (this.state) largeCode(this.state.class);
  }

  private storeTrouble = (): string => (this.state?.trouble ? t("wall.store") : "");

  private drawNames(): void {
    say(this.names, t(this.columns.aliases ? "wall.names.off" : "wall.names"));
  }

  private trouble(text: string): void {
    const e = $("#w-trouble");
    if (e.textContent === text) return; // an alert is read out once
    e.hidden = text === "";
    e.replaceChildren(...(text ? [icon("x"), h("span", {}, text)] : []));
  }

  private async steer(what: string, body: unknown): Promise<void> {
    this.refused.hidden = true;
    try {
      const live = await ask<Live>("POST", `class/${what}`, body);
      if (!this.state) return;
      // At once, not with the next picture: a second press must mean the opposite.
      this.state = { ...this.state, live: { ...this.state.live, ...live, frozen: live.frozen === true, spotlight: live.spotlight ?? "", lab: live.lab ?? "" } };
      this.drawSteer(this.state);
    } catch (e) {
      this.refuse(e);
    }
  }

  private refuse(e: unknown): void {
    this.refused.hidden = false;
    say(this.refused, reason(e));
  }

  private async question(what: "close" | "run"): Promise<void> {
    const q = this.state?.live.question ?? this.history;
    if (!q) return;
    this.refused.hidden = true;
    try {
      await ask("POST", `class/questions/${q.id}/${what}`);
      await this.lastQuestion();
    } catch (e) {
      this.refuse(e);
    }
  }

  /** After a reload the last question is still to be talked about. */
  private async lastQuestion(): Promise<void> {
    const { questions } = await ask<{ questions: Question[] | null }>("GET", "class/questions").catch(() => ({ questions: null }));
    this.history = questions?.[0] ?? this.history;
    if (this.state) this.drawQuestion(this.state.live.question);
  }

  private async listClasses(): Promise<void> {
    const { classes } = await ask<{ classes: ClassInfo[] | null }>("GET", "classes").catch(() => ({ classes: null }));
    $("#w-classes").replaceChildren(...(classes ?? []).map((c) => h("option", { value: c.id }, c.name)));
    if (this.state) $<HTMLSelectElement>("#w-classes").value = this.state.class.id;
  }

  private async enter(id: string): Promise<void> {
    try {
      await ask("POST", `classes/${id}/enter`);
      location.reload();
    } catch (e) {
      this.refuse(e);
    }
  }

  private draw(w: WallState): void {
    const first = !this.state;
    this.state = w;
    const rows = w.rows ?? [];
    if (first) {
      $<HTMLSelectElement>("#w-classes").value = w.class.id;
      this.folds.show(w.class);
    }
    this.trouble(this.storeTrouble());
    this.left.set(w.live.until, w.live.now);
    this.drawHead(w, rows);
    this.drawSteps(w);
    this.drawTable(rows);
    this.drawSteer(w);
    this.drawLook(rows);
    this.drawQuestion(w.live.question);
    this.drawClaims(rows);
    this.drawSay(w, rows);
    this.tellHands(rows);
  }

  /** The lab that the columns are of: the one sent to all, or the one that most are in. */
  private labOf(rows: Row[]): WallLab | undefined {
    const count = new Map<string, number>();
    for (const r of rows) if (r.lab) count.set(r.lab, (count.get(r.lab) ?? 0) + 1);
    const [most, n] = [...count].sort((a, b) => b[1] - a[1])[0] ?? ["", 0];
    // The columns stay while many are in their lab: a tie must not have them change to and fro.
    const now = this.columns.lab?.id ?? "";
    const id = this.state?.live.lab || ((count.get(now) ?? 0) * 2 >= n && n > 0 ? now : most) || now;
    return data.labs.find((l) => l.id === id);
  }

  private drawHead(w: WallState, rows: Row[]): void {
    const lab = this.labOf(rows);
    const word = w.live.state !== "open" ? t(`class.is.${w.live.state}`) : w.live.frozen ? t("class.frozen.own") : t("wall.live.open");
    const live = $("#w-live");
    if (live.textContent !== word) live.replaceChildren(icon(w.live.state !== "open" ? "stop" : w.live.frozen ? "pause" : "play", true), h("span", {}, word));
    attr(live, "data-state", w.live.state === "open" && !w.live.frozen ? "RUNNING" : "held");
    say($("#w-label"), lab ? `${w.class.name} · ${t("lab.number", { n: lab.number })}` : t("class"));
    say($("#w-title"), lab ? lab.title : w.class.name);
    say($("#w-code"), w.class.code.replace(/^(.{4})-?(.+)$/, "$1 $2"));
    const at = w.class.join[0] ? new URL(w.class.join[0]).host : location.host;
    say($("#w-at"), t("wall.join", { at }));
    say($("#w-here"), num(rows.filter((r) => r.online).length));
    say($("#w-of"), t("wall.of", { n: num(rows.length) }));
    say($("#w-running"), num(w.server.sessions));
    say($("#w-limit"), w.server.queue > 0 ? t("wall.queue", { n: num(w.server.limit), q: num(w.server.queue) }) : t("wall.of", { n: num(w.server.limit) }));
  }

  private drawSteps(w: WallState): void {
    const counts = w.steps;
    const most = Math.max(...Object.values(counts));
    for (const e of $$("#w-dist [data-step]")) {
      const n = counts[e.dataset["step"] as keyof typeof counts];
      say($("b", e), num(n));
      prop(e, "--n", Math.max(n, 0.6));
      e.classList.toggle("now", n > 0 && n === most && e.dataset["step"] !== "done");
    }
  }

  private drawTable(rows: Row[]): void {
    const lab = this.labOf(rows);
    const heads = lab ? lab.claims.map((c) => c.text) : [];
    const choices = heads.length <= mostClaims ? (this.state?.live.question?.choices ?? []) : [];
    this.columns = { ...this.columns, lab, choices };
    const key = JSON.stringify([lab?.id, heads, choices.length > 0]);
    if (key !== this.heads) {
      this.heads = key;
      const th = (text: string, cls = ""): HTMLElement => h("th", { scope: "col", class: cls }, text);
      $("#w-head").replaceChildren(th(t("wall.col.learner"), "w1"), th(t("wall.col.step"), "w2"), ...(choices.length > 0 ? [th(t("wall.col.answer"), "w5")] : []), ...heads.map((x) => th(x, "claim")),
        ...(lab ? [] : [th(t("wall.col.lab"))]), th(t("wall.exercise"), "w5"), th(t("wall.col.mini"), "w3"), th(t("wall.col.last"), "num w4"), th(t("wall.col.stuck"), "num w4"));
      prop($("#w-table"), "--claims", Math.max(heads.length, 1));
      for (const r of this.rows.values()) r.e.remove();
      this.rows.clear();
    }
    const there = new Set(rows.map((r) => r.id));
    for (const [id, r] of this.rows) {
      if (there.has(id)) continue;
      r.e.remove();
      this.rows.delete(id);
    }
    for (const r of rows) {
      let row = this.rows.get(r.id);
      if (!row) {
        row = new WallRow((what, body) => void this.steer(what, body), (id) => void this.lowerHand(id));
        this.rows.set(r.id, row);
        this.body.append(row.e);
      }
      row.draw(r, this.columns, this.state?.class.mayDrive ?? false, this.state?.live.spotlight ?? "", r.stuck >= stuckAfter && r.online && r.step !== "done");
    }
    $("#w-empty").hidden = rows.length > 0;
    $("#w-table").hidden = rows.length === 0;
    this.order(rows);
  }

  /** Rows keep their places while the pointer or the focus is among them: a link must not slip away under a hand. */
  private order(rows: Row[]): void {
    if (this.body.matches(":hover, :focus-within")) return;
    rows.forEach((r, i) => {
      const e = this.rows.get(r.id)?.e;
      if (e && this.body.children[i] !== e) this.body.insertBefore(e, this.body.children[i] ?? null);
    });
  }

  private drawSteer(w: WallState): void {
    const l = w.live;
    attr(this.freeze, "aria-pressed", String(l.frozen === true));
    say($("span", this.freeze), t(l.frozen ? "wall.resume" : "wall.freeze"));
    this.unspot.disabled = !l.spotlight;
    const now: Node[] = [];
    const title = (id?: string): string => data.labs.find((x) => x.id === id)?.title ?? id ?? "";
    if (l.spotlight) {
      const of = (w.rows ?? []).find((r) => r.session === l.spotlight);
      now.push(h("span", {}, icon("play", true), " ", t("wall.now.spot", { lab: title(l.spotlightLab), name: of ? this.nameOf(of) : t("wall.instructor") })));
    }
    if (l.lab) now.push(h("span", {}, icon("arr"), " ", t("wall.now.lab", { lab: title(l.lab), n: num(Object.keys(l.knobs ?? {}).length) })));
    if (l.state !== "open") now.push(h("span", {}, icon("stop", true), " ", t(`class.is.${l.state}`)));
    const list = $("#w-now");
    const key = now.map((n) => n.textContent).join("|");
    if (list.dataset["key"] === key) return;
    list.dataset["key"] = key;
    list.replaceChildren(...now.map((n) => h("li", {}, n)));
    if (l.lab) {
      const end = h("button", { type: "button", class: "link" }, t("wall.now.end"));
      end.addEventListener("click", () => void this.steer("lab", { lab: "" }));
      list.append(h("li", {}, end));
    }
  }

  private nameOf = (r: Row): string => (this.columns.aliases ? r.alias || t("wall.noalias") : r.name);

  /** Hands first, as the rows come; then those without progress for long. */
  private drawLook(rows: Row[]): void {
    const list = rows.filter((r) => r.handFor || (r.online && r.stuck >= stuckAfter && r.step !== "done")).slice(0, 6);
    const items = fit($("#w-look"), Math.max(list.length, 1), () => h("li", {}, h("b"), h("span", { class: "num" }), h("small"), h("a", {})));
    items.forEach((li, i) => {
      const r = list[i];
      const [name, time, why, open] = li.children as unknown as [HTMLElement, HTMLElement, HTMLElement, HTMLAnchorElement];
      say(name, r ? this.nameOf(r) : "");
      say(time, r ? clock((r.handFor || r.stuck) * 1000, false) : "");
      say(why, r ? this.whyLook(r) : t("wall.look.none"));
      const to = r?.session && r.here && r.lab ? pageAt(`/labs/${r.lab}?session=${r.session}${this.state?.class.mayDrive ? "" : "&watch=1"}`) : null;
      attr(open, "href", to);
      say(open, to ? t("wall.open") : "");
    });
  }

  private whyLook(r: Row): string {
    if (r.handFor) return t("wall.why.hand");
    if (r.mini?.held) return t("wall.why.held");
    if (r.mini && ["FAILED", "FINISHED", "CANCELED"].includes(r.mini.state)) return t("wall.why.over", { state: knows(`state.${r.mini.state}`) ? t(`state.${r.mini.state}`) : r.mini.state });
    if (r.exercise) return t("wall.why.exercise", { title: data.exercises.find((e) => e.id === r.exercise)?.title ?? r.exercise });
    if (r.line) return t("wall.line", { n: r.line });
    if (!r.mini) return t("wall.why.norun");
    if (r.mini?.changes === 0) return t("wall.why.noturn");
    const open = data.labs.find((l) => l.id === r.lab)?.claims.find((_, i) => r.claims?.[i] !== "shown");
    if (open && r.shown > 0) return t("wall.why.claim", { claim: open.text });
    return t("wall.why.claims", { n: num(r.shown), of: num(r.of) });
  }

  private drawQuestion(open: Question | undefined): void {
    const q = open ?? this.history;
    if (open) this.history = open;
    $("#w-question").hidden = !q;
    if (!q) return;
    say($("#w-q-text"), q.text);
    say($("#w-q-state"), t(q.ended ? "wall.q.ended" : "wall.q.open"));
    const counts = q.counts ?? [];
    const key = `${q.id}/${counts.join()}`;
    const hist = $("#w-hist");
    if (hist.dataset["key"] !== key) {
      hist.dataset["key"] = key;
      hist.replaceChildren(...bars(q.choices, counts).childNodes);
    }
    say($("#w-q-of"), t("wall.q.of", { n: num(counts.reduce((a, b) => a + b, 0)), of: num(q.of ?? 0) }));
    const measured = (this.state?.rows ?? []).filter((r) => q.lab && r.lab === q.lab && r.mini?.checkpointMs).map((r) => r.mini?.checkpointMs ?? 0).sort((a, b) => a - b);
    const median = measured[Math.floor(measured.length / 2)];
    $("#w-q-measured").hidden = median === undefined;
    say($("#w-q-measured"), median === undefined ? "" : t("wall.q.measured", { value: duration(median) }));
    $<HTMLButtonElement>("#w-q-close").disabled = Boolean(q.ended);
    $("#w-q-run").hidden = !q.lab;
  }

  private drawClaims(rows: Row[]): void {
    const lab = this.labOf(rows);
    $("#w-claims-s").hidden = !lab || lab.claims.length === 0;
    if (!lab) return;
    const of = rows.filter((r) => r.lab === lab.id);
    const counts = lab.claims.map((_, i) => of.filter((r) => r.claims?.[i] === "shown").length);
    const e = $("#w-claims");
    const key = `${lab.id}/${of.length}/${counts.join()}`;
    if (e.dataset["key"] === key) return;
    e.dataset["key"] = key;
    e.replaceChildren(...bars(lab.claims.map((c) => c.text), counts, undefined, of.length).childNodes);
  }

  /** What to say or do next. An item keeps its place and its button while it is the same. */
  private drawSay(w: WallState, rows: Row[]): void {
    const list = sayNext(w, this.labOf(rows), w.live.question ?? this.history, this.nameOf);
    const e = $("#w-say");
    const key = JSON.stringify(list);
    if (e.dataset["key"] === key) return;
    e.dataset["key"] = key;
    e.replaceChildren(...(list.length > 0 ? list.map((x) => h("li", {}, h("span", {}, x.text), ...this.sayButton(x))) : [h("li", {}, t("wall.say.none"))]));
  }

  private sayButton(x: Say): HTMLElement[] {
    if (!x.act) return [];
    const [text, act] = {
      show: [t("wall.say.show", { name: x.name ?? "" }), () => void this.steer("spotlight", { session: x.session })],
      decide: [t("wall.q.run"), () => void this.question("run")],
      ask: [t("wall.ask"), this.ask],
      send: [t("wall.send"), this.send],
      code: [t("wall.say.code"), () => this.showCode()],
    }[x.act] as [string, () => void];
    const b = h("button", { type: "button", class: "small" }, text);
    b.addEventListener("click", act);
    return [b];
  }

  /** A hand that goes up is said once. */
  private tellHands(rows: Row[]): void {
    const up = new Set(rows.filter((r) => r.handFor).map((r) => r.id));
    const fresh = rows.filter((r) => up.has(r.id) && !this.hands.has(r.id));
    this.hands = up;
    if (fresh.length > 0) say($("#w-said"), t("wall.hands", { names: fresh.map(this.nameOf).join(", ") }));
  }

  private async lowerHand(id: string): Promise<void> {
    await ask("PATCH", `class/people/${id}`, { hand: false }).catch((e: unknown) => this.refuse(e));
  }
}

new WallPage();
