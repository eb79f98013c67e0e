import { sample, type Sample } from "./reading";
import type { KnobChange, KnobValue, Picture } from "./types";

/** What a page reads of a run's record: see labs.Record. A sample has no knobs of its own. */
interface RunRecord {
  knobs: Record<string, KnobValue>;
  changes?: KnobChange[];
  samples: Picture[];
}

/** The readings of a run from before its page was opened, one a second, as the server recorded them; none where they cannot
 * be had: the charts then begin now. */
export async function recorded(session: string): Promise<Sample[]> {
  try {
    const r = await fetch(`/api/v1/sessions/${session}/record`);
    if (!r.ok || !r.body) return [];
    const file = (await new Response(r.body.pipeThrough(new DecompressionStream("gzip"))).json()) as { content: RunRecord };
    return samplesOf(file.content);
  } catch {
    return []; // no answer, or a browser that cannot unpack
  }
}

function samplesOf(record: RunRecord): Sample[] {
  const knobs = { ...record.knobs };
  const changes = [...(record.changes ?? [])];
  const list: Sample[] = [];
  for (const p of record.samples) {
    while (changes[0] && changes[0].atMs <= p.timeMs) {
      const c = changes.shift()!;
      knobs[c.name] = c.to;
    }
    // A sample that was too large to keep lacks its channels: it has no reading of them.
    if (p.state === "RUNNING" && p.vertices && p.channels) list.push(sample({ ...p, knobs }));
  }
  return list;
}
