// Flame graph of the range: call stacks or nested spans, like `ichnos stacks`.

import { isAborted, Latest, type Frame, type Stacks } from "../api";
import { shadeOf } from "../colors";
import { CommandLine } from "../commands";
import { button, byId, debounce, el } from "../dom";
import { cutMiddle } from "../painter";
import { isSaved } from "../saved";
import type { State, Topic } from "../state";
import { count, duration } from "../time";
import { errorNote, note, partly, plural, rangeParameters, rangeText, type Panel, type PanelActions } from "./panel";

const ROW = 21;
/** Minimum frame width. Narrower frames appear when zooming. */
const LEAST_WIDTH = 3;
const MOST_DEPTH = 200;

function choice(): HTMLInputElement {
  return el("input", { type: "checkbox" });
}

interface Box {
  frame: Frame;
  parent: Box | null;
  depth: number;
  x: number;
  width: number;
}

/** Names of a frame and of those around it, the innermost first. */
function namesOf(box: Box): string {
  const names: string[] = [];
  for (let at: Box | null = box; at; at = at.parent) names.push(at.frame.name);
  return names.join("\n");
}

export class FlamePanel implements Panel {
  readonly title = "Flame graph";
  readonly element = el("div");
  readonly topics: Topic[] = ["view", "range", "filter", "offsets", "trace"];
  private readonly status = el("span", { class: "muted", role: "status" });
  private readonly command = new CommandLine();
  private readonly body = el("div", { class: "body" });
  private readonly graph = el("div", { class: "flame", role: "group", "aria-label": "Flame graph: arrows move, Enter zooms, Backspace zooms out" });
  private readonly out = button("Zoom out", () => this.zoom(this.path.length - 2), { disabled: true });
  /** Options by request parameter. */
  private readonly choices = { inverted: choice(), threads: choice(), running: choice() };
  private readonly latest = new Latest();
  private root: Frame | null = null;
  /** Frames from the root to the one that fills the width. */
  private path: Frame[] = [];
  private boxes = new Map<HTMLElement, Box>();
  private unit = "";

