// Two ways to draw the same picture: on a canvas, and as SVG for export.

import { svg } from "./dom";

export interface Painter {
  rect(x: number, y: number, width: number, height: number, fill: string, opacity?: number): void;
  outline(x: number, y: number, width: number, height: number, color: string, thickness: number): void;
  polygon(points: number[], fill: string, opacity?: number): void;
  curve(points: number[], color: string, opacity?: number, thickness?: number): void;
  /** Text with its middle at `y`, cut to `most` pixels. */
  text(x: number, y: number, text: string, fill: string, most: number, bold?: boolean): void;
  /** Columns within a band, for items that are too narrow for anything else. They appear after `flush`. */
  columns(y: number, height: number, levels: number): Columns;
  flush(): void;
  /** Confines what `paint` draws to a rectangle. */
  within(x: number, y: number, width: number, height: number, paint: () => void): void;
}

/** Band of columns, each a part of its height: `level` of the levels of the band, from its bottom. */
export interface Columns {
  add(x: number, right: number, level: number, color: string, opacity: number): void;
}

const FAMILY = 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const SIZE = 11.5;
const widths = new Map<string, number>();
const cuts = new Map<string, string>();
let measuring: CanvasRenderingContext2D | null = null;

export function widthOf(text: string, bold = false): number {
  const key = (bold ? "b" : "n") + text;
  let width = widths.get(key);
  if (width === undefined) {
    measuring ??= document.createElement("canvas").getContext("2d");
    if (!measuring) return text.length * 7;
    measuring.font = font(bold);
    width = measuring.measureText(text).width;
    if (widths.size > 50_000) widths.clear();
    widths.set(key, width);
  }
  return width;
}

/** Longest start of a text within `most` pixels, with an ellipsis; empty if there is no room. */
function cutText(text: string, most: number, bold: boolean): string {
  if (most < 14) return "";
  if (text.length > 300) text = text.slice(0, 300);
  if (widthOf(text, bold) <= most) return text;
  const plain = plainLength(text, most - widthOf("…", bold), bold);
  if (plain !== null) return plain >= 2 ? `${text.slice(0, plain)}…` : "";
  const key = `${bold ? "b" : "n"}${Math.floor(most / 4)}:${text}`;
  let cut = cuts.get(key);
  if (cut === undefined) {
    const letters = [...text];
    let [low, high] = [0, letters.length];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (widthOf(`${letters.slice(0, middle).join("")}…`, bold) <= Math.floor(most / 4) * 4) low = middle;
      else high = middle - 1;
    }
    cut = low >= 2 ? `${letters.slice(0, low).join("")}…` : "";
    if (cuts.size > 20_000) cuts.clear();
    cuts.set(key, cut);
  }
  return cut;
}

/** Start and end of a text within `most` pixels, because function names differ in both; empty if there is no room. */
export function cutMiddle(text: string, most: number): string {
  const letters = [...text.slice(0, 1000)];
  if (widthOf(text, false) <= most) return text;
  let [low, high] = [0, letters.length];
  const cut = (left: number) => `${letters.slice(0, Math.ceil(left / 2)).join("")}…${letters.slice(letters.length - Math.floor(left / 2)).join("")}`;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (widthOf(cut(middle), false) <= most) low = middle;
    else high = middle - 1;
  }
  return low >= 2 ? cut(low) : "";
}

/** Widths of ASCII letters, plain and bold. */
const letters: [number[], number[]] = [[], []];

/** Number of letters that fit; null for other scripts, where letters change each other. Measuring parts of a text for each width takes too long while zooming. */
function plainLength(text: string, most: number, bold: boolean): number | null {
  const widths = letters[bold ? 1 : 0];
  let [width, length] = [0, 0];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || code > 0x7e) return null;
    width += widths[code] ??= widthOf(text[i]!, bold);
    if (width <= most) length = i + 1;
  }
  return length;
}

function font(bold: boolean): string {
  return `${bold ? "600 " : ""}${SIZE}px ${FAMILY}`;
}

/** Colors as pixels, red first. */
const pixels = new Map<string, number>();

function pixelOf(color: string): number {
  let pixel = pixels.get(color);
  if (pixel === undefined) {
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
    pixel = ((blue! << 16) | (green! << 8) | red!) >>> 0;
    if (pixels.size > 10_000) pixels.clear();
    pixels.set(color, pixel);
  }
  return pixel;
}

/**
 * Rows of pixels, a few for each band, which are drawn as a whole and stretched to the height of the band: a rectangle for each
 * of a hundred thousand items takes ten times as long.
 */
