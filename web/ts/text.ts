import { handed } from "./dom";

const texts = handed<Record<string, string>>("texts");

export const lang = document.documentElement.lang;

/** Another page's address, in the language that this page's own names. */
export function pageAt(path: string): string {
  if (!new URL(location.href).searchParams.has("lang")) return path;
  return `${path}${path.includes("?") ? "&" : "?"}lang=${lang}`;
}

/** A text of the catalogue; {name} is replaced. */
export function t(key: string, values: Record<string, string | number> = {}): string {
  const text = texts[key];
  if (text === undefined) return `[${key}]`;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => (name in values ? String(values[name]) : whole));
}

export const knows = (key: string): boolean => key in texts;

const formats = new Map<number, Intl.NumberFormat>();

/** A number with grouped thousands and at most so many decimals; exactly as many if figures are to stand in line. */
export function num(x: number, decimals = 0, exactly = false): string {
  const key = exactly ? -decimals : decimals;
  let f = formats.get(key);
  if (!f) {
    f = new Intl.NumberFormat(lang, { maximumFractionDigits: decimals, minimumFractionDigits: exactly ? decimals : 0 });
    formats.set(key, f);
  }
  return f.format(x);
}

/** Bytes as Flink writes sizes: 1 KB is 1024 bytes. */
export function bytes(n: number): { value: string; unit: string } {
  if (n < 1024) return { value: num(n), unit: t("unit.B") };
  if (n < 100 * 1024) return { value: num(n / 1024, 1), unit: t("unit.KB") };
  if (n < 1024 * 1024) return { value: num(n / 1024), unit: t("unit.KB") };
  return { value: num(n / 1024 / 1024, n < 10 << 20 ? 2 : 1), unit: t("unit.MB") };
}

export function sized(n: number): string {
  const b = bytes(n);
  return `${b.value} ${b.unit}`;
}

/** A duration: 31 ms, 1.13 s. */
export function duration(ms: number): string {
  if (ms > 0 && ms < 0.01) return `< ${num(0.01, 2)} ${t("unit.ms")}`;
  if (ms < 1) return `${num(ms, 2)} ${t("unit.ms")}`;
  if (ms < 100) return `${num(ms, ms < 10 ? 1 : 0)} ${t("unit.ms")}`;
  return `${num(ms / 1000, ms < 10_000 ? 2 : 1, true)} ${t("unit.s")}`;
}

/** The job's clock: 00:47.3. */
export function clock(ms: number, tenths = true): string {
  const s = Math.floor(ms / 1000);
  const two = (n: number): string => String(n).padStart(2, "0");
  const hours = Math.floor(s / 3600);
  const head = hours > 0 ? `${hours}:${two(Math.floor(s / 60) % 60)}` : two(Math.floor(s / 60));
  return `${head}:${two(s % 60)}${tenths ? `.${Math.floor(ms / 100) % 10}` : ""}`;
}
