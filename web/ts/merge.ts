/**
 * Applies what the stream sends after the first picture: objects merge field by field, null takes a field away, an array
 * whose length stays comes as an object keyed by index, all else is replaced. The old picture stays as it was.
 */
export function merge(old: unknown, patch: unknown): unknown {
  if (patch === null || typeof patch !== "object" || Array.isArray(patch)) return patch;
  const p = patch as Record<string, unknown>;
  if (Array.isArray(old)) {
    const out = old.slice();
    for (const [i, v] of Object.entries(p)) out[Number(i)] = merge(out[Number(i)], v);
    return out;
  }
  const out: Record<string, unknown> = old !== null && typeof old === "object" ? { ...old } : {};
  for (const [k, v] of Object.entries(p)) {
    if (v === null) delete out[k];
    else out[k] = merge(out[k], v);
  }
  return out;
}
