// Filter field. Checks the expression while it is typed, offers completions and marks errors.

import { ApiError, isAborted, Latest, messageOf, type Check, type Completion } from "./api";
import { byId, debounce, el } from "./dom";
import type { State } from "./state";

const PAUSE = 150;
const MOST = 100;

export class FilterField {
  private readonly input = byId<HTMLInputElement>("filter");
  private readonly list = byId("filter-list");
  private readonly error = byId("filter-error");
  private readonly field = byId("filter-field");
  private readonly checks = new Latest();
  /** Checks of expressions that are applied if they are valid. */
  private readonly applied = new Latest();
  private readonly completions = new Latest();
  private items: Completion[] = [];
  private from = 0;
  /** Text that was entered, until it is edited. */
  private entered: string | null = null;
  private at = -1;

  /** True after a first Escape in a filter that applies. No answer replaces the question. */
  private isAsked = false;

  constructor(private readonly state: State) {
    state.on(["filter"], () => this.field.classList.toggle("active", state.filter !== ""));
    const later = debounce(PAUSE, () => {
      // A filter that was entered meanwhile is checked already, and needs no completions.
      if (this.isAsked || this.input.value.trim() === this.entered) return;
      void this.check(this.checks);
      if (this.input.value.trim() !== this.state.filter) void this.complete();
    });
    this.input.addEventListener("input", () => {
      this.unask();
      this.entered = null;
      later();
    });
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.input.addEventListener("blur", () => {
      this.unask();
      this.close();
    });
    this.input.addEventListener("focus", () => this.field.classList.contains("bad") && (this.error.hidden = false));
    this.input.addEventListener("change", () => void this.apply());
    this.list.addEventListener("pointerdown", (event) => {
      const index = (event.target as HTMLElement).closest<HTMLElement>("[data-index]")?.dataset.index;
      event.preventDefault();
      if (index !== undefined) this.accept(Number(index));
    });
  }

  /** Shows the filter that applies. A filter that was entered before is given up. */
  restore(): void {
    for (const latest of [this.applied, this.checks, this.completions]) latest.abort();
    this.unask();
    this.input.value = this.state.filter;
    this.entered = this.state.filter;
    this.show(this.state.filter, null);
  }

  /** Tells the user that the next Escape deletes the filter. */
  private ask(): void {
    this.checks.abort();
    this.isAsked = true;
    this.error.hidden = false;
    this.error.replaceChildren(el("div", {}, "Escape again deletes the filter."));
  }

  /** Takes the question back. */
  private unask(): void {
    if (!this.isAsked) return;
    this.isAsked = false;
    this.error.hidden = true;
    this.error.replaceChildren();
  }

  clear(): void {
    this.unask();
    this.input.value = "";
    void this.apply();
  }

