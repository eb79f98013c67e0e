import { ask, copy, ownZone, reason } from "./classapi";
import type { ClassInfo, Live } from "./classtypes";
import { h, say } from "./dom";
import { t } from "./text";
import type { KnobValue } from "./types";
import type { WallLab } from "./walltypes";

type Values = Record<string, KnobValue>;

/** A dialog with a form; it closes when what was asked for is done. */
export function dialog(title: string, go: string, body: Node[], submit: () => Promise<unknown>): HTMLDialogElement {
  const refused = h("p", { class: "refused", role: "alert", hidden: true });
  const ok = h("button", { type: "submit", class: "primary" }, go);
  const cancel = h("button", { type: "button" }, t("wall.cancel"));
  const form = h("form", { class: "wform" }, h("h2", {}, title), ...body, refused, h("div", { class: "foot" }, cancel, ok));
  const d = h("dialog", { class: "wdialog", "aria-label": title }, form);
  cancel.addEventListener("click", () => d.close());
  d.addEventListener("close", () => d.remove());
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    ok.disabled = true;
    submit().then(
      () => d.close(),
      (err: unknown) => {
        ok.disabled = false;
        refused.hidden = false;
        say(refused, reason(err));
      },
    );
  });
  document.body.append(d);
  d.showModal();
  return d;
}

/** A lab and the knobs that are preset for it. */
class LabChoice {
  readonly e: HTMLElement;
  private readonly select: HTMLSelectElement;
  private readonly list = h("ul", { class: "wknobs" });
  private readonly add = h("select", {});
  private readonly values: Values = {};

  constructor(private readonly labs: WallLab[], none: string, lab = "", knobs: Values = {}) {
    this.select = h("select", {}, ...(none ? [h("option", { value: "" }, none)] : []), ...labs.map((l) => h("option", { value: l.id }, `${l.number} ${l.title}`)));
    this.e = h("div", { class: "wlab" }, h("label", {}, t("wall.col.lab"), " ", this.select), this.list, h("label", {}, t("wall.knob.add"), " ", this.add));
    if (lab) this.select.value = lab;
    this.select.addEventListener("change", () => {
      for (const k of Object.keys(this.values)) delete this.values[k];
      this.draw();
    });
    this.add.addEventListener("change", () => {
      const k = this.knobs().find((x) => x.name === this.add.value);
      if (!k) return;
      this.values[k.name] = k.default;
      this.draw();
      this.list.lastElementChild?.querySelector<HTMLElement>("input, select")?.focus();
    });
    Object.assign(this.values, knobs);
    this.draw();
  }

  get lab(): string {
    return this.select.value;
  }

  get preset(): Values {
    return { ...this.values };
  }

  private knobs(): WallLab["knobs"] {
    return this.labs.find((l) => l.id === this.lab)?.knobs ?? [];
  }

  private draw(): void {
    const knobs = this.knobs();
    (this.add.parentElement as HTMLElement).hidden = knobs.length === 0;
    this.add.replaceChildren(h("option", { value: "" }, "…"), ...knobs.filter((k) => !(k.name in this.values)).map((k) => h("option", { value: k.name }, k.text)));
    this.list.replaceChildren(...knobs.filter((k) => k.name in this.values).map((k) => {
      const v = this.values[k.name] as KnobValue;
      const options = k.type === "bool" ? ["true", "false"] : k.type === "enum" ? (k.values ?? []) : undefined;
      const word = (x: string): string => (k.type === "bool" ? t(x === "true" ? "knob.on" : "knob.off") : x);
      const input = options ? h("select", {}, ...options.map((x) => h("option", { value: x }, word(x))))
        : h("input", { type: "number", step: "any", required: true, ...(k.min === undefined ? {} : { min: k.min }), ...(k.max === undefined ? {} : { max: k.max }) });
      input.value = String(v);
      input.addEventListener("change", () => (this.values[k.name] = k.type === "bool" ? input.value === "true" : k.type === "enum" ? input.value : Number(input.value)));
      const off = h("button", { type: "button", class: "quiet", "aria-label": t("wall.knob.drop", { name: k.text }) }, "×");
      off.addEventListener("click", () => {
        delete this.values[k.name];
        this.draw();
        this.add.focus();
      });
      return h("li", {}, h("label", {}, h("span", {}, k.text), input, h("small", { class: "dim" }, k.unit ?? "")), off);
    }));
  }
}

/** Sends a lab with preset knobs to every page. */
export function sendLab(labs: WallLab[], live: Live | undefined, send: (body: unknown) => Promise<unknown>): void {
  const choice = new LabChoice(labs, "", live?.lab, live?.knobs);
  dialog(t("wall.send"), t("wall.send.go"), [h("p", { class: "mid" }, t("wall.send.about")), choice.e], () => send({ lab: choice.lab, knobs: choice.preset }));
}

