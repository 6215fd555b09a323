// Name colors. Text on each color has a contrast of at least 4.5 to 1 (WCAG AA), which the tests check.

export interface Theme {
  dark: boolean;
  background: string;
  row: string;
  grid: string;
  text: string;
  muted: string;
  accent: string;
  range: string;
  loss: string;
  lossText: string;
  border: string;
  critical: string;
}

/** Colors from the style sheet, for the system's dark or light mode. */
export function currentTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    background: of("canvas"),
    row: of("row"),
    grid: of("grid"),
    text: of("text"),
    muted: of("muted"),
    accent: of("accent"),
    range: of("range"),
    loss: of("loss"),
    lossText: of("loss-text"),
    border: of("border"),
    critical: of("critical"),
  };
}

export interface Shade {
  fill: string;
  text: string;
  /** Stronger color of the same hue, for marks and lines. */
  strong: string;
}

/** Light and dark colors of thread states, and the height of each as a fraction of the bar, because not everybody can distinguish the colors. */
const STATES: Record<string, readonly [string, string, number]> = {
  running: ["#1a7f4b", "#3fcf86", 1],
  runnable: ["#d08700", "#e6b450", 0.7],
  waiting: ["#c2410c", "#ff8a50", 0.7],
  sleeping: ["#9aa1ae", "#5b6270", 0.25],
  stopped: ["#7c3aed", "#b197fc", 0.5],
  unknown: ["#c9ced8", "#3c424d", 0.12],
};

/** Color and height of a thread state. */
export function lookOfState(state: string, dark: boolean): { color: string; height: number } {
  const [light, onDark, height] = STATES[state] ?? STATES.unknown!;
  return { color: dark ? onDark : light, height };
}

/** Color of a pixel that several programs share. */
export function severalShade(dark: boolean): Shade {
  return dark ? { fill: "#4b515c", text: "#ffffff", strong: "#7d8592" } : { fill: "#c3c8d1", text: "#141418", strong: "#8a919e" };
}

const CONTRAST = 4.8;
/** Hues that people can distinguish. Many greens look alike, so only a few are used. Red is for losses. */
const HUES = [24, 34, 44, 54, 78, 118, 158, 176, 190, 204, 220, 242, 264, 288, 314];
/** Cached name colors: light and dark. */
const caches = [new Map<string, Shade>(), new Map<string, Shade>()] as const;
/** Name colors from event maps. */
const given = new Map<string, Rgb>();

/** Gives a name the hue of a color `#rrggbb`. The lightness is kept as far as text on it stays readable. */
export function giveColor(name: string, color: string): void {
  if (!/^#[0-9a-f]{6}$/.test(color)) return;
  given.set(name, [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16)) as Rgb);
  for (const cache of [...caches, ...programShades]) cache.delete(name);
}

/** Hues for the programs with the most running time. Any two of them differ at a glance. */
const PROGRAM_HUES = [28, 48, 88, 140, 172, 196, 222, 254, 284, 316];
/** Hue indexes by program name. */
const programs = new Map<string, number>();
const programShades = [new Map<string, Shade>(), new Map<string, Shade>()] as const;

/**
 * Gives the programs that used most of the time, which come first, hues that differ. A program keeps the hue of its name if no one
 * before it looks alike. With `keep`, those of before stay.
 */
export function colorPrograms(names: string[], keep: boolean): void {
  const before = [...programs].join();
  if (!keep) programs.clear();
  const size = PROGRAM_HUES.length;
  const distance = (a: number, b: number) => Math.min(Math.abs(a - b), size - Math.abs(a - b));
  for (const name of names) {
    if (programs.size >= size) break;
    if (programs.has(name)) continue;
    const taken = [...programs.values()];
    const own = hash(name) % size;
    const room = (hue: number) => taken.reduce((least, other) => Math.min(least, distance(hue, other)), 2);
    const free = PROGRAM_HUES.map((_, i) => (own + i) % size).sort((a, b) => room(b) - room(a));
    programs.set(name, free[0]!);
  }
  if ([...programs].join() !== before) for (const shades of programShades) shades.clear();
}

