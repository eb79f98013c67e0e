import * as address from "./address";
import { watching } from "./api";
import { $, $$, attr, icon, maybe, say } from "./dom";
import { exchange, exerciseProgress, keepProgress, progress, type Progress } from "./progress";
import { Quiz } from "./quiz";
import { clock, lang, t } from "./text";
import type { Evidence, PageData, Picture } from "./types";

const steps = ["predict", "run", "observe", "explain"];

/** Where the proof of a claim is to be seen. */
const proofs: Record<string, string> = {
  "source-pressed": "#v-source", "map-busy": "#v-slow-map", "pools-full": "#panel-pipeline", "barrier-waits": "#panel-checkpoints",
  "debloat-shortens": "#panel-checkpoints", "same-rate": "#chart-throughput", "more-buffers": "#panel-channels", "size-fits": "#panel-channels",
  "own-groups": "#panel-key-groups", "shared-group": "#panel-key-groups", "few-keys-skew": "#panel-key-groups", "handed-over": "#panel-key-groups",
  "counts-add-up": "#panel-pipeline",
  "waits-half": "[data-timeout='100']", "each-record": "[data-timeout='0']", "only-full": "[data-timeout='-1']", "longest-wait": "[data-timeout='-1']",
  "same-records": "#panel-timeouts",
  "hot-full": "#kl-queues", "one-busy": "#v-slow-map", "all-pressed": "#v-source", "keys-do-not-help": "[data-cure='keys']", "groups-do-not-help": "[data-cure='maxParallelism']",
  "two-stages-help": "[data-cure='twoStage']", "few-keys": "#kl-cures",
  "out-of-credit": "#panel-channels", "books-balance": "#seq-books", "one-a-buffer": "#seq-books", "events-pass": "#seq tr.ev", "neighbour-free": "[data-try^='credit/']",
  "neighbour-stalls": "[data-try^='tcp/']", "backlog-announced": "[data-try='credit/0']",
  "overdraft-used": "#overdraft-live", "no-hard": "[data-try='1000/20']", "hard-without": "[data-try='1000/0']", "hard-large": "[data-try='5000/20']", "mail-waits": ".od-mail",
  "price": "[data-try='5000/200']",
  "aligned-waits": "[data-mode='aligned'][data-debloat='false']", "unaligned-quick": "[data-mode='unaligned'][data-debloat='false']", "overtakes": "#panel-channels",
  "persists": "[data-mode='unaligned'][data-debloat='false']", "debloat-halves": "[data-mode='unaligned'][data-debloat='true']", "timeout-between": "[data-mode='timeout'][data-debloat='false']",
};

/** The lesson: four steps, the learner's prediction, and the claims that the server judges. */
export class Lesson {
  private readonly kept: Progress;
  private readonly choices = maybe<HTMLFormElement>("#choices");
  private readonly committed = maybe("#committed");
  private readonly note = maybe<HTMLTextAreaElement>("#note");
  private readonly prev = $<HTMLButtonElement>("#prev-step");
  private readonly next = $<HTMLButtonElement>("#next-step");
  private readonly quiz: Quiz;
  private step: string;
  private now = 0;
  private running = false;
  private shown = 0;
  private judged = false;
  private claims = $$(".chip").length;

  constructor(private readonly page: PageData) {
    this.kept = progress(page.lab);
    this.step = new URL(location.href).searchParams.has("step") ? page.step : this.kept.step;
    if (!steps.includes(this.step)) this.step = "predict";
    for (const s of steps) $(`#step-${s} .steph`).addEventListener("click", () => this.go(s));
    this.prev.addEventListener("click", () => this.move(-1));
    this.next.addEventListener("click", () => this.move(1));
    this.setUpChoices();
    if (this.note) {
      this.note.value = this.kept.note ?? "";
      this.note.addEventListener("input", () => {
        this.kept.note = this.note?.value ?? "";
        this.markExplained();
        this.keep();
      });
    }
    this.kept.quiz ??= {};
    this.quiz = new Quiz(this.kept.quiz, () => {
      this.markExplained();
      this.keep();
    });
    for (const c of $$(".chip")) c.addEventListener("click", () => this.prove(c));
    for (const a of $$<HTMLAnchorElement>(".prose a[href^='#knob-'], .prose a[href^='#evidence-'], .prose a[href^='#point-']")) {
      a.addEventListener("click", (e) => {
        e.preventDefault();
        this.point(a.getAttribute("href")?.slice(1) ?? "");
      });
    }
    this.show(false);
    this.markExercises();
    void exchange().then((all) => this.adopt(all.labs[page.lab])).catch(() => undefined);
  }

  private markExercises(): void {
    for (const e of $$("[data-passed]")) e.hidden = exerciseProgress(e.dataset["passed"] ?? "").status !== "passed";
  }

  /** Takes what the server knew and this browser did not. What was done here stays. */
  private adopt(known: Progress | undefined): void {
    this.markExercises();
    if (!known) return;
    this.kept.done = [...new Set([...this.kept.done, ...known.done])];
    if (known.choice) this.kept.choice ??= known.choice;
    if (this.note && !this.kept.note) this.note.value = this.kept.note = known.note ?? "";
    this.quiz.adopt(known.quiz ?? {});
    this.showChoice();
    this.show(false);
  }

  /** Takes the clock and the claims from a picture. */
  draw(p: Picture): void {
    this.now = p.timeMs;
    if (!this.running) {
      this.running = true;
      this.mark("run", true);
      say($("#step-run small"), t("lesson.running"));
    }
    this.judge(p.evidence ?? []);
  }

  ended(): void {
    this.running = false;
    say($("#step-run small"), "");
  }