  constructor(
    private readonly state: State,
    private readonly actions: PanelActions,
  ) {
    const labels = { inverted: ["Inverted", "Callers below what they call"], threads: ["By thread", ""], running: ["Only running", "Without the time in which threads did not run"] };
    const choices = Object.entries(this.choices).map(([name, input]) => {
      const [text, title] = labels[name as keyof typeof labels];
      input.addEventListener("change", () => {
        this.path = [];
        void this.update();
      });
      return el("label", { title }, input, ` ${text}`);
    });
    const bar = el("div", { class: "bar" }, this.status, this.out, ...(isSaved ? [] : choices), el("span", { class: "grow" }), this.command.element);
    this.element.append(bar, this.body);
    this.graph.addEventListener("keydown", (event) => this.key(event));
    const again = debounce(60, () => this.draw());
    new ResizeObserver(again).observe(byId("panels"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  }

  async update(): Promise<void> {
    this.status.textContent = rangeText(this.state);
    if (this.state.isEmpty) return this.body.replaceChildren(note(this.state.emptyText));
    try {
      const chosen = Object.entries(this.choices).filter(([, input]) => input.checked).map(([name]) => [name, "1"]);
      this.show(await this.latest.get<Stacks>("stacks", { ...rangeParameters(this.state), ...Object.fromEntries(chosen) }));
    } catch (error) {
      if (isAborted(error)) return;
      this.command.set("");
      this.body.replaceChildren(errorNote(error));
    }
  }

  private show(stacks: Stacks): void {
    this.command.set(stacks.command);
    this.unit = stacks.unit ?? "";
    const dropped = stacks.dropped ? `, ${plural(stacks.dropped, "small frame")} dropped` : "";
    this.status.textContent = `${rangeText(this.state)} · ${stacks.spans ? plural(stacks.spans, "span") : plural(stacks.samples, "sample")}${dropped}${stacks.exact === false ? ", times are approximate" : ""}${partly(stacks.complete)}`;
    // Threads of which nothing counts are there without a value.
    if (!stacks.root.children?.length || !stacks.root.value) {
      this.root = null;
      this.boxes.clear();
      this.out.disabled = true;
      return this.body.replaceChildren(note(this.emptyText(stacks)));
    }
    const names = this.path.map((frame) => frame.name);
    this.root = stacks.root;
    this.path = [stacks.root];
    // The same frame stays zoomed while the range changes.
    for (const name of names.slice(1)) {
      const next = this.path.at(-1)!.children?.find((child) => child.name === name);
      if (!next) break;
      this.path.push(next);
    }
    this.body.replaceChildren(this.graph);
    this.draw();
  }

  /** Explains why there is nothing to show. */
  private emptyText(stacks: Stacks): string {
    if (!this.choices.running.checked) return "No call stacks or spans in this range.";
    const isKnown = stacks.samples > 0 || this.state.tracks.some((track) => track.kind === "states");
    return isKnown ? "No thread is known to have run in this range." : 'This trace does not say when its threads ran: without "Only running", all time is shown.';
  }

  private draw(): void {
    if (!this.root || !this.graph.isConnected) return;
    const width = this.body.clientWidth - 24;
    if (width <= 0) return;
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    // A new answer has other frames with the same names.
    const before = this.boxes.get(document.activeElement as HTMLElement);
    const focused = before && namesOf(before);
    this.boxes.clear();
    const elements: HTMLElement[] = [];
    let deepest = 0;
    for (const box of this.layOut(width)) {
      const element = this.frame(box, dark);
      this.boxes.set(element, box);
      elements.push(element);
      deepest = Math.max(deepest, box.depth);
    }
    this.graph.replaceChildren(...elements);
    this.graph.style.height = `${(deepest + 1) * ROW}px`;
    this.out.disabled = this.path.length < 2;
    const again = elements.find((element) => focused !== undefined && namesOf(this.boxes.get(element)!) === focused) ?? null;
    if (again) again.focus({ preventScroll: true });
    const first = again ?? elements[0];
    if (first) first.tabIndex = 0;
  }

  private layOut(width: number): Box[] {
    const boxes: Box[] = [];
    let parent: Box | null = null;
    this.path.forEach((frame, depth) => {
      parent = { frame, parent, depth, x: 0, width };
      boxes.push(parent);
    });
    const stack: Box[] = parent ? [parent] : [];
    while (stack.length) {
      const box = stack.pop()!;
      if (box.depth >= MOST_DEPTH) continue;
      let { x } = box;
      for (const frame of box.frame.children ?? []) {
        const part = (box.width * frame.value) / Math.max(box.frame.value, 1e-9);
        const inner = { frame, parent: box, depth: box.depth + 1, x, width: part };
        x += part;
        if (part < LEAST_WIDTH) continue;
        boxes.push(inner);
        stack.push(inner);
      }
    }
    return boxes;
  }

  private frame(box: Box, dark: boolean): HTMLElement {
    const { frame, depth, x, width } = box;
    const percent = ((100 * frame.value) / Math.max(this.root!.value, 1e-9)).toFixed(1);
    const value = this.unit === "ns" ? duration(frame.value, 4) : `${count(frame.value)}${this.unit ? ` ${this.unit}` : ""}`;
    const text = `${frame.name}: ${value}, ${percent} %`;
    // A cut name is not part of the accessible label, so the style sheet shows it.
    const cut = width > 24 ? cutMiddle(frame.name, width - 10) : "";
    const element = button("", () => this.zoomTo(box), { title: text, "aria-label": text, "data-text": cut, tabindex: -1 });
    const shade = shadeOf(frame.name, dark);
    Object.assign(element.style, {
      left: `${x}px`,
      top: `${depth * ROW}px`,
      width: `${width}px`,
      background: shade.fill,
      color: shade.text,
    });
    return element;
  }

  private zoomTo(box: Box): void {
    const path: Frame[] = [];
    for (let at: Box | null = box; at; at = at.parent) path.unshift(at.frame);
    this.path = path;
    this.draw();
    this.actions.announce(`${box.frame.name} fills the width`);
  }

  private zoom(index: number): void {
    this.path = this.path.slice(0, Math.max(index, 0) + 1);
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    const box = this.boxes.get(event.target as HTMLElement);
    if (!box) return;
    if (event.key === "Backspace") this.zoom(this.path.length - 2);
    else {
      const next = this.neighbour(box, event.key);
      if (next === undefined) return;
      if (next) {
        for (const element of this.boxes.keys()) element.tabIndex = -1;
        next.tabIndex = 0;
        next.focus();
      }
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** Frame in the direction of a key; `null` without such a frame, `undefined` for other keys. */
  private neighbour(box: Box, key: string): HTMLElement | null | undefined {
    const find = (is: (other: Box) => boolean, last = false) => {
      const found = [...this.boxes].filter(([, other]) => is(other)).sort(([, a], [, b]) => a.x - b.x);
      return (last ? found.at(-1) : found[0])?.[0] ?? null;
    };
    switch (key) {
      case "ArrowUp":
        return find((other) => other === box.parent);
      case "ArrowDown":
        return find((other) => other.parent === box);
      case "ArrowRight":
        return find((other) => other.depth === box.depth && other.x > box.x);
      case "ArrowLeft":
        return find((other) => other.depth === box.depth && other.x < box.x, true);
      default:
        return undefined;
    }
  }
}
