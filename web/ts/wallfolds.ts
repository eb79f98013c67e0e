import { auditTable } from "./wallaudit";
import { ask, copy, moment, ownZone, reason } from "./classapi";
import { bars } from "./classbars";
import { table } from "./classtable";
import type { ClassInfo, Deadline, Equal, Person, Question, Result, WallState } from "./classtypes";
import { $, $$, attr, h, icon, say } from "./dom";
import { due, exact, whenLate } from "./due";
import { knows, num, pageAt, t } from "./text";
import { rename } from "./walldialogs";
import type { WallData } from "./walltypes";
import { inZone, toZone } from "./zone";

/** What is looked at now and then: people, deadlines, results, questions, the audit log, the class itself. Each is asked for
 * when it is opened, and again after a change. */
export class Folds {
  private people: Person[] = [];
  private deadlines: Deadline[] = [];
  private info: ClassInfo | undefined;

  constructor(private readonly data: WallData, private readonly state: () => WallState | undefined) {
    const folds: [string, () => Promise<void>][] = [
      ["people", () => this.showPeople()], ["due", () => this.showDue()], ["results", () => this.showResults()],
      ["asked", () => this.showAsked()], ["audit", () => this.showAudit()], ["set", async () => this.fillZones()],
    ];
    for (const [name, show] of folds) {
      const e = $<HTMLDetailsElement>(`#f-${name}`);
      e.addEventListener("toggle", () => e.open && void this.tried(show));
    }
    const exercise = $<HTMLSelectElement>("#p-due-set [name=exercise]");
    exercise.append(...data.exercises.map((x) => h("option", { value: x.id }, x.title)));
    exercise.addEventListener("change", () => this.fillDue(exercise.value));
    this.form("#p-merge", async (f) => {
      const from = f.get("from") as string, into = f.get("into") as string;
      if (from === into) throw new Error(t("wall.merge.same"));
      if (!confirm(t("wall.merge.sure", { from: this.nameOf(from), into: this.nameOf(into) }))) return;
      await ask("POST", "class/people/merge", { from, into });
      await this.showPeople();
    });
    this.form("#p-due-set", async (f) => {
      await ask("PUT", `class/deadlines/${f.get("exercise") as string}`, { due: this.utc(f.get("due") as string), penalty: Number(f.get("penalty")) });
      await this.showDue();
    });
    this.form("#p-ext-set", async (f) => {
      await ask("PUT", `class/deadlines/${f.get("exercise") as string}/extensions/${f.get("person") as string}`, { due: this.utc(f.get("due") as string) });
      await this.showDue();
    });
    this.form("#p-keep", async (f) => this.change({ expires: this.utc(`${f.get("expires") as string}T23:59`) }));
    this.form("#p-set", async (f) => this.change({ name: (f.get("name") as string).trim(), zone: (f.get("zone") as string).trim() }));
    $("#p-score").addEventListener("click", () => void this.tried(() => this.change({ scoreboard: !this.info?.scoreboard })));
    $("#p-drive").addEventListener("click", () => void this.tried(() => this.change({ mayDrive: !this.info?.mayDrive })));
    $("#p-close").addEventListener("click", () => {
      const open = this.info?.state === "open";
      if (!open || confirm(t("wall.close.sure"))) void this.tried(() => this.change({ state: open ? "closed" : "open" }));
    });
    $("#p-archive").addEventListener("click", () => void this.tried(() => this.change({ state: this.info?.state === "archived" ? "closed" : "archived" })));
    $("#p-delete").addEventListener("click", () => {
      if (confirm(t("wall.delete.sure", { name: this.info?.name ?? "" }))) void this.tried(async () => {
        await ask("DELETE", "class");
        location.replace(pageAt("/class"));
      });
    });
  }

  /** Takes the class as it is now. */
  show(c: ClassInfo): void {
    this.info = c;
    const f = $<HTMLFormElement>("#p-set");
    ($("[name=name]", f) as unknown as HTMLInputElement).value = c.name;
    ($("[name=zone]", f) as unknown as HTMLInputElement).value = c.zone;
    attr($("#p-score"), "aria-checked", String(c.scoreboard));
    attr($("#p-drive"), "aria-checked", String(c.mayDrive));
    say($("#p-close"), t(c.state === "open" ? "wall.close" : "wall.reopen"));
    say($("#p-archive"), t(c.state === "archived" ? "wall.unarchive" : "wall.archive"));
    $<HTMLButtonElement>("#p-delete").disabled = c.state === "open";
    say($("#p-expires"), t("wall.expires", { at: moment(c.expires, c.zone) }));
    ($("#p-keep [name=expires]") as HTMLInputElement).value = c.expires.slice(0, 10);
    say($("#p-zone"), c.zone === ownZone ? t("wall.due.zone", { zone: c.zone }) : t("wall.due.zones", { zone: c.zone, own: ownZone }));
  }

