import * as api from "./api";
import { $, $$, attr, cls, fit, h, prop, say } from "./dom";
import { Poll } from "./poll";
import { num, sized, t } from "./text";
import { fillTable } from "./tries";
import type { HeapEntry, HeapView, Picture, Subtask } from "./types";

const lookEvery = 250;
const mostEntries = 64;

type Kind = "shared" | "copied" | "new" | "removed" | "plain";

/** A line of the microscope: what the task has, and what the snapshot has of the same key. */
interface Line {
  kind: Kind;
  live: HeapEntry | undefined;
  old: HeapEntry | undefined;
}

/** One copy-on-write map under a snapshot: which entries both still share, and which the task has copied. */
export class Microscope {
  private readonly states = $("#mic-states");
  private readonly group = $<HTMLInputElement>("#mic-group");
  private readonly button = $<HTMLButtonElement>("#mic-checkpoint");
  private readonly problem = $("#mic-error");
  private readonly grid = $("#mic");
  private readonly rows = $("#mic-rows");
  private readonly twin = $<HTMLDetailsElement>("#mic-twin");
  private readonly poll: Poll<HeapView | string>;
  private state = "";
  private held = false; // shows the last picture of a snapshot that was open
  private last: HeapView | undefined;
  private now: HeapView | undefined;
  private picture: Picture | undefined;
  private session = "";
  private frozen = false;
  private copies = new Set<string>(); // that were drawn, so that each flashes once

  constructor() {
    for (const b of $$<HTMLButtonElement>("#mic-show button")) {
      b.addEventListener("click", () => {
        this.held = b.value === "held";
        for (const o of $$<HTMLButtonElement>("#mic-show button")) attr(o, "aria-pressed", String(o === b));
        this.show();
      });
    }
    this.group.addEventListener("change", () => this.ask());
    this.button.disabled = true;
    this.button.addEventListener("click", () => {
      void api.act(this.session, "checkpoint").catch((e: unknown) => this.refuse(e));
    });
    this.poll = new Poll(lookEvery, (id) => this.look(id), (v) => this.take(v));
  }

  follow(session: string): void {
    this.session = session;
    this.last = this.now = undefined;
    this.copies.clear();
    this.button.disabled = false;
    this.poll.follow(session);
  }

  leave(): void {
    this.poll.leave();
    this.button.disabled = true;
  }

  freeze(on: boolean): void {
    this.frozen = on;
  }

  draw(p: Picture): void {
    this.picture = p;
    const groups = p.vertices?.at(-1)?.maxParallelism ?? 128;
    attr(this.group, "max", String(groups - 1));
    this.drawTotal(p);
  }

  private ask(): void {
    this.last = undefined;
    this.copies.clear();
    this.poll.hurry();
  }

  /** The subtask that owns the key group. */
  private owner(): Subtask | undefined {
    const g = Number(this.group.value);
    return this.picture?.vertices?.at(-1)?.subtasks?.find((s) => g >= s.keyGroups[0] && g <= s.keyGroups[1]);
  }

  private async look(id: string): Promise<HeapView | string> {
    const owner = this.owner();
    if (!owner) return "";
    try {
      return await api.heap(id, owner.index, this.state, Number(this.group.value));
    } catch (e) {
      return e instanceof Error ? e.message : String(e);
    }
  }

  private refuse(e: unknown): void {
    const text = e instanceof Error ? e.message : typeof e === "string" ? e : "";
    this.problem.hidden = text === "";
    say(this.problem, text);
  }

  private take(v: HeapView | string): void {
    if (this.frozen) return;
    if (typeof v === "string") {
      if (this.picture?.state === "RUNNING") this.refuse(v);
      return;
    }
    this.refuse("");
    this.now = v;
    // The picture that is kept is one where some entries are still shared, if there was one.
    if (v.open.length > 0 && (this.last?.version !== v.version || linesOf(v).some((l) => l.kind === "shared"))) this.last = v;
    this.drawStates(v);
    this.show();
  }

