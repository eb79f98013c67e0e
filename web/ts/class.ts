import { ask, ClassProblem, reason } from "./classapi";
import { ClassSocket } from "./classlive";
import { bars } from "./classbars";
import { Countdown } from "./classtimer";
import type { InLine, Live, Me, Member, Question } from "./classtypes";
import { $, attr, h, handed, icon, maybe, say } from "./dom";
import { due, dueForMe, whenLate } from "./due";
import { keptStart, leaveLine } from "./line";
import { progress } from "./progress";
import { Results, type Waiting } from "./results";
import { num, pageAt, t } from "./text";
import type { KnobValue } from "./types";

const member = handed<Member>("member");
const placeEvery = 20_000;
const backKey = "weir.class.back";
const leftKey = "weir.class.left";
const triedKey = "weir.class.tried";
const doneKey = "weir.class.lab";
const hiddenKey = "weir.class.question";
const placeKey = "weir.class.place";

const here = (): URL => new URL(location.href);
/** The run that this page was opened to follow. One that is over is taken out of the address, and the page is no other for it. */
const watched = here().searchParams.has("watch") ? here().searchParams.get("session") || "gone" : "";

/** Keeps a choice for as long as the tab lives. */
const tab = {
  get: (key: string): string => sessionStorage.getItem(key) ?? "",
  set: (key: string, value: string): void => (value ? sessionStorage.setItem(key, value) : sessionStorage.removeItem(key)),
};

/** The address of a lab's page with knobs preset. */
function labAddress(lab: string, knobs: Record<string, KnobValue> = {}): string {
  const q = new URLSearchParams();
  for (const [name, v] of Object.entries(knobs)) q.set(name, String(v));
  if (here().searchParams.has("lang")) q.set("lang", document.documentElement.lang);
  const s = q.toString();
  return `/labs/${encodeURIComponent(lab)}${s ? `?${s}` : ""}`;
}

const titleOf = (lab: string | undefined): string => (lab ? (member.labs[lab] ?? lab) : "");

/** The line of the class on top of a page: what the instructor has all pages do, and what a learner can say back. */
class Strip {
  private readonly state = $("#c-state");
  private readonly spot = $("#c-spot");
  private readonly lab = $("#c-lab");
  private readonly question = $("#c-ask");
  private readonly trouble = $("#c-trouble");
  private readonly left = new Countdown($("#c-left"), (clock) => t("class.left", { clock }), t("class.left.none"));
  protected live: Live | undefined;
  private asked = "";
  private zone = "UTC";
  private up = true;
  private complaint = 0;

  constructor() {
    new ClassSocket<Live>("/api/v1/class/live", false, (l) => this.take(l), (up) => this.link(up), () => this.isGone());
    void this.who();
  }

  private async who(): Promise<void> {
    try {
      const me = await ask<Me>("GET", "class/me");
      say($("#c-name"), me.class.name);
      if (me.name) say($("#c-who"), me.name);
      document.dispatchEvent(new CustomEvent("weir-me", { detail: me }));
      if (!this.live) this.take(me.live);
      this.zone = me.class.zone;
      await this.showDue();
    } catch {
      // the socket tells of a server that is away
    }
  }

  /** Whether the reader is not of the class any more: removed, or with a newer link elsewhere. */
  private async isGone(): Promise<boolean> {
    try {
      await ask("GET", "class/me");
      return false;
    } catch (e) {
      if (!(e instanceof ClassProblem) || e.status !== 401) return false;
    }
    clearTimeout(this.complaint);
    this.trouble.hidden = false;
    this.trouble.replaceChildren(h("span", {}, t("class.gone")), h("a", { class: "btn small primary", href: pageAt("/class") }, t("lost.join")));
    return true;
  }

  private link(up: boolean): void {
    this.up = up;
    this.tellTrouble();
  }

  /** What is wrong with the class now, as long as it is. */
  private tellTrouble(): void {
    clearTimeout(this.complaint);
    const text = !this.up ? t("class.away") : this.live?.away ? t(`class.own.${this.live.away}`) : this.live?.trouble ? t("class.store") : "";
    this.trouble.hidden = text === "";
    say(this.trouble, text);
  }

  /** Says why something failed, for a while. */
  protected complain(e: unknown): void {
    clearTimeout(this.complaint);
    this.trouble.hidden = false;
    say(this.trouble, reason(e));
    this.complaint = window.setTimeout(() => this.tellTrouble(), 8000);
  }

