// How far a learner is: kept in this browser, and with the server, so that either may be lost.

import type { KnobValue } from "./types";

export interface Progress {
  step: string;
  done: string[];
  choice?: { text: string; n: number; at: string };
  note?: string;
  /** The answers to the quiz, by question. */
  quiz?: Record<string, number>;
  atMs?: number;
}

export interface ExerciseProgress {
  status?: string;
  points: number;
  maxPoints: number;
  tries: number;
  hints: number;
  core?: string;
  answer?: Record<string, KnobValue>;
  answeredMs?: number;
  atMs?: number;
}

export interface AllProgress {
  version: 1;
  labs: Record<string, Progress>;
  exercises: Record<string, ExerciseProgress>;
}

const labPrefix = "weir.progress.";
const exercisePrefix = "weir.exercise.";

function read<T extends object>(key: string, none: T): T {
  try {
    return { ...none, ...(JSON.parse(localStorage.getItem(key) ?? "{}") as Partial<T>) };
  } catch {
    return none;
  }
}

function write(key: string, value: unknown): void {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // a browser without storage: the pages work, and the server remembers
  }
}

export const progress = (lab: string): Progress => read<Progress>(labPrefix + lab, { step: "predict", done: [] });

export const exerciseProgress = (id: string): ExerciseProgress =>
  read<ExerciseProgress>(exercisePrefix + id, { points: 0, maxPoints: 0, tries: 0, hints: 0 });

export function keepProgress(lab: string, p: Progress): void {
  write(labPrefix + lab, { ...p, atMs: Date.now() });
  soon();
}

export function keepExercise(id: string, p: ExerciseProgress): void {
  write(exercisePrefix + id, { ...p, atMs: Date.now() });
  soon();
}

/** All that this browser has. */
export function everything(): AllProgress {
  const all: AllProgress = { version: 1, labs: {}, exercises: {} };
  for (let i = 0; i < localStorage.length; i++) {
    const key = localStorage.key(i) ?? "";
    if (key.startsWith(labPrefix)) all.labs[key.slice(labPrefix.length)] = progress(key.slice(labPrefix.length));
    if (key.startsWith(exercisePrefix)) all.exercises[key.slice(exercisePrefix.length)] = exerciseProgress(key.slice(exercisePrefix.length));
  }
  return all;
}

/** Takes away what this browser has, when its learner leaves the device to others. */
export function forget(): void {
  for (const key of Object.keys(localStorage)) {
    if (key.startsWith(labPrefix) || key.startsWith(exercisePrefix) || key === "weir.class.person") localStorage.removeItem(key);
  }
  sessionStorage.clear();
}

/** Tells the server what this browser has, or a file that was imported, and takes what they have together. */
export async function exchange(mine: AllProgress = everything()): Promise<AllProgress> {
  const r = await fetch("/api/v1/progress", { method: "PUT", headers: { "Content-Type": "application/json" }, body: JSON.stringify(mine) });
  const answer = (await r.json()) as AllProgress & { detail?: string };
  if (!r.ok) throw new Error(answer.detail ?? r.statusText);
  // What was changed here while the question was under way is newer than the answer.
  for (const [id, p] of Object.entries(answer.labs)) if ((progress(id).atMs ?? 0) <= (p.atMs ?? 0)) write(labPrefix + id, p);
  for (const [id, p] of Object.entries(answer.exercises)) if ((exerciseProgress(id).atMs ?? 0) <= (p.atMs ?? 0)) write(exercisePrefix + id, p);
  return answer;
}

let timer = 0;

/** Sends what changed, once typing has paused. What could not be sent goes with the next change. */
function soon(): void {
  clearTimeout(timer);
  timer = window.setTimeout(() => void exchange().catch(() => undefined), 1500);
}