  private async change(what: unknown): Promise<void> {
    this.show(await ask<ClassInfo>("PATCH", "class", what));
  }

  private utc = (local: string): string => toZone(local, this.info?.zone ?? "UTC");
  private nameOf = (id: string): string => this.people.find((p) => p.id === id)?.name ?? this.state()?.rows.find((r) => r.id === id)?.name ?? id;
  private titleOf = (id: string): string => this.data.exercises.find((e) => e.id === id)?.title ?? id;

  private async tried(what: () => Promise<void>): Promise<void> {
    const refused = $("#w-refused");
    refused.hidden = true;
    try {
      await what();
    } catch (e) {
      refused.hidden = false;
      say(refused, reason(e));
      refused.scrollIntoView({ block: "nearest" });
    }
  }

  private form(selector: string, submit: (f: FormData) => Promise<void>): void {
    const f = $<HTMLFormElement>(selector);
    f.addEventListener("submit", (e) => {
      e.preventDefault();
      void this.tried(() => submit(new FormData(f)));
    });
  }

  private fillZones(): void {
    const list = $("#zones");
    if (list.childElementCount === 0) list.append(...["UTC", ...Intl.supportedValuesOf("timeZone")].map((z) => h("option", { value: z })));
  }

  private async load(): Promise<void> {
    this.people = ((await ask<{ people: Person[] | null }>("GET", "class/people")).people ?? []).filter((p) => !p.merged);
    const options = (): HTMLElement[] => this.people.map((p) => h("option", { value: p.id }, p.name));
    for (const s of $$("#p-merge select, #p-ext-set select[name=person]")) s.replaceChildren(...options());
    this.proposeMerge();
  }

  /** Equal names got a suffix: the first such pair is proposed. */
  private proposeMerge(): void {
    $<HTMLSelectElement>("#p-merge [name=into]").selectedIndex = this.people.length > 1 ? 1 : 0;
    const plain = (name: string): string => name.normalize("NFKC").toLowerCase();
    for (const p of this.people) {
      const without = plain(p.name).replace(/ \d+$/, "");
      const same = this.people.find((o) => o !== p && plain(o.name) === without);
      if (!same) continue;
      $<HTMLSelectElement>("#p-merge [name=from]").value = p.id;
      $<HTMLSelectElement>("#p-merge [name=into]").value = same.id;
      return;
    }
  }

  private async showPeople(): Promise<void> {
    await this.load();
    const rows = this.people.map((p) => {
      const other = h("button", { type: "button", class: "small" }, t("wall.rename"));
      other.addEventListener("click", () => {
        rename(p.name, async (name) => {
          await ask("PATCH", `class/people/${p.id}`, { name });
          await this.showPeople();
        });
      });
      const link = h("button", { type: "button", class: "small" }, t("wall.link"));
      link.addEventListener("click", () => void this.tried(async () => this.newLink(p)));
      const remove = h("button", { type: "button", class: "small" }, t("wall.remove"));
      remove.addEventListener("click", () => {
        if (confirm(t("wall.remove.sure", { name: p.name }))) void this.tried(async () => {
          await ask("DELETE", `class/people/${p.id}`);
          await this.showPeople();
        });
      });
      return [p.name, p.alias ?? "", moment(p.joined), moment(p.seen), num(p.results?.length ?? 0), h("span", { class: "crow" }, other, link, remove)];
    });
    const heads = ["wall.col.learner", "join.alias", "wall.p.joined", "wall.p.seen", "wall.results", "wall.p.do"].map((k) => t(k));
    $("#p-people").replaceChildren(table(heads, rows, t("wall.people")));
  }

  private async newLink(p: Person): Promise<void> {
    if (!confirm(t("wall.link.sure", { name: p.name }))) return;
    const { link } = await ask<{ link: string }>("POST", `class/people/${p.id}/link`);
    const field = h("input", { type: "text", readonly: true, class: "mono", value: link, "aria-label": t("mine.link") });
    const again = h("button", { type: "button" }, t("mine.copy"));
    again.addEventListener("click", () => void copy(field).then((ok) => say(again, t(ok ? "mine.copied" : "mine.copy"))));
    const close = h("button", { type: "button", class: "primary" }, t("pointer.done"));
    const d = h("dialog", { class: "wdialog", "aria-label": t("mine.link") }, h("h2", {}, t("wall.link.of", { name: p.name })), field, h("div", { class: "foot" }, again, close));
    close.addEventListener("click", () => d.close());
    d.addEventListener("close", () => d.remove());
    document.body.append(d);
    d.showModal();
    field.select();
  }

