import * as api from "./api";
import { $, attr, fit, h, prop, say } from "./dom";
import { num, sized, t } from "./text";
import type { KeyLayout, LSMReading, Picture, Subtask } from "./types";

const marked = 6; // files drawn of a level; of more their number is told

/** The LSM store: the bytes of one key, the way from memtable to levels, the shared memory, and what accesses cost. */
export class LSMPanel {
  private readonly key = $<HTMLInputElement>("#lsm-key");
  private readonly state = $<HTMLSelectElement>("#lsm-state");
  private readonly user = $<HTMLInputElement>("#lsm-user");
  private readonly problem = $("#lsm-error");
  private session = "";
  private asked = 0;
  private states = "";
  private knobs = "";
  private last = -Infinity;

  constructor() {
    let timer = 0;
    const later = (): void => {
      clearTimeout(timer);
      timer = window.setTimeout(() => void this.ask(), 200);
    };
    for (const e of [this.key, this.state, this.user]) e.addEventListener("input", later);
  }

  follow(session: string): void {
    this.session = session;
    this.states = "";
  }

  leave(): void {
    this.session = "";
  }

  draw(p: Picture): void {
    const now = performance.now();
    if (now - this.last < 250) return;
    this.last = now;
    const v = p.vertices?.find((x) => x.subtasks?.some((s) => s.state?.lsm));
    const subtasks = (v?.subtasks ?? []).filter((s) => s.state?.lsm);
    this.drawTree(subtasks);
    this.drawMemory(subtasks);
    this.drawAccess(subtasks);
    const states = (subtasks[0]?.state?.lsm?.states ?? []).map((s) => s.name);
    const knobs = ["parallelism", "maxParallelism", "keyType", "backend"].map((k) => p.knobs[k]).join();
    if (states.join() !== this.states || knobs !== this.knobs) {
      this.states = states.join();
      this.knobs = knobs;
      const chosen = this.state.value;
      this.state.replaceChildren(...states.map((s) => h("option", { value: s, selected: s === chosen }, s)));
      this.state.disabled = states.length === 0;
      if (states.length > 0) void this.ask();
    }
  }

  /** Asks the engine for the bytes. */
  private async ask(): Promise<void> {
    if (!this.session || this.state.disabled) return;
    const mine = ++this.asked;
    try {
      const l = await api.compositeKey(this.session, this.key.value.trim(), this.state.value, this.user.value);
      if (mine !== this.asked) return;
      this.problem.hidden = true;
      this.drawKey(l);
    } catch (e) {
      if (mine !== this.asked) return;
      this.problem.hidden = false;
      say(this.problem, e instanceof Error ? e.message : String(e));
    }
  }

  private drawKey(l: KeyLayout): void {
    const parts = (list: KeyLayout["parts"]): Node[] =>
      list.map((x) => h("div", {}, h("dt", {}, t(`lsm.part.${x.name}`)), h("dd", {}, x.hex.replace(/(..)(?=.)/g, "$1 "), h("small", {}, x.name === "namespace" ? t("lsm.void") : x.meaning))));
    $("#lsm-parts").replaceChildren(...parts(l.parts));
    $("#lsm-flink").replaceChildren(...parts(l.flink));
    say($("#lsm-place"), t("lsm.place", { group: l.keyGroup, subtask: l.subtask }));
    say($("#lsm-range"), t("lsm.range", { group: l.keyGroup, from: l.range[0], to: l.range[1] }));
  }

