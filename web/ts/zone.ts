/** How far a zone is from UTC at a moment, in ms. */
export function offset(at: number, zone: string): number {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric",
  }).formatToParts(at);
  const n = (type: string): number => Number(parts.find((p) => p.type === type)?.value);
  return Date.UTC(n("year"), n("month") - 1, n("day"), n("hour"), n("minute"), n("second")) - Math.floor(at / 1000) * 1000;
}

/** What the clocks of a zone show at a moment, as a field for a local time has it: 2026-03-29T23:59. */
export const inZone = (iso: string, zone: string): string => new Date(Date.parse(iso) + offset(Date.parse(iso), zone)).toISOString().slice(0, 16);

/** The moment at which the clocks of a zone show a local time such as 2026-03-29T23:59, as RFC 3339 in UTC. Where they show
 * it twice, the second time counts; where they leave it out, the time as far after the gap. */
export function toZone(local: string, zone: string): string {
  const wall = Date.parse(`${local}Z`);
  if (Number.isNaN(wall)) return local; // the server says what is wrong with it
  const day = 24 * 60 * 60 * 1000;
  const [before, after] = [offset(wall - day, zone), offset(wall + day, zone)];
  const fits = [wall - before, wall - after].filter((at) => at + offset(at, zone) === wall);
  return new Date(fits.length > 0 ? Math.max(...fits) : wall - before).toISOString();
}
