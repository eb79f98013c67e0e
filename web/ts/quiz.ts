import { $, $$, icon, maybe, say } from "./dom";
import { t } from "./text";

/** The three questions that close a lesson. An answer that was given stays; its reason is told. */
export class Quiz {
  private readonly forms = $$<HTMLFormElement>("#quiz form");

  /** given are the answers kept in this browser, by question; onAnswer keeps a new one. */
  constructor(private readonly given: Record<number, number>, private readonly onAnswer: () => void) {
    for (const form of this.forms) {
      const button = $<HTMLButtonElement>("button", form);
      form.addEventListener("change", () => (button.disabled = false));
      form.addEventListener("submit", (e) => {
        e.preventDefault();
        const chosen = form.querySelector<HTMLInputElement>("input:checked");
        if (!chosen) return;
        this.given[this.numberOf(form)] = Number(chosen.value);
        this.show(form);
        this.score();
        this.onAnswer();
      });
      this.show(form);
    }
    this.score();
  }

  /** Takes answers that were given elsewhere, where there is none yet. */
  adopt(known: Record<string, number>): void {
    for (const form of this.forms) {
      const n = this.numberOf(form);
      const answer = known[n];
      if (answer === undefined || n in this.given) continue;
      this.given[n] = answer;
      this.show(form);
    }
    this.score();
  }

  /** Whether every question has an answer. */
  get done(): boolean {
    return this.forms.every((f) => this.numberOf(f) in this.given);
  }

  private numberOf(form: HTMLFormElement): number {
    return Number(form.dataset["question"]);
  }

  private show(form: HTMLFormElement): void {
    const answer = this.given[this.numberOf(form)];
    if (answer === undefined) return;
    const right = Number(form.dataset["right"]);
    const labels = $$("label", form);
    labels.forEach((label, i) => {
      const box = $<HTMLInputElement>("input", label);
      box.checked = i === answer;
      box.disabled = true;
      label.classList.toggle("right", i === right);
      label.querySelector("svg")?.remove();
      if (i === right || i === answer) label.append(icon(i === right ? "tick" : "x"));
    });
    $<HTMLButtonElement>("button", form).hidden = true;
    $(".why", form).hidden = false;
    say($(".said", form), answer === right ? t("quiz.right") : t("quiz.wrong", { right: labels[right]?.textContent?.trim() ?? "" }));
  }

  private score(): void {
    const score = maybe("#quiz-score");
    if (!score || Object.keys(this.given).length === 0) return;
    const right = this.forms.filter((f) => this.given[this.numberOf(f)] === Number(f.dataset["right"])).length;
    say(score, t("quiz.score", { right, of: this.forms.length }));
  }
}
