import * as api from "./api";
import { $, $$, attr, cls, fit, h, icon, prop, say } from "./dom";
import { clock, num, sized, t } from "./text";
import type { Checkpoint, DeletedFile, Picture, SharedFile } from "./types";

/** What a checkpoint did with a file. */
interface Cell {
  kind: "up" | "re" | "in" | "de";
  title: string;
  file: string;
}

interface Row {
  name: string;
  bytes: number;
  cells: Map<number, Cell>;
}

/** The shelf: a row a file of one subtask, a column a checkpoint, and the buttons that take checkpoints and break them. */
export class Shelf {
  private readonly subtasks = $("#shelf-subtasks");
  private readonly head = $("#shelf-head");
  private readonly rows = $("#shelf-rows");
  private readonly foot = $("#shelf-foot");
  private readonly none = $("#shelf-none");
  private readonly note = $("#shelf-note");
  private readonly said = $("#shelf-said");
  private readonly table = $("#shelf");
  private readonly buttons = $$<HTMLButtonElement>(".shelf-acts button");
  private session = "";
  private chosen = "";
  private shown = "";
  private p: Picture | undefined;

  constructor() {
    for (const b of this.buttons) b.addEventListener("click", () => void this.act(b.dataset["act"] ?? ""));
  }

  follow(session: string): void {
    this.session = session;
    this.shown = "";
    say(this.said, "");
  }

  leave(): void {
    this.session = "";
  }

  private async act(action: string): Promise<void> {
    say(this.said, t(`act.${action}.asked`));
    try {
      const answer = (await api.act(this.session, action)) as { id?: number; path?: string } | undefined;
      if (answer?.path) say(this.said, t("act.savepoint.done", { path: answer.path.split("/").pop() ?? "" }));
    } catch (e) {
      say(this.said, e instanceof Error ? e.message : String(e));
    }
  }

  draw(p: Picture): void {
    this.p = p;
    for (const b of this.buttons) b.disabled = p.state !== "RUNNING" || this.session === "";
    const all = [...(p.checkpoints ?? [])].reverse().filter((c) => c.status !== "IN_PROGRESS");
    const key = `${all.map((c) => `${c.id}${c.status}${c.path ? 1 : 0}${c.notificationLost ? 1 : 0}`).join()}|${p.deletedFiles?.length ?? 0},${p.deletedFiles?.[0]?.file ?? ""}|${this.chosen}`;
    if (key === this.shown) return;
    this.shown = key;
    const names = [...new Set(all.flatMap((c) => (c.sharedFiles ?? []).map((f) => `${f.vertex} ${f.subtask}`)))].sort();
    this.none.hidden = names.length > 0;
    this.table.hidden = names.length === 0;
    say(this.none, t(all.length > 0 ? "shelf.nofiles" : "shelf.none"));
    this.note.hidden = names.length === 0;
    if (names.length === 0) {
      this.subtasks.replaceChildren();
      return;
    }
    const now = names.includes(this.chosen) ? this.chosen : names[0] ?? "";
    this.drawSubtasks(names, now);
    this.drawTable(all, p.deletedFiles ?? [], now);
  }

  private drawSubtasks(names: string[], now: string): void {
    const buttons = fit(this.subtasks, names.length, () => {
      const b = h("button", { type: "button" });
      b.addEventListener("click", () => {
        this.chosen = b.value;
        if (this.p) this.draw(this.p);
      });
      return b;
    });
    names.forEach((name, i) => {
      const b = buttons[i];
      if (!b) return;
      b.value = name;
      say(b, name);
      attr(b, "aria-pressed", String(name === now));
    });
  }

  private drawTable(all: Checkpoint[], deleted: DeletedFile[], now: string): void {
    const gone = new Map(deleted.map((d) => [d.file, d]));
    const kept = (c: Checkpoint): boolean => c.status === "COMPLETED" && !!c.path;
    const rows = new Map<string, Row>();
    const files = (c: Checkpoint): SharedFile[] => {
      const mine = (c.sharedFiles ?? []).filter((f) => `${f.vertex} ${f.subtask}` === now);
      // Of a checkpoint that was given up only those are listed that had been acknowledged; what was deleted tells the rest.
      for (const d of deleted) {
        if (c.status === "FAILED" && d.checkpoint === c.id && d.because !== "subsumed" && d.name && `${d.vertex} ${d.subtask}` === now && !mine.some((f) => f.file === d.file))
          mine.push({ vertex: d.vertex ?? "", subtask: d.subtask, name: d.name, origin: d.origin ?? "", file: d.file, bytes: d.bytes, state: "uploaded", firstCheckpoint: c.id });
      }
      return mine;
    };
    for (const c of all) {
      for (const f of files(c)) {
        const name = rowName(f.name);
        const id = name.endsWith(".sst") ? f.origin + name : name;
        const row = rows.get(id) ?? { name, bytes: 0, cells: new Map<number, Cell>() };
        rows.set(id, row);
        const old = row.cells.get(c.id);
        row.bytes = old ? row.bytes + f.bytes : f.bytes;
        row.cells.set(c.id, cellOf(f, gone.get(f.file ?? "")));
      }
    }
    const list = [...rows.values()].sort((a, b) => order(a) - order(b) || a.name.localeCompare(b.name));
    this.drawHead(all, kept);
    const lines = fit(this.rows, list.length, () => h("tr"));
    list.forEach((row, i) => {
      const line = lines[i];
      if (line) this.drawRow(line, row, all, kept);
    });
    this.drawFoot(all, files, kept);
    const oldest = all.find(kept);
    const last = deleted.find((d) => d.because === "subsumed");
    say(this.note, [t("shelf.note"), oldest ? t("shelf.oldest", { n: oldest.id }) : "", last ? t("shelf.last", { n: last.checkpoint, at: clock(last.atMs, false) }) : ""].join(" ").trim());
  }

