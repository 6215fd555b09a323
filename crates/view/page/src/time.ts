// Formats times. Absolute times are `bigint` nanoseconds, durations are numbers of nanoseconds.

const SECOND = 1_000_000_000n;
const DAY = 86_400n * SECOND;
const UNITS: [number, string][] = [
  [3_600e9, "h"],
  [60e9, "min"],
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

// Creating a formatter for each number would take ten times as long as formatting all numbers of a picture.
const PLAIN = new Intl.NumberFormat("en", { maximumFractionDigits: 9, useGrouping: false });
const GROUPED = new Intl.NumberFormat("en");

/** Duration in the unit that fits, with at most `digits` significant digits: `1.25 ms`. */
export function duration(ns: number, digits = 4): string {
  if (!Number.isFinite(ns)) return "–";
  const size = Math.abs(ns);
  const [factor, unit] = UNITS.find(([least]) => size >= least) ?? [1, "ns"];
  const value = Number((ns / factor).toPrecision(digits));
  return `${PLAIN.format(value)} ${unit}`;
}

/** Time difference with its sign: `+1.25 ms`. Different multiples of `step` look different. */
export function difference(ns: number, step = Infinity): string {
  const size = Math.abs(ns);
  const digits = Math.min(Math.max(4, Math.floor(Math.log10(Math.max(size / step, 1))) + 2), 17);
  return `${ns < 0 ? "\u2212" : "+"}${duration(size, digits)}`;
}

/** Number with thousands separated. */
export function count(value: number): string {
  return GROUPED.format(value);
}

/** Number of at most four digits and a letter, for small places: `12.3k`. */
export function shortCount(value: number): string {
  if (value < 10_000) return String(Math.round(value * 10) / 10);
  return value.toLocaleString("en", { notation: "compact", maximumFractionDigits: 1 });
}

/** Value of a counter. */
export function quantity(value: number, unit: string | null): string {
  const text = Math.abs(value) >= 1e6 || Number.isInteger(value) ? shortCount(value) : Number(value.toPrecision(4)).toString();
  return unit ? `${text} ${unit}` : text;
}

/** Clock format of a trace. */
export interface Calendar {
  hasDates: boolean;
  zone: string;
}

/** Time of day (or seconds since the origin) with `decimals` digits of the second. */
export function timeOfDay(time: bigint, calendar: Calendar, decimals = 9): string {
  const fraction = modulo(time, SECOND).toString().padStart(9, "0").slice(0, decimals);
  const dot = decimals > 0 ? "." : "";
  if (!calendar.hasDates) {
    const seconds = (time - modulo(time, SECOND)) / SECOND;
    return `${seconds}${dot}${fraction} s`;
  }
  const date = parts(time, calendar.zone);
  return `${date.time}${dot}${fraction}`;
}

/** Date of a time, empty for clocks without dates. */
export function dateOf(time: bigint, calendar: Calendar): string {
  return calendar.hasDates ? parts(time, calendar.zone).date : "";
}

/** Date, time of day and zone. */
export function fullTime(time: bigint, calendar: Calendar): string {
  if (!calendar.hasDates) return timeOfDay(time, calendar);
  return `${dateOf(time, calendar)} ${timeOfDay(time, calendar)}${calendar.zone === "local" ? "" : ` ${calendar.zone}`}`;
}

const formats = new Map<string, Intl.DateTimeFormat | null>();

/** Formatter for a time zone; `null` if the browser does not know it. Times are then in UTC. */
function format(zone: string): Intl.DateTimeFormat | null {
  let made = formats.get(zone);
  if (made === undefined) {
    try {
      made = new Intl.DateTimeFormat("en-CA", {
        // "local" is the zone of the machine, which is also that of the browser.
        ...(zone === "local" ? {} : { timeZone: zone }),
        hourCycle: "h23",
        year: "numeric",
        month: "2-digit",
        day: "2-digit",
        hour: "2-digit",
        minute: "2-digit",
        second: "2-digit",
      });
    } catch {
      made = null;
    }
    formats.set(zone, made);
  }
  return made;
}

function parts(time: bigint, zone: string): { date: string; time: string } {
  const date = new Date(Number((time - modulo(time, SECOND)) / SECOND) * 1000);
  if (Number.isNaN(date.getTime())) return { date: "?", time: time.toString() };
  const known = zone === "UTC" ? null : format(zone);
  if (!known) {
    const iso = date.toISOString();
    const at = iso.indexOf("T");
    return { date: iso.slice(0, at), time: iso.slice(at + 1, at + 9) };
  }
  const of: Record<string, string> = {};
  for (const part of known.formatToParts(date)) of[part.type] = part.value;
  return { date: `${of.year}-${of.month}-${of.day}`, time: `${of.hour}:${of.minute}:${of.second}` };
}

function modulo(value: bigint, by: bigint): bigint {
  const rest = value % by;
  return rest < 0n ? rest + by : rest;
}

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500].flatMap((n) => [n]);
const LONG_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400];

/** Distance between ruler marks: the smallest round distance of at least `least` ns. */
export function step(least: number): bigint {
  for (const unit of [1, 1e3, 1e6]) {
    for (const n of STEPS) if (n * unit >= least) return BigInt(n * unit);
  }
  for (const n of LONG_STEPS) if (n * 1e9 >= least) return BigInt(n) * SECOND;
  let days = 1n;
  while (Number(days * DAY) < least) days *= 2n;
  return days * DAY;
}

/** First multiple of `distance` at or after `time`. */
export function roundUp(time: bigint, distance: bigint): bigint {
  const rest = modulo(time, distance);
  return rest === 0n ? time : time + distance - rest;
}

/** Decimals of the second that marks at this distance need. */
export function decimalsOf(distance: bigint): number {
  let decimals = 9;
  let power = 1n;
  while (decimals > 0 && distance % (power * 10n) === 0n) {
    power *= 10n;
    decimals -= 1;
  }
  return decimals;
}
