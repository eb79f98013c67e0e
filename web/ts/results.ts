import { ask, ClassProblem, reason } from "./classapi";
import type { Result } from "./classtypes";
import { t } from "./text";

// Results that are handed in. Each is written down in this browser, under an id made before it is sent, and is taken off
// only when the server has said that it is kept. Sent twice, it is kept once: so whatever is in doubt is sent again.

/** A result on its way. */
export interface Waiting {
  id: string;
  person: string;
  exercise: string;
  status: string;
  points: number;
  maxPoints: number;
  sent: string;
  checks: unknown;
  work: unknown;
  /** Why the server will not take it; it is not sent again by itself. */
  refused?: string;
}

const firstWait = 1000;
const longestWait = 60_000;

/** Whether the same result may be taken later. */
function passing(e: unknown): boolean {
  return !(e instanceof ClassProblem) || e.status >= 500 || [401, 408, 423, 425, 429].includes(e.status);
}

/** The shelf in the browser's own database; in memory where the browser gives none. */
class Shelf {
  private readonly memory = new Map<string, Waiting>();
  private readonly db: Promise<IDBDatabase | undefined> = new Promise((resolve) => {
    try {
      const open = indexedDB.open("weir-class", 1);
      open.onupgradeneeded = () => open.result.createObjectStore("results", { keyPath: "id" });
      open.onsuccess = () => resolve(open.result);
      open.onerror = () => resolve(undefined);
    } catch {
      resolve(undefined);
    }
  });

  private async run<T>(mode: IDBTransactionMode, how: (s: IDBObjectStore) => IDBRequest<T>): Promise<T | undefined> {
    const db = await this.db;
    if (!db) return undefined;
    return new Promise((resolve, reject) => {
      const tx = db.transaction("results", mode, { durability: "strict" });
      const request = how(tx.objectStore("results"));
      tx.oncomplete = () => resolve(request.result);
      tx.onerror = tx.onabort = () => reject(tx.error ?? new Error("the browser keeps nothing"));
    });
  }

  async put(w: Waiting): Promise<void> {
    this.memory.set(w.id, w);
    await this.run("readwrite", (s) => s.put(w)).catch(() => undefined);
  }

  async remove(id: string): Promise<void> {
    this.memory.delete(id);
    await this.run("readwrite", (s) => s.delete(id)).catch(() => undefined);
  }

  /** Those of one person, oldest first: on a shared device others' stay where they are. */
  async all(person: string): Promise<Waiting[]> {
    const kept = (await this.run<Waiting[]>("readonly", (s) => s.getAll() as IDBRequest<Waiting[]>).catch(() => undefined)) ?? [];
    const seen = new Set(kept.map((w) => w.id));
    const all = [...kept, ...[...this.memory.values()].filter((w) => !seen.has(w.id))];
    return all.filter((w) => w.person === person).sort((a, b) => a.sent.localeCompare(b.sent));
  }
}

/** Hands results in, one after the other, until each is acknowledged. */
export class Results {
  private readonly shelf = new Shelf();
  private wait = firstWait;
  private timer = 0;
  private busy = false;
  private again = false;

  constructor(private readonly person: string, private readonly changed: (waiting: Waiting[], why: string) => void, private readonly kept: (r: Result) => void) {
    addEventListener("online", () => this.hurry());
    void this.flush();
  }

  async add(result: Omit<Waiting, "person" | "sent">): Promise<void> {
    await this.shelf.put({ ...result, person: this.person, sent: new Date().toISOString() });
    this.hurry();
  }

  /** Takes a refused one off: the learner has seen why. */
  async drop(id: string): Promise<void> {
    await this.shelf.remove(id);
    this.changed(await this.shelf.all(this.person), "");
  }

  /** Sends a refused one again: why it was refused may be over, as in a class that was opened again. */
  async resend(id: string): Promise<void> {
    const refused = (await this.shelf.all(this.person)).find((w) => w.id === id);
    if (!refused) return;
    const { refused: _, ...w } = refused;
    await this.shelf.put(w);
    this.hurry();
  }

  hurry(): void {
    clearTimeout(this.timer);
    void this.flush();
  }

  private async flush(): Promise<void> {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    let failed = "";
    let retryAfter = 0;
    for (const w of (await this.shelf.all(this.person)).filter((x) => !x.refused)) {
      try {
        const { person: _, refused: __, ...body } = w;
        const kept = await ask<Result>("POST", "class/results", body);
        if (kept.waiting) throw new ClassProblem(503, "", "", t("class.own.waits"), 5000);
        await this.shelf.remove(w.id);
        this.wait = firstWait;
        this.kept(kept);
      } catch (e) {
        if (!passing(e)) {
          await this.shelf.put({ ...w, refused: reason(e) });
          continue;
        }
        failed = reason(e);
        retryAfter = e instanceof ClassProblem ? e.retryAfterMs : 0;
        break;
      }
    }
    this.busy = false;
    this.changed(await this.shelf.all(this.person), failed);
    if (failed) {
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => void this.flush(), Math.max(retryAfter, this.wait) * (0.5 + Math.random()) + retryAfter / 2);
      this.wait = Math.min(longestWait, this.wait * 2);
    } else if (this.again) {
      this.again = false;
      void this.flush();
    }
  }
}
