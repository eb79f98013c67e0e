// Sums and look-ups over a picture.
import type { Channel, Picture, Pool, Subtask, Vertex } from "./types";

export const vertexOf = (p: Picture, id: string): Vertex | undefined => p.vertices?.find((v) => v.id === id);

export function subtaskOf(p: Picture, id: string, index: number): Subtask | undefined {
  return vertexOf(p, id)?.subtasks?.find((s) => s.index === index);
}

export const poolOf = (p: Picture, owner: string): Pool | undefined => p.pools?.find((x) => x.owner === owner);

export function knobNumber(p: Picture, name: string, otherwise: number): number {
  const v = p.knobs[name];
  return typeof v === "number" ? v : otherwise;
}

export const segmentBytes = (p: Picture): number => knobNumber(p, "segmentBytes", 32 << 10);

/** Bytes of a channel that are on their way: a local consumer reads the producer's own memory, so it adds none. */
export function inFlight(c: Channel): number {
  return c.producer.bytes + (c.kind === "remote" ? (c.consumer?.queuedBytes ?? 0) : 0);
}

/** Readings that the charts keep, one a picture. */
export interface Sample {
  t: number; // s of the job's clock
  throughput: number;
  queuedOut: number;
  queuedIn: number;
  sizeLow: number;
  sizeHigh: number;
  inFlight: number;
  gates: Record<string, number>; // bytes in flight towards each gate
}

export function sample(p: Picture): Sample {
  const s: Sample = { t: p.timeMs / 1000, throughput: 0, queuedOut: 0, queuedIn: 0, sizeLow: 0, sizeHigh: 0, inFlight: 0, gates: {} };
  const last = p.vertices?.at(-1);
  for (const sub of last?.subtasks ?? []) s.throughput += sub.recent.numRecordsInPerSecond;
  const consumers = new Set<string>();
  for (const c of p.channels ?? []) {
    s.queuedOut += c.producer.buffers;
    if (c.kind === "remote") s.queuedIn += c.consumer?.queued ?? 0;
    const bytes = inFlight(c);
    const gate = `${c.to.vertex} ${c.to.subtask}`;
    s.inFlight += bytes;
    s.gates[gate] = (s.gates[gate] ?? 0) + bytes;
    consumers.add(gate);
  }
  const sizes = [...consumers].map((g) => {
    const at = g.lastIndexOf(" ");
    return gateSize(p, g.slice(0, at), Number(g.slice(at + 1)));
  });
  if (sizes.length > 0) {
    s.sizeLow = Math.min(...sizes);
    s.sizeHigh = Math.max(...sizes);
  }
  return s;
}

/** The size that a gate asks its producers to keep to: the whole segment unless the debloater says less. */
export function gateSize(p: Picture, vertex: string, subtask: number): number {
  const size = subtaskOf(p, vertex, subtask)?.debloatedBufferSize ?? 0;
  return p.knobs["debloat"] === true && size > 0 ? Math.min(size, segmentBytes(p)) : segmentBytes(p);
}

/** How many buffers the job could queue in all. */
export function bufferRoom(p: Picture): number {
  let n = 0;
  for (const pool of p.pools ?? []) if (pool.owner.endsWith(" out")) n += pool.size;
  for (const g of p.gates ?? []) n += g.floatingTotal;
  const exclusive = knobNumber(p, "exclusiveBuffers", 2);
  for (const c of p.channels ?? []) if (c.kind === "remote") n += exclusive;
  return n;
}
