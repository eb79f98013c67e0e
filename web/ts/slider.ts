import type { KnobInfo } from "./types";

// A slider has a thousand places. A logarithmic one gives each place up to and with 0 its own, such as -1 and 0 of the buffer
// timeout, and spreads the rest by ratio.

export const places = 1000;
const special = 40; // places that a value of its own takes at the low end

function specials(k: KnobInfo): number[] {
  const out: number[] = [];
  const min = k.min ?? 0;
  if (k.scale !== "log" || min > 0) return out;
  for (let v = min; v < 0; v++) out.push(v);
  out.push(0);
  return out;
}

function least(k: KnobInfo): number {
  const min = k.min ?? 0;
  if (min > 0) return min;
  return k.type === "int" ? 1 : 0.01;
}

export function toPlace(k: KnobInfo, value: number): number {
  const min = k.min ?? 0;
  const max = k.max ?? 1;
  if (k.scale !== "log") return Math.round(((value - min) / (max - min)) * places);
  const own = specials(k);
  const at = own.indexOf(value);
  if (at >= 0) return at * special;
  const from = own.length * special;
  const lo = least(k);
  return Math.round(from + (Math.log(Math.max(value, lo) / lo) / Math.log(max / lo)) * (places - from));
}

export function toValue(k: KnobInfo, place: number): number {
  const min = k.min ?? 0;
  const max = k.max ?? 1;
  if (k.scale !== "log") return tidy(k, min + (place / places) * (max - min));
  const own = specials(k);
  const from = own.length * special;
  if (place < from) return own[Math.floor(place / special)] ?? min;
  const lo = least(k);
  return tidy(k, lo * (max / lo) ** ((place - from) / (places - from)));
}

/** Two digits are as fine as a slider can be set; the field beside it takes any. */
function tidy(k: KnobInfo, value: number): number {
  const max = k.max ?? 1;
  const min = k.min ?? 0;
  let v = value;
  if (v !== 0) {
    const unit = 10 ** (Math.floor(Math.log10(Math.abs(v))) - 1);
    v = Math.round(v / unit) * unit;
  }
  if (k.type === "int") v = Math.round(v);
  else v = Number(v.toPrecision(6));
  return Math.min(max, Math.max(min, v));
}