class PixelRows {
  private readonly canvas = document.createElement("canvas");
  private data = new ImageData(1, 1);
  private colors = new Uint32Array(this.data.data.buffer);
  private bands: { row: number; levels: number; y: number; height: number }[] = [];
  private rows = 0;

  /** Starts a picture with a number of pixels per row. */
  begin(width: number): void {
    if (this.data.width !== width) this.grow(width, 64);
    else this.colors.fill(0, 0, this.rows * width);
    this.rows = 0;
    this.bands = [];
  }

  private grow(width: number, height: number): void {
    const before = this.data.width === width ? this.colors : null;
    this.data = new ImageData(width, height);
    this.colors = new Uint32Array(this.data.data.buffer);
    if (before) this.colors.set(before);
  }

  /** Returns the first row of a new band. */
  add(y: number, height: number, levels: number): number {
    const { width } = this.data;
    const row = this.rows;
    this.rows += levels;
    if (this.rows > this.data.height) this.grow(width, this.data.height * 2);
    this.bands.push({ row, levels, y, height });
    return row;
  }

  set(first: number, last: number, from: number, to: number, pixel: number): void {
    const { width } = this.data;
    const begin = from > 0 ? from : 0;
    const end = to < width ? to : width;
    for (let row = first; row < last; row++) {
      const base = row * width;
      if (end - begin < 12) for (let at = base + begin; at < base + end; at++) this.colors[at] = pixel;
      else this.colors.fill(pixel, base + begin, base + end);
    }
  }

  draw(context: CanvasRenderingContext2D, width: number): void {
    if (!this.bands.length) return;
    const { canvas, data, rows } = this;
    if (canvas.width !== data.width || canvas.height < rows) Object.assign(canvas, { width: data.width, height: data.height });
    canvas.getContext("2d")?.putImageData(data, 0, 0, 0, 0, data.width, rows);
    context.imageSmoothingEnabled = false;
    for (const { row, levels, y, height } of this.bands) context.drawImage(canvas, 0, row, data.width, levels, 0, y, width, height);
    this.begin(data.width);
  }
}

const pixelRows = new PixelRows();

export class CanvasPainter implements Painter {
  /** Pixels of the screen for a pixel of the page. */
  private readonly ratio: number;
  /** Clip rectangle of columns, in screen pixels. */
  private clip: [number, number] = [-Infinity, Infinity];

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly width: number,
  ) {
    this.ratio = context.canvas.width / width;
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.direction = "ltr";
  }

  rect(x: number, y: number, width: number, height: number, fill: string, opacity = 1): void {
    if (opacity !== 1) this.context.globalAlpha = opacity;
    this.context.fillStyle = fill;
    this.context.fillRect(x, y, width, height);
    if (opacity !== 1) this.context.globalAlpha = 1;
  }

  outline(x: number, y: number, width: number, height: number, color: string, thickness: number): void {
    this.context.strokeStyle = color;
    this.context.lineWidth = thickness;
    this.context.strokeRect(x, y, width, height);
  }

  polygon(points: number[], fill: string, opacity = 1): void {
    const { context } = this;
    context.globalAlpha = opacity;
    context.fillStyle = fill;
    context.beginPath();
    for (let i = 0; i + 1 < points.length; i += 2) context.lineTo(points[i]!, points[i + 1]!);
    context.fill();
    context.globalAlpha = 1;
  }

  curve(points: number[], color: string, opacity = 1, thickness = 1.5): void {
    const { context } = this;
    context.globalAlpha = opacity;
    context.strokeStyle = color;
    context.lineWidth = thickness;
    context.beginPath();
    context.moveTo(points[0]!, points[1]!);
    context.bezierCurveTo(points[2]!, points[3]!, points[4]!, points[5]!, points[6]!, points[7]!);
    context.stroke();
    context.globalAlpha = 1;
  }

  text(x: number, y: number, text: string, fill: string, most: number, bold = false): void {
    const cut = cutText(text, most, bold);
    if (!cut) return;
    this.context.font = font(bold);
    this.context.fillStyle = fill;
    this.context.fillText(cut, x, y + 0.5);
  }

  columns(y: number, height: number, levels: number): Columns {
    const { ratio } = this;
    let first = -1;
    return {
      add: (x, right, level, color, opacity) => {
        // A band without columns is not drawn.
        if (first < 0) first = pixelRows.add(y, height, levels);
        const from = Math.max(Math.floor(x * ratio), this.clip[0]);
        const to = Math.min(Math.max(Math.round(right * ratio), Math.floor(x * ratio) + 1), this.clip[1]);
        const pixel = (pixelOf(color) | (Math.round(opacity * 255) << 24)) >>> 0;
        pixelRows.set(first + levels - level, first + levels, from, to, pixel);
      },
    };
  }

  /** Starts without columns. */
  begin(): void {
    pixelRows.begin(this.context.canvas.width);
  }

  flush(): void {
    pixelRows.draw(this.context, this.width);
  }

  within(x: number, y: number, width: number, height: number, paint: () => void): void {
    const outer = this.clip;
    this.clip = [Math.max(outer[0], Math.round(x * this.ratio)), Math.min(outer[1], Math.round((x + width) * this.ratio))];
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, width, height);
    this.context.clip();
    paint();
    this.context.restore();
    this.clip = outer;
  }
}

