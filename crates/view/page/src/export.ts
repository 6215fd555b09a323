// Export of the range. The server writes traces and tables, the page draws pictures.

import { address, errorOf, get, messageOf } from "./api";
import { button, el } from "./dom";
import { drawScene } from "./draw";
import { SvgPainter } from "./painter";
import { rangeParameters, rangeText } from "./panels/panel";
import { drawRuler, RULER } from "./ruler";
import { isSaved } from "./saved";
import type { State } from "./state";
import type { Timeline } from "./timeline";
import { showDialog } from "./dialog";

/** Width of track names in pictures. */
const NAMES = 200;

export class Exporter {
  private readonly status = el("p", { class: "error", role: "alert" });

  constructor(
    private readonly state: State,
    private readonly timeline: Timeline,
  ) {}

  open(): void {
    const choice = (text: string, hint: string, action: () => void) => el("div", { class: "choice" }, button(text, action), el("span", { class: "muted" }, hint));
    this.status.textContent = "";
    const command = el("pre", { class: "wrapped" });
    const terminal = isSaved ? [] : [el("h3", {}, "In the terminal"), command];
    if (!isSaved) void this.command().then((text) => (command.textContent = text));
    const tables = [
      choice("Trace", "the events of the range, as `ichnos cut` writes them; a directory as .tar", () => void this.download("trace")),
      choice("CSV", "one line an event", () => void this.download("csv")),
      choice("JSON Lines", "one object an event", () => void this.download("jsonl")),
    ];
    showDialog(
      "Export",
      el("p", {}, rangeText(this.state)),
      el(
        "div",
        { class: "choices" },
        ...(isSaved ? [] : tables),
        choice("PNG", "the picture, in the pixels of this screen", () => void this.png()),
        choice("SVG", "the picture, to be scaled", () => this.svg()),
      ),
      this.status,
      ...terminal,
    );
  }

  /** Command that writes the range as a trace. */
  private async command(): Promise<string> {
    try {
      return (await get<{ command: string }>("command", { verb: "cut", ...rangeParameters(this.state) })).command;
    } catch (error) {
      return messageOf(error);
    }
  }

  /** Downloads a file from the server. An error is shown instead of saved. */
  private async download(kind: "trace" | "csv" | "jsonl"): Promise<void> {
    const place = address("export", { kind, ...rangeParameters(this.state) });
    const controller = new AbortController();
    this.status.textContent = kind === "trace" ? "Writing the trace …" : "";
    try {
      const answer = await fetch(place, { signal: controller.signal });
      if (!answer.ok) throw await errorOf(answer);
      if (kind === "trace") {
        // A second request would write the trace twice.
        const name = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1];
        saveBlob(await answer.blob(), name ?? this.fileName("tar"));
      } else {
        controller.abort();
        save(place, "");
      }
      this.status.textContent = "";
    } catch (error) {
      this.status.textContent = messageOf(error);
    }
  }

  private fileName(extension: string): string {
    const title = (this.state.trace?.title ?? "trace").replaceAll(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 60);
    return `${title}-${this.state.absolute(this.state.view.begin)}.${extension}`;
  }

  /** Picture of ruler, names and tracks as currently visible. */
  picture(): SVGElement {
    const scene = this.timeline.scene();
    const painter = new SvgPainter(NAMES + scene.width, RULER + scene.height);
    const { theme } = scene;
    painter.rect(0, 0, NAMES + scene.width, RULER + scene.height, theme.background);
    const outer = painter.root;
    const at = (x: number, y: number, paint: (inner: SvgPainter) => void, width: number, height: number) => {
      const inner = new SvgPainter(width, height);
      inner.root.setAttribute("x", String(x));
      inner.root.setAttribute("y", String(y));
      paint(inner);
      outer.append(inner.root);
    };
    at(NAMES, 0, (inner) => drawRuler(inner, { state: this.state, theme, width: scene.width, bins: this.timeline.bins, load: this.timeline.load, pointer: null }), scene.width, RULER);
    at(NAMES, RULER, (inner) => drawScene(inner, scene), scene.width, scene.height);
    painter.text(8, 14, this.state.trace?.title ?? "", theme.text, NAMES - 16, true);
    for (const row of scene.rows) {
      const y = RULER + row.y - scene.top;
      if (row.isStuck) painter.rect(0, y, NAMES, row.height, theme.background);
      painter.rect(0, y + row.height - 1, NAMES, 1, theme.grid);
      const indent = 8 + Math.min(row.depth, 6) * 10;
      painter.text(indent, y + 13, row.track.name, theme.text, NAMES - indent - 6);
    }
    return outer;
  }

  private svg(): void {
    const text = new XMLSerializer().serializeToString(this.picture());
    saveBlob(new Blob([text], { type: "image/svg+xml" }), this.fileName("svg"));
  }

  private async png(): Promise<void> {
    const picture = this.picture();
    const text = new XMLSerializer().serializeToString(picture);
    const place = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    try {
      const image = new Image();
      image.src = place;
      await image.decode();
      const ratio = Math.max(devicePixelRatio, 1);
      const canvas = el("canvas", { width: Math.round(image.width * ratio), height: Math.round(image.height * ratio) });
      canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => blob && saveBlob(blob, this.fileName("png")), "image/png");
    } finally {
      URL.revokeObjectURL(place);
    }
  }
}

function saveBlob(blob: Blob, name: string): void {
  const place = URL.createObjectURL(blob);
  save(place, name);
  setTimeout(() => URL.revokeObjectURL(place), 10_000);
}

function save(place: string, name: string): void {
  const link = el("a", { href: place, download: name });
  link.hidden = true;
  document.body.append(link);
  link.click();
  link.remove();
}
