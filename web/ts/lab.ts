import * as address from "./address";
import * as api from "./api";
import { Charts } from "./charts";
import { Checkpoints } from "./checkpoints";
import { $, attr, handed, maybe, presenting, reducedMotion, say } from "./dom";
import { Gates } from "./gates";
import { Header } from "./header";
import { History } from "./history";
import { Knobs } from "./knobs";
import { Lesson } from "./lesson";
import { keptStart, leaveLine, Line } from "./line";
import { Panels } from "./panels";
import { Pipeline } from "./pipeline";
import { inView, seenPointers, showPointers } from "./pointers";
import { preferences } from "./preferences";
import { Present } from "./present";
import { recorded } from "./record";
import { Ruler } from "./ruler";
import { Stream, type Link } from "./stream";
import { t } from "./text";
import { Trace } from "./trace";
import { holdWires } from "./wire";
import type { PageData, Picture } from "./types";

/** A phone has no room for a remark that comes and goes. */
const narrow = matchMedia("(max-width: 760px)");

const page = handed<PageData>("page");

/** The page of a lab: it follows one run and draws each picture of it in one animation frame. */
class LabPage {
  private readonly root = $("#lab");
  private readonly header = new Header();
  private readonly knobs = new Knobs(page);
  private readonly lesson = new Lesson(page);
  private readonly pipeline = maybe("#pipe") ? new Pipeline() : undefined;
  private readonly gates = maybe("#gates") ? new Gates() : undefined;
  private readonly checkpoints = maybe("#ck") ? new Checkpoints(this.knobs.labelOf) : undefined;
  private readonly charts = maybe("#charts") ? new Charts(this.knobs.labelOf, (panel) => address.set({ panel })) : undefined;
  private readonly panels = new Panels(page, this.knobs.turnAll, (input, key) => void this.start(input, key));
  private readonly present = presenting ? new Present(this.lesson) : undefined;
  private readonly trace = new Trace(page.points, (stopped) => this.onStopped(stopped));
  private readonly ruler = maybe("#ruler") ? new Ruler(page.flights ?? { columns: [], rows: 0 }, (input, key) => void this.start(input, key), (n) => void this.rescale(n)) : undefined;
  private readonly startButton = $<HTMLButtonElement>("#start-run");
  private readonly line = new Line(() => this.header.run("none", t("run.none")));
  private readonly checkpointNow = maybe<HTMLButtonElement>("#ck-now");
  private session = "";
  private stream: Stream | undefined;
  private history: History | undefined;
  private picture: Picture | undefined;
  private link: Link = { is: "up" };
  private linkTimer = 0;
  private due = false;
  private frozen = false;
  private frozenByAll = false;
  private stopped = false;
  private pointed = api.watching || presenting || seenPointers();
  private lastDraw = -Infinity;
  private lastLabels = -Infinity;
  private lastCharts = -Infinity;
  private skippedUntil = 0;
  private skipped = 0;
  private silenced = false;

  constructor() {
    preferences(() => this.charts?.recolour());
    this.startButton.addEventListener("click", () => void this.start(this.panels.input(), this.panels.key()));
    this.header.freeze.addEventListener("click", () => this.freeze(!this.frozen));
    // The instructor has all look to the front: a learner's own picture stands still, one that is followed goes on.
    document.addEventListener("weir-frozen", (e) => this.freezeAll((e as CustomEvent<boolean>).detail));
    this.header.restart.addEventListener("click", () => void this.restart());
    this.header.end.addEventListener("click", () => void this.end());
    this.checkpointNow?.addEventListener("click", () => void this.act("checkpoint"));
    addEventListener("keydown", (e) => this.onKey(e));
    document.addEventListener("visibilitychange", () => this.schedule());
    // A page kept by the browser for Back has lost its connection.
    addEventListener("pageshow", (e) => {
      if (e.persisted) location.reload();
    });
    if (api.watching) this.root.classList.add("watching");
    if (page.session) {
      this.follow(page.session);
      if (!api.watching && this.history?.samples.length === 0) void this.recall(this.history, page.session);
    } else if (new URL(location.href).searchParams.has("session")) {
      address.set({ session: null });
      say($("#start-why"), t("run.gone"));
    }
    this.ruler?.place(this.knobs.values);
    this.openPanel(page.panel);
    // The page was left while it waited in line, for the spotlight or by a reload.
    const waited = api.watching ? null : keptStart();
    if (waited?.lab === page.lab) {
      if (page.session) this.line.end();
      else void this.start(waited.input, waited.key);
    }
  }

