import { t } from "./text";
import type { Comparison, Frames, HeapView, KeyLayout, KeyLoad, KnobValue } from "./types";

/** What a refused call answered. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly field: string,
    readonly reason: string,
    detail: string,
    /** In the line before a full server, from 1. */
    readonly place = 0,
  ) {
    super(detail);
  }
}

/** A page that follows a run of somebody else changes nothing. */
export const watching = new URL(location.href).searchParams.has("watch");

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  if (watching && method !== "GET") throw new Problem(403, "", t("class.watch.only"), t("class.watch.only"));
  const init: RequestInit = { method };
  if (body instanceof FormData) init.body = body;
  else if (body !== undefined) {
    init.headers = { "Content-Type": "application/json" };
    init.body = JSON.stringify(body);
  }
  const r = await fetch(path, init).catch(() => {
    throw new Error(t("problem.net"));
  });
  const text = await r.text();
  if (!r.ok) {
    let p: { field?: string; reason?: string; detail?: string; place?: number } = {};
    try {
      p = JSON.parse(text) as typeof p;
    } catch {
      // not a problem document: the status has to do
    }
    const detail = r.status === 423 ? t("problem.frozen") : (p.detail ?? `${r.status} ${r.statusText}`);
    throw new Problem(r.status, p.field ?? "", p.reason ?? "", detail, p.place);
  }
  return (text ? JSON.parse(text) : undefined) as T;
}

export type Knobs = Record<string, KnobValue>;

export interface InputInfo {
  id: string;
  name: string;
  format: string;
  columns: string[];
  rows: number;
}

export interface Placed {
  maxParallelism: number;
  keys: { key: string; hash: number; keyGroup: number; subtask: number }[];
  rejected: { key: string; reason: string }[];
  before: { parallelism: number; ranges: [number, number][] };
  after?: { parallelism: number; ranges: [number, number][] };
  moved: number;
}

export const start = (lab: string, knobs: Knobs, input?: string, key?: string): Promise<{ id: string }> =>
  call("POST", "/api/v1/sessions", { lab, knobs, ...(input ? { input, key } : {}) });
export interface SessionInfo {
  id: string;
  lab: string;
  state: string;
  timeMs: number;
}

/** The jobs there are, newest first. */
export const sessions = async (): Promise<SessionInfo[]> => (await call<{ sessions: SessionInfo[] }>("GET", "/api/v1/sessions")).sessions;
export const end = (id: string): Promise<void> => call("DELETE", `/api/v1/sessions/${id}`);
export const change = (id: string, knobs: Knobs): Promise<{ version: number }> => call("PATCH", `/api/v1/sessions/${id}/knobs`, knobs);
export const act = (id: string, action: string, args: unknown = {}): Promise<unknown> => call("POST", `/api/v1/sessions/${id}/actions/${action}`, args);
export const comparisons = async (id: string): Promise<Comparison[]> =>
  (await call<{ comparisons: Comparison[] }>("GET", `/api/v1/sessions/${id}/comparisons`)).comparisons;
export const keyLoads = async (id: string): Promise<KeyLoad[]> => (await call<{ keyLoads: KeyLoad[] }>("GET", `/api/v1/sessions/${id}/keyloads`)).keyLoads;
export const frames = (id: string, consumer: string, n: number): Promise<Frames> =>
  call("GET", `/api/v1/sessions/${id}/frames?n=${n}${consumer ? `&consumer=${encodeURIComponent(consumer)}` : ""}`);
export const compositeKey = (id: string, key: string, state: string, userKey: string): Promise<KeyLayout> =>
  call("GET", `/api/v1/sessions/${id}/compositekey?${new URLSearchParams({ key, state, userKey }).toString()}`);
export const heap = (id: string, subtask: number, state: string, group: number): Promise<HeapView> =>
  call("GET", `/api/v1/sessions/${id}/heap?${new URLSearchParams({ subtask: String(subtask), state, group: String(group) }).toString()}`);
export const configuration = async (id: string): Promise<string> => (await call<{ yaml: string }>("GET", `/api/v1/sessions/${id}/configuration`)).yaml;
export const place = (q: { type: string; maxParallelism: number; parallelism: number; compare?: number; keys: string[] }): Promise<Placed> =>
  call("POST", "/api/v1/keygroups", q);
export function upload(file: File): Promise<InputInfo> {
  const form = new FormData();
  form.append("file", file);
  return call("POST", "/api/v1/inputs", form);
}
