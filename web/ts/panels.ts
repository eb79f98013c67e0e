import * as api from "./api";
import { maybe } from "./dom";
import { Backends } from "./backends";
import { Cures } from "./cures";
import { EventTimes } from "./eventtime";
import { Microscope } from "./heap";
import { InputChoice, KeyLoads } from "./keyload";
import { LSMPanel } from "./lsm";
import { Matrix } from "./matrix";
import { Overdraft } from "./overdraft";
import { Poll } from "./poll";
import { segmentBytes } from "./reading";
import { Restore } from "./restore";
import { FlowTries, Sequence } from "./sequence";
import { Shelf } from "./shelf";
import { Timeouts } from "./timeouts";
import { TTLPanel } from "./ttl";
import type { Turn } from "./tries";
import type { Comparison, PageData, Picture } from "./types";

const comparisonsEvery = 1000;
const loadsEvery = 1000;
const framesEvery = 500;

/** The panels that only some labs have. They show what the stream does not carry: what was measured under each setting tried,
 * the load of key groups, and the frames on the wire. */
export class Panels {
  private readonly timeouts: Timeouts | undefined;
  private readonly matrix: Matrix | undefined;
  private readonly overdraft: Overdraft | undefined;
  private readonly sequence: Sequence | undefined;
  private readonly flow: FlowTries | undefined;
  private readonly keyLoads: KeyLoads | undefined;
  private readonly cures: Cures | undefined;
  private readonly choice: InputChoice | undefined;
  private readonly eventTimes = maybe("#et") ? new EventTimes() : undefined;
  private readonly lsm: LSMPanel | undefined;
  private readonly restore: Restore | undefined;
  private readonly shelf: Shelf | undefined;
  private readonly microscope: Microscope | undefined;
  private readonly ttl: TTLPanel | undefined;
  private readonly backends: Backends | undefined;
  private readonly polls: { follow(session: string): void; leave(): void }[] = [];
  private picture: Picture | undefined;
  private frozen = false;

  constructor(page: PageData, turn: Turn, onRun: (input?: string, key?: string) => void) {
    if (maybe("#timeouts")) this.timeouts = new Timeouts(turn);
    if (maybe("#matrix")) this.matrix = new Matrix(turn, page.knobs);
    if (maybe("#overdraft-live")) this.overdraft = new Overdraft(turn);
    if (maybe("#restore")) this.restore = new Restore(turn);
    if (maybe("#lsm-tree")) this.polls.push((this.lsm = new LSMPanel()));
    if (maybe("#shelf")) this.polls.push((this.shelf = new Shelf()));
    if (maybe("#mic")) this.polls.push((this.microscope = new Microscope()));
    if (maybe("#ttl-cols")) this.polls.push((this.ttl = new TTLPanel()));
    if (maybe("#be-tries")) this.polls.push((this.backends = new Backends(turn, page.knobs)));
    if (maybe("#kl-rulers")) {
      this.keyLoads = new KeyLoads();
      this.cures = new Cures(turn);
      this.choice = new InputChoice(page.flights ?? { columns: [], rows: 0 }, onRun);
      this.polls.push(new Poll(loadsEvery, api.keyLoads, (loads) => {
        if (!this.frozen) this.keyLoads?.take(loads);
      }));
    }
    if (maybe("#seq")) {
      this.flow = new FlowTries(turn, page.knobs);
      const poll = new Poll(framesEvery, (id) => {
        const q = this.sequence?.next() ?? { consumer: "", n: 1 };
        return api.frames(id, q.consumer, q.n);
      }, (f) => {
        if (!this.frozen) this.sequence?.take(f);
      });
      this.sequence = new Sequence(() => poll.hurry());
      this.polls.push(poll);
    }
    if (this.timeouts || this.matrix || this.overdraft || this.flow || this.cures || this.backends) this.polls.push(new Poll(comparisonsEvery, api.comparisons, (rows) => this.compare(rows)));
  }

  /** The input and column of a start, if the keys come from a file. */
  input(): string | undefined {
    return this.choice?.input();
  }

  key(): string | undefined {
    return this.choice?.key();
  }

  refuse(text: string): void {
    this.choice?.refuse(text);
  }

  follow(session: string): void {
    this.picture = undefined;
    this.cures?.begin(this.input() !== undefined);
    this.refuse("");
    for (const p of this.polls) p.follow(session);
  }

  leave(): void {
    for (const p of this.polls) p.leave();
  }

  freeze(on: boolean): void {
    this.frozen = on;
    this.microscope?.freeze(on);
  }

  draw(p: Picture): void {
    this.picture = p;
    this.overdraft?.draw(p);
    this.keyLoads?.draw(p);
    this.sequence?.draw(p);
    this.microscope?.draw(p);
    this.ttl?.draw(p);
    this.backends?.draw(p);
    this.lsm?.draw(p);
    this.restore?.draw(p);
    this.shelf?.draw(p);
    this.eventTimes?.draw(p);
  }

  private compare(rows: Comparison[]): void {
    if (this.frozen) return;
    const p = this.picture;
    this.timeouts?.draw(rows, p ? segmentBytes(p) : 32 << 10);
    this.matrix?.draw(rows);
    this.overdraft?.compare(rows);
    this.flow?.draw(rows);
    this.backends?.compare(rows);
    if (p) this.cures?.draw(rows, p);
  }
}