  private drawStates(v: HeapView): void {
    if (this.state === "") this.state = v.state;
    const buttons = fit(this.states, v.states.length, () => {
      const b = h("button", { type: "button" });
      b.addEventListener("click", () => {
        this.state = b.value;
        this.ask();
      });
      return b;
    });
    v.states.forEach((name, i) => {
      const b = buttons[i];
      if (!b) return;
      b.value = name;
      say(b, name);
      attr(b, "aria-pressed", String(name === this.state));
    });
  }

  private show(): void {
    const v = this.held ? this.last : this.now;
    const open = v !== undefined && v.open.length > 0;
    say($("#mic-phase"), this.held ? t(v ? "mic.phase.was" : "mic.phase.never") : t(v?.stopped ? "mic.phase.stopped" : open ? "mic.phase.held" : "mic.phase.none"));
    if (!v) {
      this.grid.replaceChildren();
      return;
    }
    const owner = this.owner();
    say($("#mic-about"), t("mic.about", { state: v.state, group: v.keyGroup, subtask: owner?.index ?? "" }));
    say($("#mic-version"), num(v.version));
    say($("#mic-open"), open ? v.open.map((n) => num(n)).join(", ") : t("mic.nothing"));
    const lines = linesOf(v);
    const copied = lines.filter((l) => l.kind === "copied").length;
    $("#mic-copied").replaceChildren(num(copied), h("small", {}, ` ${t("mic.of", { n: num(v.entries) })}`));
    $("#mic-words").replaceChildren(num(v.live.length), h("small", {}, ` ${t("mic.of", { n: num(v.newWords) })}${v.rehashing ? `, ${t("mic.rehash", { n: v.moved, of: v.oldWords })}` : ""}`));
    say($("#mic-rule"), open ? t(v.copiesOnRead ? "mic.rule.read" : "mic.rule.write", { n: Math.max(...v.open) }) : t("mic.rule.none"));
    this.drawGrid(v, lines, open);
    this.drawCost(lines, open);
    if (this.twin.open) {
      fillTable(this.rows, lines.map((l) => [
        l.live?.key ?? l.old?.key ?? "", t(kindText[l.kind]), versionOf(l.live?.entryVersion), versionOf(l.live?.valueVersion), l.live?.value ?? "",
        versionOf(l.old?.entryVersion), versionOf(l.old?.valueVersion), l.old?.value ?? (l.kind === "shared" ? l.live?.value ?? "" : ""),
      ]));
    }
  }

  private drawGrid(v: HeapView, lines: Line[], open: boolean): void {
    const nodes: Node[] = [];
    if (open) nodes.push(h("span"), h("span", { class: "colh" }, t("mic.snapshot")), h("span", { class: "colh" }, t("mic.task")));
    let next = 0;
    let empty = 0;
    const flush = (): void => {
      if (empty > 0) nodes.push(h("span", { class: "idx gap" }, "·"), h("div", { class: "chain both plain" }, h("span", { class: "label" }, t("mic.empty", { n: empty }))));
      empty = 0;
    };
    for (const l of lines) {
      if (l.live && l.live.word >= next) {
        empty += l.live.word - next;
        next = l.live.word + 1;
      }
      flush();
      nodes.push(h("span", { class: l.live ? "idx" : "idx gap" }, l.live ? String(l.live.word) : "–"));
      nodes.push(...this.cells(l));
    }
    if (!v.rehashing) empty = v.newWords - next;
    flush();
    if (v.entries === 0) nodes.push(h("span"), h("span", { class: "label" }, t("mic.none")));
    if (v.leftOut > 0) nodes.push(h("span"), h("span", { class: "label" }, t("mic.leftout", { n: v.leftOut })));
    this.grid.replaceChildren(...nodes);
    attr(this.grid, "role", "img");
    const count = (k: Kind): number => lines.filter((l) => l.kind === k).length;
    attr(this.grid, "aria-label", open ? t("mic.say", { shared: count("shared"), copied: count("copied"), fresh: count("new") }) : t("mic.phase.none"));
    if (this.copies.size > 4 * mostEntries) this.copies.clear();
  }