  private drawTree(subtasks: Subtask[]): void {
    const rows = fit($("#lsm-tree"), subtasks.length, () => {
      const tr = h("tr", {}, h("th", { scope: "row" }), h("td", {}, h("span", { class: "mem" }, h("i")), h("small")), h("td", {}, h("span"), h("small")));
      for (let i = 0; i < 7; i++) tr.append(h("td", {}, h("span", { class: "ssts" }), h("small")));
      tr.append(h("td", {}, h("span"), h("small")));
      return tr;
    });
    subtasks.forEach((s, i) => {
      const tr = rows[i];
      const m = s.state?.lsm;
      if (!tr || !m) return;
      const cells = [...tr.children];
      const put = (c: number, first: string, second: string): void => {
        const cell = cells[c];
        if (!cell) return;
        say(cell.firstElementChild as Element, first);
        say(cell.lastElementChild as Element, second);
      };
      say(cells[0] as Element, String(s.index));
      const mem = cells[1] as Element;
      prop(mem.querySelector("i") as HTMLElement, "--v", Math.min(100, (100 * m.memtableWrittenBytes) / Math.max(1, m.memtableLimitBytes)).toFixed(1));
      say(mem.lastElementChild as Element, t("lsm.memtable.of", { used: sized(m.memtableWrittenBytes), limit: sized(m.memtableLimitBytes) }));
      put(2, num(m.flushes), t("lsm.written", { size: sized(m.flushedBytes) }));
      m.levels.forEach((level, n) => {
        const cell = cells[3 + n];
        if (!cell) return;
        const box = cell.firstElementChild as HTMLElement;
        const drawn = Math.min(marked, level.files);
        const marks = fit(box, drawn + (level.files > drawn ? 1 : 0), (k) => (k < drawn ? h("i") : h("span")) as HTMLElement);
        if (level.files > drawn && marks[drawn]) {
          if (marks[drawn].tagName !== "SPAN") marks[drawn].replaceWith(h("span"));
          say(box.lastElementChild as Element, `+${num(level.files - drawn)}`);
        }
        say(cell.lastElementChild as Element, level.files > 0 ? t("lsm.files", { n: num(level.files), size: sized(level.bytes) }) : "–");
      });
      put(10, num(m.compactions), m.compactions > 0 ? t("lsm.merged", { from: sized(m.compactedInBytes), to: sized(m.compactedOutBytes) }) : "");
    });
  }

  private drawMemory(subtasks: Subtask[]): void {
    const tms = [...new Set(subtasks.map((s) => s.taskManager))].sort((a, b) => a - b);
    const rows = fit($("#lsm-memory"), tms.length, () => h("div", { class: "lsm-tm" }, h("b"), h("div", { class: "bar", role: "img" }), h("span", { class: "mid" })));
    tms.forEach((tm, i) => {
      const row = rows[i];
      const mine = subtasks.filter((s) => s.taskManager === tm);
      const one = mine[0]?.state?.lsm;
      if (!row || !one) return;
      const budget = Math.max(1, one.budgetBytes);
      const memtables = mine.map((s) => s.state?.lsm?.memtableBytes ?? 0);
      const cache = Math.max(...mine.map((s) => s.state?.lsm?.cacheBytes ?? 0));
      const [name, bar, figures] = row.children as unknown as [HTMLElement, HTMLElement, HTMLElement];
      say(name, t("lsm.tm", { n: tm }));
      const marks = fit(bar, memtables.length + 1, () => h("i"));
      memtables.forEach((n, k) => marks[k] && prop(marks[k], "--v", ((100 * n) / budget).toFixed(2)));
      const last = marks[memtables.length];
      if (last) {
        for (const m of marks) m.className = m === last ? "cache" : "";
        prop(last, "--v", ((100 * cache) / budget).toFixed(2));
      }
      const text = t("lsm.tm.of", { memtables: memtables.map(sized).join(" + "), cache: sized(cache), budget: sized(one.budgetBytes) });
      say(figures, text);
      attr(bar, "aria-label", `${t("lsm.tm", { n: tm })}: ${text}`);
    });
  }

  private drawAccess(subtasks: Subtask[]): void {
    const rows = fit($("#lsm-access"), subtasks.length, () => h("tr", {}, h("th", { scope: "row" }), ...Array.from({ length: 7 }, () => h("td"))));
    subtasks.forEach((s, i) => {
      const m = s.state?.lsm;
      const cells = rows[i]?.children;
      if (!m || !cells) return;
      const per = (n: number, decimals: number): string => num(n / Math.max(1, m.prefixBuilt), decimals);
      [String(s.index), per(m.gets, 2), per(m.puts, 2), per(m.prefixBuilt, 0), per(m.keyBytes, 1), per(m.readBytes, 1), per(m.writeBytes, 1), cacheText(m)].forEach((text, c) => {
        const cell = cells[c];
        if (cell) say(cell, text);
      });
    });
  }
}

function cacheText(m: LSMReading): string {
  return t("lsm.cache.of", { hits: num(m.cacheHits), misses: num(m.cacheMisses) });
}