/** Asks a question of all: two to six choices, and the run that decides. */
export function askQuestion(labs: WallLab[], send: (body: unknown) => Promise<unknown>): void {
  const text = h("textarea", { rows: 2, maxlength: 500, required: true });
  const inputs: HTMLInputElement[] = [];
  const list = h("ol", { class: "wchoices" });
  const more = h("button", { type: "button", class: "small" }, t("wall.q.more"));
  const add = (): void => {
    const input = h("input", { type: "text", maxlength: 200, "aria-label": t("wall.q.choice", { n: inputs.length + 1 }) });
    if (inputs.length < 2) input.required = true;
    inputs.push(input);
    list.append(h("li", {}, input));
    more.hidden = inputs.length >= 8;
  };
  for (let i = 0; i < 3; i++) add();
  more.addEventListener("click", () => {
    add();
    inputs.at(-1)?.focus();
  });
  const choice = new LabChoice(labs, t("wall.q.norun"));
  const body = [h("label", {}, t("wall.q.text"), text), h("p", { class: "label" }, t("wall.q.choices")), list, more, h("p", { class: "label" }, t("wall.q.decides")), choice.e];
  dialog(t("wall.ask"), t("wall.q.ask"), body, () => send({
    text: text.value.trim(), choices: inputs.map((i) => i.value.trim()).filter((x) => x !== ""), ...(choice.lab ? { lab: choice.lab, knobs: choice.preset } : {}),
  }));
}

/** The join address as large as the screen lets it be. */
export function largeCode(c: ClassInfo): void {
  const field = h("input", { type: "text", readonly: true, class: "mono", value: c.join[0] ?? "", "aria-label": t("wall.join.link") });
  const copied = h("button", { type: "button" }, t("mine.copy"));
  copied.addEventListener("click", () => void copy(field).then((ok) => say(copied, t(ok ? "mine.copied" : "mine.copy"))));
  const close = h("button", { type: "button", class: "primary" }, t("pointer.done"));
  const d = h("dialog", { class: "wdialog wqrd", "aria-label": t("wall.qr") },
    h("img", { src: "/api/v1/class/qr.png", width: 440, height: 440, alt: t("wall.qr") }),
    h("p", { class: "code" }, c.code.replace(/^(.{4})-?(.+)$/, "$1 $2")),
    h("ul", { class: "wjoin" }, ...c.join.map((x) => h("li", { class: "mono" }, x))),
    h("div", { class: "foot" }, field, copied, close));
  close.addEventListener("click", () => d.close());
  d.addEventListener("close", () => d.remove());
  document.body.append(d);
  d.showModal();
  close.focus();
}

/** Makes another class on this server and looks at it. */
export function newClass(): void {
  const name = h("input", { type: "text", maxlength: 100, required: true });
  const zone = h("input", { type: "text", maxlength: 64, required: true, value: ownZone, list: "zones" });
  dialog(t("wall.new"), t("wall.new.go"), [h("label", {}, t("wall.name"), " ", name), h("label", {}, t("wall.zone"), " ", zone), h("p", { class: "label" }, t("wall.new.about"))], async () => {
    const made = await ask<ClassInfo>("POST", "classes", { name: name.value.trim(), zone: zone.value.trim() });
    const link = h("input", { type: "text", readonly: true, class: "mono", value: made.link ?? "", "aria-label": t("wall.new.link") });
    dialog(t("wall.new.link"), t("wall.new.enter"), [h("p", { class: "mid" }, t("wall.new.keep")), link], async () => {
      await ask("POST", `classes/${made.id}/enter`);
      location.reload();
    });
    link.select();
  });
}

/** Has all pages count down, or ends that. */
export function setTimer(running: boolean, set: (minutes: number) => Promise<unknown>): void {
  const minutes = h("input", { type: "number", min: 1, max: 1440, step: 1, required: true, value: 10 });
  const body: Node[] = [h("p", { class: "mid" }, t("wall.timer.about")), h("label", {}, t("wall.timer.minutes"), " ", minutes)];
  if (running) {
    const end = h("button", { type: "button", class: "small" }, t("wall.timer.end"));
    end.addEventListener("click", () => void set(0).then(() => d.close()));
    body.push(end);
  }
  const d = dialog(t("wall.timer"), t("wall.timer.go"), body, () => set(Number(minutes.value)));
  minutes.focus();
  minutes.select();
}

/** Gives a learner another name. */
export function rename(name: string, keep: (name: string) => Promise<unknown>): void {
  const field = h("input", { type: "text", maxlength: 60, required: true, value: name });
  dialog(t("wall.rename"), t("wall.set.keep"), [h("label", {}, t("wall.rename.to"), " ", field)], () => keep(field.value.trim()));
  field.select();
}