  move(by: number): void {
    const i = steps.indexOf(this.step) + by;
    if (i >= steps.length) {
      location.href = $<HTMLAnchorElement>(".brand").href;
      return;
    }
    const s = steps[i];
    if (s) this.go(s);
  }

  private go(step: string): void {
    this.step = step;
    this.kept.step = step;
    this.keep();
    this.show(true);
  }

  private show(inAddress: boolean): void {
    for (const s of steps) {
      const e = $(`#step-${s}`);
      const now = s === this.step;
      e.classList.toggle("now", now);
      const done = this.kept.done.includes(s) && !now;
      e.classList.toggle("done", done);
      const head = $(".steph", e);
      attr(head, "aria-expanded", String(now));
      attr(head, "aria-current", now ? "step" : null);
      $(".stepb", e).hidden = !now;
      $(".dot", e).replaceChildren(done ? icon("tick") : String(steps.indexOf(s) + 1));
    }
    const i = steps.indexOf(this.step);
    this.prev.hidden = i === 0;
    say(this.next, i + 1 < steps.length ? t(`lesson.next.${steps[i + 1]}`) : t("lesson.done"));
    if (inAddress) address.set({ step: this.step });
  }

  private setUpChoices(): void {
    const form = this.choices;
    if (!form || !this.committed) return;
    if (form.querySelectorAll("input").length === 0) {
      form.hidden = true;
      return;
    }
    const commit = $<HTMLButtonElement>("button", form);
    form.addEventListener("change", () => (commit.disabled = false));
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      const chosen = form.querySelector<HTMLInputElement>("input:checked");
      if (!chosen) return;
      const text = chosen.parentElement?.textContent?.trim() ?? "";
      this.kept.choice = { n: Number(chosen.value), text, at: this.running ? t("lesson.locked", { clock: clock(this.now, false) }) : t("lesson.locked.before") };
      this.mark("predict", true);
      this.keep();
      this.showChoice();
      this.go("run");
      $("#step-run .steph").focus();
    });
    this.showChoice();
  }

  /** A prediction is locked and quoted back. */
  private showChoice(): void {
    const c = this.kept.choice;
    if (!c || !this.choices || !this.committed) return;
    const own = this.choices.querySelectorAll("label")[c.n]?.textContent?.trim() ?? c.text;
    this.committed.hidden = false;
    say(this.committed, lang === "zh" ? `“${own}”` : `“${own}”`);
    this.choices.hidden = true;
    say($("#step-predict small"), c.at);
  }

  private judge(evidence: Evidence[]): void {
    let shown = 0;
    const said: string[] = [];
    for (const e of evidence) {
      const chip = maybe(`#evidence-${CSS.escape(e.id)}`);
      if (!chip) continue;
      const reading = e.reading[lang as "en" | "zh"] ?? "";
      if (e.state === "shown") shown++;
      const state = e.state === "shown" ? "ok" : e.state === "contradicted" ? "against" : reading ? "wait" : "no";
      if (chip.dataset["state"] !== state) {
        chip.dataset["state"] = state;
        chip.className = `chip ${state}`;
        const mark = { ok: "tick", against: "x", wait: "half", no: "ring" }[state];
        chip.querySelector("svg")?.replaceWith(icon(mark));
        say($("[data-word]", chip), t(`evidence.${e.state}`));
        if (state === "ok" || state === "against") said.push(`${$("span", chip).textContent ?? ""}. ${reading}`);
      }
      say($(".v", chip), reading);
    }
    // A page that was just opened does not read out all that was there.
    if (this.judged && said.length > 0) say($("#said"), said.join(" "));
    this.judged = true;
    if (shown !== this.shown) {
      this.shown = shown;
      this.mark("observe", shown === this.claims);
    }
    say($("#step-observe small"), t("lesson.shown", { n: shown, of: this.claims }));
  }

  /** Pressing a claim marks its proof in the picture. */
  private prove(chip: HTMLElement): void {
    for (const e of $$(".marked")) e.classList.remove("marked");
    const was = chip.getAttribute("aria-pressed") === "true";
    for (const c of $$(".chip[aria-pressed]")) c.removeAttribute("aria-pressed");
    if (was) return;
    chip.setAttribute("aria-pressed", "true");
    const target = maybe(proofs[chip.dataset["evidence"] ?? ""] ?? "");
    if (!target) return;
    target.classList.add("marked");
    target.scrollIntoView({ block: "nearest" });
    const panel = target.closest<HTMLElement>("[data-panel]")?.dataset["panel"];
    if (panel) address.set({ panel });
  }

  /** Follows a link of the text to a knob, a claim or a tracepoint, which it opens. */
  private point(id: string): void {
    const e = document.getElementById(id);
    if (!e) return;
    if (id.startsWith("evidence-")) {
      this.go("observe");
      e.focus();
      return;
    }
    e.closest("details")?.setAttribute("open", "");
    const about = e.querySelector<HTMLButtonElement>(".about[aria-expanded='false']");
    about?.click();
    e.scrollIntoView({ block: "nearest" });
    e.classList.add("seen");
    setTimeout(() => e.classList.remove("seen"), 2000);
    e.querySelector<HTMLElement>("button, input, select")?.focus();
  }

  /** The last step is done when something was written and the quiz is answered. */
  private markExplained(): void {
    this.mark("explain", (this.kept.note ?? "").trim().length > 0 && this.quiz.done);
  }

  private mark(step: string, done: boolean): void {
    const has = this.kept.done.includes(step);
    if (has === done) return;
    this.kept.done = done ? [...this.kept.done, step] : this.kept.done.filter((s) => s !== step);
    this.keep();
    this.show(false);
  }

  private keep(): void {
    if (watching) return; // what somebody else's run showed is not the learner's own
    keepProgress(this.page.lab, this.kept);
  }
}