  private drawHead(all: Checkpoint[], kept: (c: Checkpoint) => boolean): void {
    const cells = all.map((c) => {
      const word = c.status === "FAILED" ? t("shelf.failed") : c.type === "SAVEPOINT" ? t("shelf.savepoint") : kept(c) ? t("shelf.kept") : t("shelf.dropped");
      const th = h("th", { scope: "col", class: kept(c) ? "keep" : "gone", title: c.failure ?? "" }, h("b", {}, String(c.id)), word);
      if (c.notificationLost) th.append(h("small", {}, t("shelf.lost")));
      return th;
    });
    this.head.replaceChildren(h("tr", {}, h("th", { scope: "col" }, h("span", { class: "vh" }, t("shelf.file"))), ...cells));
  }

  private drawRow(line: HTMLElement, row: Row, all: Checkpoint[], kept: (c: Checkpoint) => boolean): void {
    // The line from an upload to its last reuse passes through the columns between them.
    const last = all.findLastIndex((c) => row.cells.get(c.id)?.kind === "re");
    const cells = all.map((c, i) => {
      const cell = row.cells.get(c.id);
      const td = h("td", { class: kept(c) ? "keep" : "gone" });
      if (!cell) {
        td.append(h("span", { class: "vh" }, t("shelf.absent")));
        const before = all.slice(0, i).some((b) => row.cells.get(b.id)?.kind === "up" || row.cells.get(b.id)?.kind === "re");
        if (i < last && before) td.classList.add("thru");
        return td;
      }
      const mark = h("span", { class: `cel ${cell.kind}`, title: cell.title });
      if (cell.kind === "up") mark.append(icon("up", true));
      mark.append(h("span", {}, t(`shelf.cell.${cell.kind}`)));
      td.append(mark);
      return td;
    });
    line.replaceChildren(h("th", { scope: "row", title: row.name }, row.name, h("small", {}, sized(row.bytes))), ...cells);
  }

  private drawFoot(all: Checkpoint[], files: (c: Checkpoint) => SharedFile[], kept: (c: Checkpoint) => boolean): void {
    const sum = (c: Checkpoint, state: string): number => files(c).filter((f) => f.state === state).reduce((n, f) => n + f.bytes, 0);
    const of = (name: string, value: (c: Checkpoint) => string): HTMLElement => {
      return h("tr", {}, h("th", { scope: "row" }, name), ...all.map((c) => h("td", { class: kept(c) ? "keep" : "gone" }, value(c))));
    };
    const share = h("tr", {}, h("th", { scope: "row" }, t("shelf.share")));
    for (const c of all) {
      const part = c.stateBytes > 0 ? (100 * c.checkpointedBytes) / c.stateBytes : 0;
      const bar = h("i");
      prop(bar, "--v", part.toFixed(1));
      const td = h("td", { class: kept(c) ? "keep" : "gone" }, c.status === "FAILED" ? "" : `${num(part)} %`);
      if (c.status !== "FAILED") td.append(h("span", { class: "share", "aria-hidden": "true" }, bar));
      share.append(td);
    }
    const kb = (n: number): string => num(n / 1024, 1);
    this.foot.replaceChildren(
      of(t("shelf.foot.uploaded"), (c) => kb(sum(c, "uploaded"))), of(t("shelf.foot.inlined"), (c) => kb(sum(c, "inlined"))), of(t("shelf.foot.reused"), (c) => kb(sum(c, "reused"))),
      of(t("shelf.foot.all"), (c) => (c.status === "FAILED" ? "" : `${kb(c.checkpointedBytes)} / ${kb(c.stateBytes)}`)), share,
    );
    cls(this.foot, "");
  }
}

/** Files that are written anew each time share a row; a name of the folder external loses its folder. */
function rowName(name: string): string {
  if (name.startsWith("MANIFEST")) return "MANIFEST";
  if (name.startsWith("OPTIONS")) return "OPTIONS";
  if (name.startsWith("marker.") || name.endsWith(".log")) return "log, markers";
  return name.replace(/^external\/([0-9a-f]{4})[0-9a-f]*-/, "$1…");
}

const order = (r: Row): number => (r.name.endsWith(".sst") ? 0 : 1);

function cellOf(f: SharedFile, gone: DeletedFile | undefined): Cell {
  const file = f.file ?? "";
  if (gone) return { kind: "de", file, title: t(`shelf.gone.${gone.because}`, { n: gone.checkpoint, first: f.firstCheckpoint, size: sized(f.bytes) }) };
  if (f.state === "inlined") return { kind: "in", file, title: t("shelf.in", { size: sized(f.bytes) }) };
  if (f.state === "reused") return { kind: "re", file, title: t("shelf.re", { n: f.firstCheckpoint, size: sized(f.bytes) }) };
  return { kind: "up", file, title: t("shelf.up", { size: sized(f.bytes) }) };
}
