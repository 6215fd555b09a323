// Two ways to draw the same picture: on a canvas, and as SVG for export.

import { svg } from "./dom";

export interface Painter {
  rect(x: number, y: number, width: number, height: number, fill: string, opacity?: number): void;
  outline(x: number, y: number, width: number, height: number, color: string, thickness: number): void;
  polygon(points: number[], fill: string, opacity?: number): void;
  curve(points: number[], color: string, opacity?: number): void;
  /** Text with its middle at `y`, cut to `most` pixels. */
  text(x: number, y: number, text: string, fill: string, most: number, bold?: boolean): void;
  /** Confines what `paint` draws to a rectangle. */
  within(x: number, y: number, width: number, height: number, paint: () => void): void;
}

const FAMILY = 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const SIZE = 11.5;
const widths = new Map<string, number>();
const cuts = new Map<string, string>();
let measuring: CanvasRenderingContext2D | null = null;

function widthOf(text: string, bold: boolean): number {
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

/** Longest beginning of a text that is at most `most` pixels wide, with an ellipsis; empty if that is too little. */
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

/** Widths of letters of ASCII, plain and bold. */
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

export class CanvasPainter implements Painter {
  constructor(private readonly context: CanvasRenderingContext2D) {
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

  curve(points: number[], color: string, opacity = 1): void {
    const { context } = this;
    context.globalAlpha = opacity;
    context.strokeStyle = color;
    context.lineWidth = 1.5;
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

  within(x: number, y: number, width: number, height: number, paint: () => void): void {
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, width, height);
    this.context.clip();
    paint();
    this.context.restore();
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

  curve(points: number[], color: string, opacity = 1): void {
    const [x, y, ...rest] = points.map(round);
    this.add("path", { d: `M${x} ${y}C${rest.join(" ")}`, fill: "none", stroke: color, "stroke-width": 1.5, "stroke-opacity": opacity < 1 ? opacity : null });
  }

  text(x: number, y: number, text: string, fill: string, most: number, bold = false): void {
    const cut = cutText(text, most, bold);
    if (!cut) return;
    const attributes = { x: round(x), y: round(y + 4.5), fill, "font-weight": bold ? 600 : null, "xml:space": "preserve" };
    this.target.append(svg("text", attributes, withoutControls(cut)));
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

/** XML has no way to write most control characters, so a file with them cannot be opened. */
function withoutControls(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}
