import { $, arrow, attr, fit, h, icon, prop, say } from "./dom";
import { poolOf } from "./reading";
import { lang, num, t } from "./text";
import type { Picture, Subtask, Vertex } from "./types";

/** The vertices with their time shares, pools, and who causes and who suffers. */
export class Pipeline {
  private readonly root = $("#pipe");
  private readonly diag = $("#diag");
  private readonly totals = $("#pipe-totals");
  private shape = "";

  draw(p: Picture): void {
    const vertices = p.vertices ?? [];
    const shape = `${vertices.map((v) => `${v.id}:${v.subtasks?.length ?? 0}`).join()} ${p.channels?.length ?? 0}`;
    if (shape !== this.shape) {
      this.shape = shape;
      this.build(p, vertices);
    }
    for (const v of vertices) this.vertex(p, v);
    const sum = (v: Vertex | undefined, of: (s: Subtask) => number): string => num((v?.subtasks ?? []).reduce((n, s) => n + of(s), 0));
    const fed = new Set((p.channels ?? []).map((c) => c.to.vertex));
    const sent = vertices.filter((v) => !fed.has(v.id)).flatMap((v) => v.subtasks ?? []).reduce((n, s) => n + s.numRecordsOut, 0);
    say(this.totals, t("pipeline.totals", { sent: num(sent), taken: sum(vertices.at(-1), (s) => s.numRecordsIn) }));
    // Where a vertex is named as the cause, its own line says so already.
    const because = vertices.some((v) => v.role === "cause") ? "" : (p.because?.[lang as "en" | "zh"] ?? "");
    this.diag.hidden = because === "";
    say(this.diag, because);
  }

  private build(p: Picture, vertices: Vertex[]): void {
    this.root.replaceChildren();
    let column: HTMLElement = this.root;
    let before: Vertex[] = []; // those of the last column
    vertices.forEach((v) => {
      const channels = (p.channels ?? []).filter((c) => c.to.vertex === v.id);
      const n = channels.filter((c) => before.some((b) => b.id === c.from.vertex)).length;
      if (before.length > 0 && channels.length === 0) {
        // Another source: it stands below the one before it.
        if (before.length === 1) {
          const first = this.root.lastElementChild;
          column = h("div", { class: "together" });
          this.root.append(column);
          if (first) column.append(first);
        }
      } else {
        column = this.root;
        if (before.length > 0) {
          const producers = before.reduce((sum, b) => sum + b.parallelism, 0);
          // Where each producer has one consumer only, nothing is dealt out.
          const all = n === producers * v.parallelism;
          this.root.append(
            h("div", { class: "edge" }, h("span", { "aria-hidden": "true" }, t(all ? "edge.hash" : "edge.forward")), arrow(), h("span", { "aria-hidden": "true" }, all ? `${producers} × ${v.parallelism}` : String(n)),
              h("span", { class: "vh" }, t("edge", { from: before.map((b) => b.id).join(", "), to: v.id, n }))),
          );
        }
        before = [];
      }
      before.push(v);
      column.append(
        h("article", { class: "vertex", id: `v-${v.id}`, "aria-labelledby": `vh-${v.id}` },
          h("header", {}, h("h3", { id: `vh-${v.id}`, title: v.name }, v.id), h("span", { class: "tag", hidden: true }), h("span", { class: "why" })),
          h("div", { class: "subs" })),
      );
    });
  }

  private vertex(p: Picture, v: Vertex): void {
    const e = $(`#v-${CSS.escape(v.id)}`, this.root);
    const cause = v.role === "cause";
    e.classList.toggle("cause", cause);
    const tag = $(".tag", e);
    const role = v.role ?? "";
    if (tag.dataset["role"] !== role) {
      tag.dataset["role"] = role;
      tag.hidden = role === "";
      tag.className = `tag ${role}`;
      tag.replaceChildren(icon(cause ? "play" : "pause", true), role ? t(`role.${role}`) : "");
    }
    const why = $(".why", e);
    say(why, this.why(p, v));
    attr(why, "title", why.textContent);
    const subtasks = v.subtasks ?? [];
    const rows = fit($(".subs", e), subtasks.length, () => this.row());
    subtasks.forEach((s, i) => {
      const row = rows[i];
      if (row) this.subtask(p, v, s, row);
    });
  }

  private why(p: Picture, v: Vertex): string {
    if (v.role === "cause") return t("why.cause");
    if (v.role !== "victim") return "";
    const rate = p.knobs["rate"];
    if (v === p.vertices?.[0] && typeof rate === "number" && rate > 0) {
      const got = (v.subtasks ?? []).reduce((sum, s) => sum + s.recent.numRecordsOutPerSecond, 0);
      return t("why.victim.rate", { want: num(rate), got: num(got) });
    }
    return t("why.victim", { cause: p.diagnosis?.bottleneck ?? "" });
  }

  private row(): HTMLElement {
    return h("div", { class: "sub" },
      h("span", { class: "mono dim" }),
      h("span", { class: "util", role: "img" }, h("i", { class: "u-idle" }), h("i", { class: "u-busy" }), h("i", { class: "u-press" })),
      h("span", { class: "words" }),
      h("span", { class: "meter" }, h("i"), h("span", {}, h("span", { class: "dim" }), " ", h("span", { class: "of" }))));
  }

  private subtask(p: Picture, v: Vertex, s: Subtask, row: HTMLElement): void {
    const r = s.recent;
    const [number, util, words, meter] = [...row.children] as [HTMLElement, HTMLElement, HTMLElement, HTMLElement];
    say(number, String(s.index));
    const total = r.idleTimeMsPerSecond + r.busyTimeMsPerSecond + r.backPressuredTimeMsPerSecond || 1;
    const idle = (100 * r.idleTimeMsPerSecond) / total;
    const busy = (100 * r.busyTimeMsPerSecond) / total;
    const pressed = (100 * r.backPressuredTimeMsPerSecond) / total;
    const marks = util.children as unknown as HTMLElement[];
    [idle, busy, pressed].forEach((x, i) => {
      const mark = marks[i];
      if (mark) prop(mark, "--v", x.toFixed(1));
    });
    attr(util, "aria-label", t("util", { idle: num(idle), busy: num(busy), pressed: num(pressed) }));
    const most = pressed >= busy && pressed >= idle ? "pressed" : busy >= idle ? "busy" : "idle";
    say(words, t(`util.${most}`, { n: num(Math.max(idle, busy, pressed)) }));
    this.meter(p, v, s, meter);
  }

  private meter(p: Picture, v: Vertex, s: Subtask, meter: HTMLElement): void {
    const out = poolOf(p, `${v.id} ${s.index} out`);
    const pool = out ?? poolOf(p, `${v.id} ${s.index} in`);
    meter.hidden = !pool;
    if (!pool) return;
    const used = pool.requested - pool.available;
    const bar = meter.firstElementChild as HTMLElement;
    prop(bar, "--v", Math.min(100, (100 * used) / Math.max(1, pool.size)).toFixed(0));
    const what = t(out ? "pool.out" : "pool.in");
    say($(".dim", meter), what);
    say($(".of", meter), `${used}/${pool.size}`);
    attr(meter, "title", t("pool.of", { what, used, size: pool.size }));
  }
}