  private async start(input?: string, key?: string): Promise<void> {
    this.startButton.disabled = true;
    this.silent(false, false);
    const waited = this.line.waits;
    if (!waited) this.header.run("CREATED", t("run.starting"));
    const left = (): boolean => waited && !this.line.waits;
    try {
      const old = this.session;
      this.leave();
      if (old) await api.end(old).catch(() => undefined);
      const { id } = await api.start(page.lab, this.knobs.differing(), input, key);
      if (left()) return void (await api.end(id).catch(() => undefined));
      this.line.end();
      this.follow(id);
    } catch (e) {
      if (left()) return void leaveLine();
      address.set({ session: null });
      const waits = this.line.takes(e, { lab: page.lab, input, key }, () => void this.start(input, key));
      this.header.run("none", t(waits ? "run.waits" : "run.none"));
      if (waits) $("#start").hidden = false;
      else this.refuse(e);
    } finally {
      this.startButton.disabled = false;
    }
  }

  private refuse(e: unknown): void {
    const full = e instanceof api.Problem && e.status === 429 && e.field === "sessions";
    const text = full ? t("start.full") : e instanceof Error ? e.message : String(e);
    $("#start").hidden = false;
    say($("#start-why"), text);
    this.header.tell(text);
    this.ruler?.refuse(text);
    this.panels.refuse(text);
  }

  private follow(session: string): void {
    this.leave();
    this.session = session;
    address.set({ session });
    $("#start").hidden = true;
    this.history = new History(session);
    this.header.run("CREATED");
    this.header.enable(true, true);
    this.knobs.follow(session);
    if (!api.watching) this.trace.follow(session);
    this.panels.follow(session);
    this.present?.began();
    this.stream = new Stream(session, (p) => this.onPicture(p), (l) => this.onLink(l));
    if (this.checkpointNow) this.checkpointNow.disabled = false;
  }

  /** A page that was opened anew has the readings of before from the server. Those who watch are many: theirs begin now. */
  private async recall(history: History, session: string): Promise<void> {
    history.recall(await recorded(session));
  }

  private leave(): void {
    this.stream?.close();
    this.stream = undefined;
    this.trace.leave();
    this.panels.leave();
    this.session = "";
    this.freeze(false);
  }

  private async restart(): Promise<void> {
    await this.start(this.ruler?.input() ?? this.panels.input(), this.ruler?.column() ?? this.panels.key());
  }

  private async end(): Promise<void> {
    const id = this.session;
    if (!id) return;
    this.header.end.disabled = true;
    this.panels.leave();
    await api.end(id).catch((e: unknown) => this.refuse(e));
  }

  private async act(action: string, args: unknown = {}): Promise<void> {
    try {
      await api.act(this.session, action, args);
    } catch (e) {
      this.header.tell(e instanceof Error ? e.message : String(e));
    }
  }

  private async rescale(parallelism: number): Promise<void> {
    try {
      await api.change(this.session, { parallelism });
    } catch (e) {
      this.ruler?.refuse(e instanceof Error ? e.message : String(e));
    }
  }

  private onPicture(p: Picture): void {
    const again = p.skipped ?? 0;
    if (again !== this.skipped) {
      this.skipped = again;
      this.skippedUntil = Date.now() + 2000;
    }
    this.picture = p;
    this.history?.add(p);
    this.schedule();
  }

  private onLink(l: Link): void {
    this.link = l;
    clearInterval(this.linkTimer);
    // A page that has shown nothing yet says more than its header has room for.
    this.silent(l.is === "lost" && this.root.classList.contains("unseen"), l.is === "lost" && l.elsewhere);
    if (l.is === "over") {
      this.session = "";
      address.set({ session: null });
      this.trace.leave();
      this.panels.leave();
      this.knobs.follow("");
      this.lesson.ended();
      this.header.enable(false, false);
      this.header.run("none", t("state.CANCELED"));
      if (this.checkpointNow) this.checkpointNow.disabled = true;
      $("#start").hidden = false;
      say($("#start-why"), t("run.gone"));
      return;
    }
    if (l.is === "up") {
      this.schedule();
      return;
    }
    const tell = (): void => {
      const s = Math.ceil((l.retryAt - Date.now()) / 1000);
      const [soon, now] = l.elsewhere ? (["run.elsewhere", "run.elsewhere.now"] as const) : (["run.lost", "run.lost.now"] as const);
      this.header.run("lost", s > 0 ? t(soon, { s }) : t(now));
    };
    tell();
    this.linkTimer = window.setInterval(tell, 1000);
  }