  private key(event: KeyboardEvent): void {
    const isOpen = !this.list.hidden;
    if (event.key !== "Escape") this.unask();
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!isOpen) void this.complete();
      else this.mark((this.at + (event.key === "ArrowDown" ? 1 : -1) + this.items.length) % this.items.length);
    } else if (event.key === "Enter" || (event.key === "Tab" && isOpen && this.at >= 0)) {
      if (isOpen && this.at >= 0) this.accept(this.at);
      else void this.apply();
    } else if (event.key === "Escape") {
      if (isOpen) this.close();
      else if (this.input.value.trim() !== this.state.filter) this.restore();
      else if (this.input.value && !this.isAsked) this.ask();
      else if (this.input.value) this.clear();
      else this.input.blur();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private async apply(): Promise<void> {
    this.close();
    this.checks.abort();
    const text = (this.entered = this.input.value.trim());
    if (await this.check(this.applied)) this.state.setFilter(text);
  }

  /** Checks the expression, and shows an error at its position. False if it is wrong, or if another check replaced this one. */
  private async check(latest: Latest): Promise<boolean> {
    const text = this.input.value.trim();
    latest.abort();
    let warnings: Check["warnings"] = [];
    let error: unknown = null;
    try {
      if (text) warnings = (await latest.get<Check>("check", { filter: text })).warnings;
    } catch (failed) {
      if (isAborted(failed)) return false;
      error = failed;
    }
    // The text was edited meanwhile, or the field asks a question.
    if (text === this.input.value.trim() && !this.isAsked) this.show(text, error, warnings);
    return error === null;
  }

  /** Shows the result of a check. */
  private show(text: string, error: unknown, warnings: Check["warnings"] = []): void {
    const isBad = error !== null;
    const lines = isBad ? errorLines(text, error) : warnings.slice(0, 5).flatMap(({ text: warning, help }) => [el("div", {}, warning), helpLine(help)]);
    this.field.classList.toggle("bad", isBad);
    this.input.setAttribute("aria-invalid", String(isBad));
    this.error.replaceChildren(...lines.flatMap((line) => line ?? []));
    this.error.hidden = !lines.length || document.activeElement !== this.input || !this.list.hidden;
  }

  private async complete(): Promise<void> {
    const text = this.input.value;
    const place = new TextEncoder().encode(text.slice(0, this.input.selectionStart ?? text.length)).length;
    try {
      const answer = await this.completions.get<{ from: number; items: Completion[] }>("completions", { filter: text, at: place });
      if (document.activeElement !== this.input) return;
      this.from = answer.from;
      this.items = answer.items.slice(0, MOST);
      this.open();
    } catch (error) {
      if (!isAborted(error)) this.close();
    }
  }

  private open(): void {
    this.at = -1;
    const options = this.items.map((item, i) =>
      el("div", { class: "option", role: "option", id: `option-${i}`, "data-index": i, "aria-selected": "false" }, el("bdi", {}, item.text), el("span", {}, item.kind)),
    );
    this.list.replaceChildren(...options);
    this.list.hidden = !options.length;
    // Completions cover the error, which returns when they close.
    if (options.length) this.error.hidden = true;
    this.input.setAttribute("aria-expanded", String(!!options.length));
    this.input.removeAttribute("aria-activedescendant");
  }

  private close(): void {
    this.completions.abort();
    this.list.hidden = true;
    this.at = -1;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
    this.error.hidden = !this.error.childElementCount || document.activeElement !== this.input;
  }

  private mark(index: number): void {
    this.at = index;
    [...this.list.children].forEach((option, i) => {
      option.setAttribute("aria-selected", String(i === index));
      if (i === index) option.scrollIntoView({ block: "nearest" });
    });
    this.input.setAttribute("aria-activedescendant", `option-${index}`);
  }

  private accept(index: number): void {
    const item = this.items[index];
    if (!item) return;
    const text = this.input.value;
    const begin = characters(text, this.from);
    const end = this.input.selectionStart ?? text.length;
    this.input.setRangeText(`${item.text} `, Math.min(begin, end), end, "end");
    this.close();
    void this.check(this.checks);
    this.input.focus();
  }
}

/** Message about a wrong expression, its place, and a suggested correction. */
function errorLines(text: string, error: unknown): (HTMLElement | null)[] {
  const message = el("div", { class: "error" }, messageOf(error));
  if (!(error instanceof ApiError)) return [message];
  return [message, error.at === null ? null : placeOf(text, error.at, error.length ?? 1), helpLine(error.help)];
}

/** Suggested correction, as the command words it. */
function helpLine(text: string | null | undefined): HTMLElement | null {
  return text ? el("div", { class: "help" }, `help: ${text}`) : null;
}

/** Expression with the error marked. Server offsets count UTF-8 bytes. */
function placeOf(text: string, at: number, length: number): HTMLElement {
  const begin = Math.min(characters(text, at), text.length);
  const end = Math.max(characters(text, at + length), begin);
  const marked = text.slice(begin, end) || "␣";
  return el("pre", {}, text.slice(0, begin), el("mark", {}, marked), text.slice(end));
}

/** Number of UTF-16 units in the first `bytes` UTF-8 bytes of a text. */
function characters(text: string, bytes: number): number {
  const encoded = new TextEncoder().encode(text).slice(0, bytes);
  return new TextDecoder().decode(encoded).replace(/\ufffd$/, "").length;
}