/** Draws texts after everything else, so that nothing dims them. */
export class TextsLast implements Painter {
  private texts: (() => void)[] = [];
  private clips: [number, number, number, number][] = [];

  constructor(private readonly painter: Painter) {}

  rect(...place: Parameters<Painter["rect"]>): void {
    this.painter.rect(...place);
  }

  outline(...place: Parameters<Painter["outline"]>): void {
    this.painter.outline(...place);
  }

  polygon(...place: Parameters<Painter["polygon"]>): void {
    this.painter.polygon(...place);
  }

  curve(...place: Parameters<Painter["curve"]>): void {
    this.painter.curve(...place);
  }

  columns(...place: Parameters<Painter["columns"]>): Columns {
    return this.painter.columns(...place);
  }

  flush(): void {
    this.painter.flush();
  }

  text(...place: Parameters<Painter["text"]>): void {
    const [clip] = this.clips;
    const draw = () => this.painter.text(...place);
    this.texts.push(clip ? () => this.painter.within(...clip, draw) : draw);
  }

  within(x: number, y: number, width: number, height: number, paint: () => void): void {
    this.clips.push([x, y, width, height]);
    this.painter.within(x, y, width, height, paint);
    this.clips.pop();
  }

  finish(): void {
    for (const draw of this.texts) draw();
  }
}

export class SvgPainter implements Painter {
  readonly root: SVGElement;
  private target: SVGElement;
  // Names of clip paths hold for a whole file, which several painters may make.
  private static clips = 0;

  constructor(width: number, height: number) {
    this.root = svg("svg", {
      xmlns: "http://www.w3.org/2000/svg",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      "font-family": FAMILY,
      "font-size": SIZE,
    });
    this.target = this.root;
  }

  rect(x: number, y: number, width: number, height: number, fill: string, opacity = 1): void {
    this.add("rect", { ...box(x, y, width, height), fill, opacity: opacity === 1 ? null : round(opacity) });
  }

  outline(x: number, y: number, width: number, height: number, color: string, thickness: number): void {
    this.add("rect", { ...box(x, y, width, height), fill: "none", stroke: color, "stroke-width": thickness });
  }

  polygon(points: number[], fill: string, opacity = 1): void {
    this.add("polygon", { points: points.map(round).join(" "), fill, opacity: opacity === 1 ? null : round(opacity) });
  }

  curve(points: number[], color: string, opacity = 1, thickness = 1.5): void {
    const [x, y, ...rest] = points.map(round);
    this.add("path", { d: `M${x} ${y}C${rest.join(" ")}`, fill: "none", stroke: color, "stroke-width": round(thickness), "stroke-opacity": opacity < 1 ? opacity : null });
  }

  text(x: number, y: number, text: string, fill: string, most: number, bold = false): void {
    const cut = cutText(text, most, bold);
    if (!cut) return;
    const attributes = { x: round(x), y: round(y + 4.5), fill, "font-weight": bold ? 600 : null, "xml:space": "preserve" };
    this.target.append(svg("text", attributes, withoutControls(cut)));
  }

  columns(y: number, height: number, levels: number): Columns {
    return {
      add: (x, right, level, color, opacity) => {
        const part = (height * level) / levels;
        this.rect(x, y + height - part, Math.max(right - x, 0.5), part, color, opacity);
      },
    };
  }

  flush(): void {
    // Columns are drawn immediately.
  }

  within(x: number, y: number, width: number, height: number, paint: () => void): void {
    const outer = this.target;
    const id = `c${SvgPainter.clips++}`;
    outer.append(svg("clipPath", { id }, svg("rect", box(x, y, width, height))));
    this.target = svg("g", { "clip-path": `url(#${id})` });
    outer.append(this.target);
    paint();
    this.target = outer;
  }

  private add(tag: string, attributes: Record<string, string | number | null>): void {
    this.target.append(svg(tag, attributes));
  }
}

function box(x: number, y: number, width: number, height: number): Record<string, number> {
  return { x: round(x), y: round(y), width: round(width), height: round(height) };
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** XML cannot represent most control characters, so a file with them cannot be opened. */
function withoutControls(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}
