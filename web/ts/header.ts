import * as address from "./address";
import { watching } from "./api";
import { $, attr, h, icon, say } from "./dom";
import { clock, knows, t } from "./text";

/** Run state and clock, and the buttons beside them. */
export class Header {
  readonly freeze = $<HTMLButtonElement>("#freeze");
  readonly restart = $<HTMLButtonElement>("#restart");
  readonly end = $<HTMLButtonElement>("#end");
  private readonly state = $("#runstate");
  private readonly word = $("#runword");
  private readonly clock = $("#clock");
  private readonly said = $("#said");
  private shown = "";

  constructor() {
    $("#share").addEventListener("click", () => void this.share());
  }

  /** Shows a run state: its shape and its word. It is said once, not with each second that a connection is away. */
  run(state: string, text = knows(`state.${state}`) ? t(`state.${state}`) : state): void {
    const mark = { RUNNING: "play", frozen: "still", stopped: "pause", FINISHED: "tick", FAILED: "x", lost: "half", RESTARTING: "restart" }[state] ?? "ring";
    if (this.shown !== state) {
      this.shown = state;
      attr(this.state, "data-state", state);
      this.state.querySelector("svg")?.replaceWith(icon(mark, mark === "play" || mark === "pause"));
      this.tell(text);
    }
    say(this.word, text);
  }

  time(ms: number | undefined): void {
    say(this.clock, ms === undefined ? "--:--" : clock(ms));
  }

  enable(running: boolean, any: boolean): void {
    this.freeze.disabled = !any;
    this.restart.disabled = !any || watching;
    this.end.disabled = !running || watching;
  }

  tell(text: string): void {
    say(this.said, text);
  }

  private async share(): Promise<void> {
    const link = address.shareable();
    try {
      await navigator.clipboard.writeText(link);
      this.flash($("#share"), t("run.shared"));
    } catch {
      const field = h("input", { type: "text", readonly: true, value: link, "aria-label": t("run.share.manual") });
      const close = h("button", { type: "button", class: "primary" }, t("pointer.done"));
      const dialog = h("dialog", {}, h("h2", {}, t("run.share.manual")), field, h("div", { class: "foot" }, close));
      document.body.append(dialog);
      close.addEventListener("click", () => dialog.close());
      dialog.addEventListener("close", () => dialog.remove());
      dialog.showModal();
      field.select();
    }
  }

  private flash(button: HTMLElement, text: string): void {
    this.tell(text);
    const word = $("span", button);
    const before = word.textContent ?? "";
    say(word, text);
    setTimeout(() => {
      say(word, before);
      this.tell("");
    }, 2000);
  }
}