  /** On the page of an exercise: when it is due, by the class's clocks and by the reader's. */
  protected async showDue(): Promise<void> {
    const place = maybe("#x-due");
    const [, , id] = location.pathname.split("/");
    if (!place) return;
    // A class that is away says so in the strip; its deadline is missing until then.
    const all = await dueForMe(member.kind === "learner").catch(() => undefined);
    if (!all) return;
    const d = all.find((x) => x.exercise === id);
    place.hidden = !d;
    if (d) place.replaceChildren(h("b", {}, t("due.exercise")), " ", due(d.due, this.zone, d.overdue), " ", h("span", { class: "here" }, t("due.late.then", { rule: whenLate(d) })));
  }

  private take(l: Live): void {
    this.live = l;
    this.left.set(l.until, l.now);
    this.tellTrouble();
    const word = l.state !== "open" ? t(`class.is.${l.state}`) : l.frozen ? t("class.frozen") : "";
    if (this.state.textContent !== word) {
      this.state.replaceChildren(...(word ? [icon(l.state === "open" ? "pause" : "stop", true), word] : []));
    }
    attr($("#cstrip"), "data-frozen", l.frozen ? "" : null);
    this.showSpot(l);
    this.showLab(l);
    this.showQuestion(l.question);
    this.taken(l);
  }

  protected taken(_: Live): void {}

  protected banner(e: HTMLElement, key: string, ...parts: (Node | string)[]): void {
    if (e.dataset["key"] === key) return;
    e.dataset["key"] = key;
    e.hidden = parts.length === 0;
    e.replaceChildren(...parts);
  }

  protected showSpot(l: Live): void {
    if (!l.spotlight) this.banner(this.spot, "");
    else this.banner(this.spot, l.spotlight, icon("play", true), h("span", {}, t("class.shows.all", { lab: titleOf(l.spotlightLab) })));
  }

  protected button(key: string, act: () => void, primary = false): HTMLButtonElement {
    const b = h("button", { type: "button", class: primary ? "small primary" : "small" }, t(key));
    b.addEventListener("click", act);
    return b;
  }

  private showLab(l: Live): void {
    const id = l.lab ? `${l.lab}?${JSON.stringify(l.knobs ?? {})}` : "";
    if (!id || tab.get(doneKey) === id) {
      this.banner(this.lab, "");
      return;
    }
    const there = location.pathname === `/labs/${l.lab ?? ""}` && Object.entries(l.knobs ?? {}).every(([k, v]) => here().searchParams.get(k) === String(v));
    if (there) {
      tab.set(doneKey, id);
      this.banner(this.lab, "");
      return;
    }
    const n = Object.keys(l.knobs ?? {}).length;
    const open = h("a", { class: "btn small primary", href: labAddress(l.lab ?? "", l.knobs) }, t("class.open"));
    open.addEventListener("click", () => tab.set(doneKey, id));
    const text = t(n === 0 ? "class.sent" : "class.sent.knobs", { lab: titleOf(l.lab), n });
    this.banner(this.lab, id, icon("arr"), h("span", {}, text), open, this.button("class.later", () => {
      tab.set(doneKey, id);
      this.banner(this.lab, "");
    }));
  }

  protected showQuestion(q: Question | undefined): void {
    // A question that ended stays until its answers were seen.
    const key = q ? `${q.id}/${q.ended ?? ""}/${q.mine ?? ""}/${(q.counts ?? []).join()}` : "";
    if (key === this.asked) return;
    this.asked = key;
    if (!q || tab.get(hiddenKey) === q.id) {
      this.banner(this.question, "");
      return;
    }
    this.question.classList.toggle("answered", q.mine !== undefined && !q.ended);
    this.banner(this.question, key, ...this.questionParts(q));
  }

  protected questionParts(q: Question): (Node | string)[] {
    const parts: (Node | string)[] = [h("p", { class: "cq" }, h("b", {}, t("class.asks")), " ", q.text)];
    if (q.counts) parts.push(bars(q.choices, q.counts, q.mine));
    if (q.ended) {
      parts.push(h("p", { class: "crow" }, h("span", { class: "label" }, t("class.q.ended")), this.button("class.q.hide", () => {
        tab.set(hiddenKey, q.id);
        this.banner(this.question, "");
      })));
    }
    return parts;
  }
}

/** What a learner's pages do besides: follow, answer, raise a hand, hand in. */
class LearnerStrip extends Strip {
  private readonly hand = $<HTMLButtonElement>("#c-hand");
  private readonly wait = $("#c-wait");
  private readonly results: Results;
  private place = "";
  private placed = 0;