  private cells(l: Line): Node[] {
    switch (l.kind) {
      case "plain":
        return [h("div", { class: "chain both plain" }, entry(l.live, ""), value(l.live))];
      case "shared":
        return [h("div", { class: "chain both" }, entry(l.live, ""), value(l.live), h("span", { class: "label" }, t("mic.shared")))];
      case "new":
        return [h("div", { class: "chain" }, h("span", { class: "label" }, t("mic.absent"))), h("div", { class: "chain" }, entry(l.live, " new"), value(l.live), h("span", { class: "label" }, t("mic.isnew")))];
      case "removed":
        return [h("div", { class: "chain" }, entry(l.old, " old"), value(l.old)), h("div", { class: "chain" }, h("span", { class: "label" }, t("mic.removed")))];
      case "copied": {
        const part = (l.live?.valueVersion ?? 0) < (l.live?.entryVersion ?? 0);
        const id = `${l.live?.key} ${l.live?.entryVersion}`;
        const fresh = !this.copies.has(id) && !this.held;
        this.copies.add(id);
        return [h("div", { class: "chain" }, entry(l.old, " old"), value(l.old)), h("div", { class: "chain" }, entry(l.live, `${part ? " part" : " copy"}${fresh ? " fresh" : ""}`), value(l.live))];
      }
    }
  }

  private drawCost(lines: Line[], open: boolean): void {
    const count = (k: Kind): number => lines.filter((l) => l.kind === k).length;
    const parts: [string, number, string][] = open
      ? [["c-shared", count("shared"), "mic.cost.shared"], ["c-twice", count("copied") + count("removed"), "mic.cost.twice"], ["c-new", count("new"), "mic.cost.new"]]
      : [["c-shared", count("plain"), "mic.cost.plain"]];
    const seen = parts.filter(([, n]) => n > 0);
    const cells = fit($("#mic-cost"), seen.length, () => h("span"));
    seen.forEach(([name, n, text], i) => {
      const c = cells[i];
      if (!c) return;
      cls(c, name);
      prop(c, "--n", n);
      say(c, t(text, { n }));
    });
  }

  private drawTotal(p: Picture): void {
    let [entries, bytes, reads, writes] = [0, 0, 0, 0];
    for (const s of p.vertices?.at(-1)?.subtasks ?? []) {
      const x = s.state?.heap;
      if (!x) continue;
      entries += x.heldEntries;
      bytes += x.heldBytes;
      reads += x.copiedByReads;
      writes += x.copiedByWrites;
    }
    say($("#mic-total"), t("mic.total", { n: num(entries), bytes: sized(bytes), reads: num(reads), writes: num(writes) }));
  }
}

const kindText: Record<Kind, string> = { shared: "mic.shared", copied: "mic.legend.copy", new: "mic.legend.new", removed: "mic.removed", plain: "mic.kind.plain" };

const versionOf = (n: number | undefined): string => (n === undefined ? "" : num(n));

/** Pairs what the task has with what the newest snapshot has. */
function linesOf(v: HeapView): Line[] {
  const newest = Math.max(0, ...v.open);
  const old = new Map<string, HeapEntry>();
  for (const e of v.old) if (e.in.includes(newest)) old.set(e.key, e);
  const lines: Line[] = v.live.map((live) => {
    const was = old.get(live.key);
    old.delete(live.key);
    const kind: Kind = newest === 0 ? "plain" : live.in.includes(newest) ? "shared" : was ? "copied" : "new";
    return { kind, live, old: was };
  });
  lines.sort((a, b) => (a.live?.word ?? 0) - (b.live?.word ?? 0));
  for (const e of old.values()) lines.push({ kind: "removed", live: undefined, old: e });
  return lines;
}

function entry(e: HeapEntry | undefined, kind: string): HTMLElement {
  if (!e) return h("span");
  return h("span", { class: `ent${kind}` }, h("b", {}, e.key), h("span", {}, `e${e.entryVersion} s${e.valueVersion}`));
}

function value(e: HeapEntry | undefined): HTMLElement {
  return h("span", { class: "ent-value" }, e?.value ?? "");
}