  private async showDue(): Promise<void> {
    if (this.people.length === 0) await this.load();
    this.deadlines = (await ask<{ deadlines: Deadline[] | null }>("GET", "class/deadlines")).deadlines ?? [];
    this.offerExtensions();
    const zone = this.info?.zone ?? "UTC";
    const off = (path: string): HTMLElement => {
      const b = h("button", { type: "button", class: "small" }, t("due.off"));
      b.addEventListener("click", () => void this.tried(async () => {
        await ask("PUT", path, { due: null });
        await this.showDue();
      }));
      return b;
    };
    const rows = this.deadlines.flatMap((d) => [
      [this.titleOf(d.exercise), due(d.due, zone), whenLate(d), off(`class/deadlines/${d.exercise}`)],
      ...(d.extensions ?? []).map((x) => [t("due.for", { name: this.nameOf(x.person) }), due(x.due, zone), "", off(`class/deadlines/${d.exercise}/extensions/${x.person}`)]),
    ]);
    const heads = [t("wall.exercise"), t("due.at"), t("due.late"), t("wall.p.do")];
    $("#p-due").replaceChildren(rows.length > 0 ? table(heads, rows, t("wall.due")) : h("p", { class: "mid" }, t("due.no")));
  }

  /** A deadline that is changed begins with what it is: a new time must not lose the rule for late work. */
  private fillDue(exercise: string): void {
    const d = this.deadlines.find((x) => x.exercise === exercise);
    if (!d) return;
    $<HTMLInputElement>("#p-due-set [name=due]").value = inZone(d.due, this.info?.zone ?? "UTC");
    $<HTMLInputElement>("#p-due-set [name=penalty]").value = String(d.penalty);
  }

  /** Only what is due can be extended. */
  private offerExtensions(): void {
    const select = $<HTMLSelectElement>("#p-ext-set [name=exercise]");
    const chosen = select.value;
    select.replaceChildren(...this.deadlines.map((d) => h("option", { value: d.exercise }, this.titleOf(d.exercise))));
    if (this.deadlines.some((d) => d.exercise === chosen)) select.value = chosen;
    $<HTMLButtonElement>("#p-ext-set button").disabled = this.deadlines.length === 0 || this.people.length === 0;
  }

  private async showResults(): Promise<void> {
    if (this.people.length === 0) await this.load();
    const { results, equal } = await ask<{ results: Result[] | null; equal?: Equal[] }>("GET", "class/results");
    const rows = (results ?? []).map((r) => [
      r.name ?? this.nameOf(r.person), this.titleOf(r.exercise), knows(`status.${r.status}`) ? t(`status.${r.status}`) : r.status, `${num(r.points)} / ${num(r.maxPoints)}`,
      t(`judged.${r.judged}`), r.late ? t("judged.late") : "", exact(r.received, this.info?.zone ?? ownZone), h("a", { href: `/api/v1/class/results/${r.id}/work`, download: `${r.id}.json` }, t("results.work")),
    ]);
    const heads = ["wall.col.learner", "wall.exercise", "results.status", "results.points", "results.judged", "results.late", "results.at", "results.work"].map((k) => t(k));
    $("#p-results").replaceChildren(rows.length > 0 ? table(heads, rows, t("wall.results")) : h("p", { class: "mid" }, t("results.no")));
    const same = (equal ?? []).map((x) => h("li", {}, icon("half"), " ", t("results.equal", { title: this.titleOf(x.exercise), names: x.people.map(this.nameOf).join(t("audit.and")) })));
    if (same.length > 0) $("#p-results").append(h("ul", { class: "cequal" }, ...same), h("p", { class: "label" }, t("results.equal.about")));
  }

  private async showAsked(): Promise<void> {
    const { questions } = await ask<{ questions: Question[] | null }>("GET", "class/questions");
    const all = questions ?? [];
    $("#p-asked").replaceChildren(...(all.length > 0 ? all.map((q) => h("section", { class: "wasked" }, h("h2", {}, q.text), h("p", { class: "label" }, moment(q.asked, this.info?.zone)), bars(q.choices, q.counts ?? []))) : [h("p", { class: "mid" }, t("wall.asked.none"))]));
  }

  private async showAudit(): Promise<void> {
    const labOf = (id: string): string => this.data.labs.find((l) => l.id === id)?.title ?? id;
    const run = (id: string): string => {
      const of = this.state()?.rows.find((r) => r.session === id);
      return of ? t("audit.run", { name: of.name }) : t("audit.run.own");
    };
    $("#p-audit").replaceChildren(await auditTable({ exercise: this.titleOf, lab: labOf, session: run }));
  }
}