  constructor() {
    super();
    this.hand.addEventListener("click", () => void this.raise());
    this.results = new Results(member.person ?? "", (w, why) => this.waiting(w, why), (r) => {
      document.dispatchEvent(new CustomEvent("weir-kept", { detail: r }));
      void this.showDue();
    });
    document.addEventListener("weir-result", (e) => void this.handIn((e as CustomEvent<HandedIn>).detail));
    document.addEventListener("weir-drop", (e) => void this.results.drop((e as CustomEvent<string>).detail));
    document.addEventListener("weir-again", (e) => void this.results.resend((e as CustomEvent<string>).detail));
    setInterval(() => void this.tellPlace(), 1000);
    void this.tellPlace();
    // Who follows the spotlight waits on; who went elsewhere does not.
    const waited = keptStart();
    if (waited && !watched && location.pathname !== `/labs/${waited.lab}`) void leaveLine();
  }

  protected override taken(l: Live): void {
    document.dispatchEvent(new CustomEvent("weir-frozen", { detail: l.frozen === true }));
    document.dispatchEvent(new CustomEvent<InLine>("weir-line", { detail: { place: l.line ?? 0, turn: l.turn === true } }));
    this.hand.disabled = l.state !== "open";
    attr(this.hand, "aria-pressed", String(l.hand === true));
    say($("span", this.hand), t(l.hand ? "class.hand.up" : "class.hand"));
  }

  private async raise(): Promise<void> {
    const up = this.hand.getAttribute("aria-pressed") !== "true";
    attr(this.hand, "aria-pressed", String(up));
    say($("span", this.hand), t(up ? "class.hand.up" : "class.hand"));
    await ask("PATCH", "class/me", { hand: up }).catch((e: unknown) => {
      this.complain(e);
      attr(this.hand, "aria-pressed", String(!up));
      say($("span", this.hand), t(up ? "class.hand" : "class.hand.up"));
    });
  }

  // The spotlight: every page follows, unless its learner left this one, or a check runs that a new page would cancel.
  protected override showSpot(l: Live): void {
    const spot = l.spotlight ?? "";
    const on = watched;
    const e = $("#c-spot");
    if (!spot) {
      tab.set(leftKey, "");
      this.banner(e, "");
      if (on && tab.get(backKey)) this.back();
      return;
    }
    const lab = titleOf(l.spotlightLab);
    if (!on && here().searchParams.get("session") === spot) {
      this.banner(e, `own/${spot}`, icon("play", true), h("span", {}, t("class.shows.yours")));
      return;
    }
    if (on === spot) {
      this.banner(e, `on/${spot}`, icon("play", true), h("span", {}, t("class.following", { lab })), this.button("class.leave", () => {
        tab.set(leftKey, spot);
        this.back();
      }));
      return;
    }
    const follow = (): void => {
      if (!on) tab.set(backKey, location.pathname + location.search);
      tab.set(leftKey, "");
      const q = new URLSearchParams({ session: spot, watch: "1" });
      if (here().searchParams.has("lang")) q.set("lang", document.documentElement.lang);
      tab.set(triedKey, `${spot} ${Date.now()}`);
      location.assign(`/labs/${encodeURIComponent(l.spotlightLab ?? "")}?${q.toString()}`);
    };
    const [tried, at] = tab.get(triedKey).split(" ");
    const justTried = tried === spot && Date.now() - Number(at) < 15_000;
    const checking = maybe("#cancel:not([hidden])") !== null;
    if (l.spotlightLab && tab.get(leftKey) !== spot && !justTried && !checking) {
      follow();
      return;
    }
    this.banner(e, `off/${spot}`, icon("play", true), h("span", {}, t("class.shows", { lab })), ...(l.spotlightLab ? [this.button("class.follow", follow, true)] : []));
  }

  private back(): void {
    const to = tab.get(backKey) || "/class";
    tab.set(backKey, "");
    location.assign(to);
  }