  private silent(on: boolean, elsewhere: boolean): void {
    if (!on && !this.silenced) return;
    this.silenced = on;
    $("#start").hidden = !on;
    this.startButton.hidden = on;
    say($("#start-h"), t(!on ? "start.title" : elsewhere ? "silent.elsewhere" : "silent.title"));
    say($("#start-why"), t(on ? "silent.text" : "start.text"));
  }

  private onStopped(stopped: boolean): void {
    if (stopped === this.stopped) return;
    this.stopped = stopped;
    this.schedule();
  }

  private freezeAll(on: boolean): void {
    if (api.watching || on === this.frozenByAll) return;
    this.frozenByAll = on;
    this.freeze(on);
  }

  private freeze(wanted: boolean): void {
    const on = wanted || this.frozenByAll;
    this.frozen = on;
    attr(this.header.freeze, "aria-pressed", String(on));
    holdWires(on);
    this.panels.freeze(on);
    this.schedule();
  }

  private schedule(): void {
    if (this.due || document.hidden) return;
    this.due = true;
    requestAnimationFrame((now) => {
      this.due = false;
      this.draw(now);
    });
  }

  private draw(now: number): void {
    const p = this.picture;
    if (!p || this.link.is === "over") return;
    // Controls follow the job even while the picture stands.
    this.knobs.confirm(p.knobs, p.changes ?? []);
    if (this.link.is === "up") this.showState(p);
    if (this.frozen) return;
    if (reducedMotion.matches && now - this.lastDraw < 1000) {
      setTimeout(() => this.schedule(), 1000 - (now - this.lastDraw));
      return;
    }
    this.lastDraw = now;
    this.root.classList.remove("unseen");
    const label = now - this.lastLabels >= 1000;
    if (label) this.lastLabels = now;
    this.header.time(p.timeMs);
    this.pipeline?.draw(p);
    this.ruler?.draw(p);
    this.gates?.draw(p, this.history?.before(p), label);
    this.checkpoints?.draw(p);
    this.panels.draw(p);
    this.lesson.draw(p);
    this.present?.draw();
    if (this.history && now - this.lastCharts >= 200) {
      this.lastCharts = now;
      this.charts?.draw(p, this.history);
    }
    if (!this.pointed && maybe("#knob-debloat") && inView(maybe(".strip .slot.data"))) {
      this.pointed = true;
      showPointers();
    }
  }

  private showState(p: Picture): void {
    const running = p.state === "RUNNING";
    this.knobs.live = running || p.state === "RESTARTING" || p.state === "CREATED";
    this.header.enable(running || p.state === "RESTARTING" || p.state === "CREATED", true);
    if (this.checkpointNow) this.checkpointNow.disabled = !running;
    if (p.state === "FAILED" && p.failure) this.header.run("FAILED", `${t("state.FAILED")}: ${p.failure}`);
    else if (running && this.frozen) this.header.run("frozen", t("run.frozen"));
    else if (running && this.stopped) this.header.run("stopped", t("run.stopped"));
    else if (running && Date.now() < this.skippedUntil && !narrow.matches) this.header.run("RUNNING", t("run.skipped", { n: this.skipped }));
    else this.header.run(p.state);
  }

  private onKey(e: KeyboardEvent): void {
    const at = e.target as HTMLElement;
    if (e.ctrlKey || e.metaKey || e.altKey || at.closest("input, textarea, select, dialog")) return;
    switch (e.key) {
      case "f":
        if (!this.header.freeze.disabled) this.freeze(!this.frozen);
        break;
      case ".":
        this.trace.step();
        break;
      case "]":
        this.lesson.move(1);
        break;
      case "[":
        this.lesson.move(-1);
        break;
    }
  }

  private openPanel(name: string): void {
    if (!name || this.present?.open(name)) return;
    if (this.charts?.open(name)) return;
    const panel = maybe(`[data-panel="${CSS.escape(name)}"]`);
    panel?.scrollIntoView({ block: "nearest" });
    panel?.focus({ preventScroll: true });
  }
}

new LabPage();