/** Color of a program. It is strong, because a pale color looks like a program that does not run. */
export function shadeOfProgram(name: string, dark: boolean): Shade {
  const cache = programShades[dark ? 1 : 0];
  let shade = cache.get(name);
  if (!shade) {
    const hue = PROGRAM_HUES[programs.get(name) ?? hash(name) % PROGRAM_HUES.length]!;
    shade = given.has(name) ? shadeOf(name, dark) : readableShade(hue, 0.75, dark ? 0.35 : programs.has(name) ? 0.7 : 0.8, dark);
    if (cache.size > 20_000) cache.clear();
    cache.set(name, shade);
  }
  return shade;
}

/** Color of a name: the same name has the same color in each view and each run. */
export function shadeOf(name: string, dark: boolean): Shade {
  const cache = caches[dark ? 1 : 0];
  let shade = cache.get(name);
  if (!shade) {
    const color = given.get(name);
    shade = color ? shadeOfColor(color, dark) : makeShade(hash(name), dark);
    if (cache.size > 20_000) cache.clear();
    cache.set(name, shade);
  }
  return shade;
}

/** Contrast of two colors by WCAG 2: 1 to 21. */
export function contrast(first: Rgb, second: Rgb): number {
  const [a, b] = [luminance(first), luminance(second)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

type Rgb = [number, number, number];

function makeShade(seed: number, dark: boolean): Shade {
  const hue = HUES[seed % HUES.length]!;
  const tone = (seed >>> 8) % 3;
  const saturation = (dark ? [0.75, 0.55, 0.3] : [0.75, 0.5, 0.62])[tone]!;
  const lightness = dark ? [0.35, 0.25, 0.42][tone]! : [0.76, 0.64, 0.86][tone]!;
  return readableShade(hue, saturation, lightness, dark);
}

function shadeOfColor(color: Rgb, dark: boolean): Shade {
  const [r, g, b] = color.map((value) => value / 255) as Rgb;
  const [most, least] = [Math.max(r, g, b), Math.min(r, g, b)];
  const [range, lightness] = [most - least, (most + least) / 2];
  const saturation = range && range / (1 - Math.abs(2 * lightness - 1));
  const sector = !range ? 0 : most === r ? (g - b) / range + 6 : most === g ? (b - r) / range + 2 : (r - g) / range + 4;
  return readableShade((60 * sector) % 360, saturation, lightness, dark);
}

function readableShade(hue: number, saturation: number, lightness: number, dark: boolean): Shade {
  const text: Rgb = dark ? [255, 255, 255] : [20, 20, 24];
  // Hues differ in luminance at equal lightness, so the lightness moves until text can be read.
  while (contrast(fromHsl(hue, saturation, lightness), text) < CONTRAST) lightness += dark ? -0.01 : 0.01;
  return {
    fill: css(fromHsl(hue, saturation, lightness)),
    text: css(text),
    strong: css(fromHsl(hue, saturation && Math.min(1, saturation + 0.2), dark ? 0.68 : 0.36)),
  };
}

/** FNV-1a with a final mix, so that names that differ in the last letter get different hues. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    value ^= text.charCodeAt(i);
    value = Math.imul(value, 0x01000193);
  }
  value ^= value >>> 15;
  value = Math.imul(value, 0x2c1b3c6d);
  value ^= value >>> 13;
  return value >>> 0;
}

function fromHsl(hue: number, saturation: number, lightness: number): Rgb {
  const a = saturation * Math.min(lightness, 1 - lightness);
  const channel = (n: number) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (lightness - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}

function luminance(color: Rgb): number {
  const [r, g, b] = color.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as Rgb;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function css(color: Rgb): string {
  return `#${color.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}