  protected override questionParts(q: Question): (Node | string)[] {
    const parts = super.questionParts(q);
    if (q.ended) {
      return parts;
    }
    if (q.mine !== undefined) {
      parts.push(h("p", {}, icon("tick"), " ", t("class.q.mine", { choice: q.choices[q.mine] ?? "" })));
      return parts;
    }
    const form = h("form", { class: "cchoices" });
    const go = h("button", { type: "submit", class: "primary", disabled: true }, t("class.q.answer"));
    const set = h("fieldset", {}, h("legend", { class: "vh" }, q.text));
    q.choices.forEach((c, i) => set.append(h("label", {}, h("input", { type: "radio", name: "class-choice", value: i }), h("span", {}, c))));
    const wrong = h("p", { class: "refused", role: "alert", hidden: true });
    form.append(set, go, wrong);
    form.addEventListener("change", () => (go.disabled = false));
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      const chosen = form.querySelector<HTMLInputElement>("input:checked");
      if (!chosen) return;
      go.disabled = true;
      ask<Question>("POST", `class/questions/${q.id}/answers`, { choice: Number(chosen.value) }).then(
        (answered) => this.showQuestion(answered),
        (err: unknown) => {
          go.disabled = false;
          wrong.hidden = false;
          say(wrong, reason(err));
        },
      );
    });
    parts.push(form);
    return parts;
  }

  private async handIn(d: HandedIn): Promise<void> {
    const { id, result, work, exercise } = d;
    if (d.kept) return this.showDue(); // judged by the server and entered by it
    await this.results.add({ id, exercise, status: result.status, points: result.points, maxPoints: result.maxPoints, checks: result.checks, work: await withRecord(work) });
  }

  private waiting(all: Waiting[], why: string): void {
    const open = all.filter((w) => !w.refused).length;
    const refused = all.length - open;
    say(this.wait, open > 0 ? t(open === 1 ? "class.wait.one" : "class.wait", { n: num(open) }) : refused > 0 ? t(refused === 1 ? "class.wait.refused.one" : "class.wait.refused", { n: num(refused) }) : "");
    attr(this.wait, "title", why || null);
    document.dispatchEvent(new CustomEvent("weir-waiting", { detail: all }));
  }

  /** Tells where the learner is, when that changed and now and then. */
  private async tellPlace(): Promise<void> {
    // Who follows is still where they were.
    const kept = tab.get(placeKey);
    const p = watched && kept ? (JSON.parse(kept) as Place) : placeNow();
    tab.set(placeKey, JSON.stringify(p));
    const now = JSON.stringify(p);
    if (document.hidden || (now === this.place && Date.now() - this.placed < placeEvery)) return;
    this.place = now;
    this.placed = Date.now();
    await ask("PUT", "class/me/place", p).catch(() => undefined);
  }
}

interface HandedIn {
  id: string;
  kept?: boolean;
  exercise: string;
  result: { status: string; points: number; maxPoints: number; checks: unknown };
  work: Record<string, unknown>;
}

/** A run may be gone when the result is sent at last: its record goes with it. */
async function withRecord(work: Record<string, unknown>): Promise<Record<string, unknown>> {
  const session = work["session"];
  if (typeof session !== "string") return work;
  try {
    const r = await fetch(`/api/v1/sessions/${session}/record`);
    if (!r.ok) return work;
    let binary = "";
    for (const b of new Uint8Array(await r.arrayBuffer())) binary += String.fromCharCode(b);
    return { record: btoa(binary) };
  } catch {
    return work;
  }
}

interface Place {
  lab?: string;
  step?: string;
  exercise?: string;
  session?: string;
}

function placeNow(): Place {
  const [, kind, id] = location.pathname.split("/");
  if (kind === "exercises" && id) return { exercise: id };
  if (kind !== "labs" || !id || watched) return {};
  const step = progress(id).done.length >= 4 ? "done" : (maybe(".step.now")?.dataset["step"] ?? "");
  const session = here().searchParams.get("session") ?? "";
  return { lab: id, ...(step ? { step } : {}), ...(session ? { session } : {}) };
}

/** What the instructor's pages have besides: show a run to all, send a lab as it stands. */
class InstructorStrip extends Strip {
  private readonly show = $<HTMLButtonElement>("#c-show");
  private readonly send = $<HTMLButtonElement>("#c-send");

  constructor() {
    super();
    const [, kind, lab] = location.pathname.split("/");
    if (kind !== "labs" || !lab) return;
    this.show.hidden = this.send.hidden = false;
    this.show.addEventListener("click", () => {
      const mine = here().searchParams.get("session") ?? "";
      void this.steer("spotlight", { session: this.live?.spotlight === mine ? "" : mine });
    });
    this.send.addEventListener("click", () => {
      const knobs: Record<string, KnobValue> = {};
      for (const k of handed<{ knobs: { name: string; type: string }[] }>("page").knobs) {
        const v = here().searchParams.get(k.name);
        if (v !== null) knobs[k.name] = k.type === "bool" ? v === "true" : k.type === "enum" ? v : Number(v);
      }
      void this.steer("lab", { lab, knobs });
    });
    setInterval(() => this.showButton(), 1000);
  }

  private async steer(what: string, body: unknown): Promise<void> {
    await ask("POST", `class/${what}`, body).catch((e: unknown) => this.complain(e));
  }

  protected override taken(): void {
    this.showButton();
  }

  private showButton(): void {
    const mine = here().searchParams.get("session") ?? "";
    const on = mine !== "" && this.live?.spotlight === mine;
    this.show.disabled = mine === "";
    attr(this.show, "aria-pressed", String(on));
    say(this.show, t(on ? "class.show.end" : "class.show.this"));
  }
}

if (member.kind === "learner") new LearnerStrip();
else new InstructorStrip();

