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
  private readonly completions = new Latest();
  private items: Completion[] = [];
  private from = 0;
  /** Text that is being checked before it is applied. */
  private applied: string | null = null;
  private at = -1;

  /** True after a first Escape in a filter that applies. */
  private isAsked = false;

  constructor(private readonly state: State) {
    state.on(["filter"], () => this.field.classList.toggle("active", state.filter !== ""));
    const later = debounce(PAUSE, () => {
      // Another check would abort the check that Enter waits for.
      if (this.input.value.trim() === this.applied) return;
      void this.check();
      // A filter that was entered meanwhile needs no completions.
      if (this.input.value.trim() !== this.state.filter) void this.complete();
    });
    this.input.addEventListener("input", later);
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.input.addEventListener("blur", () => this.close());
    this.input.addEventListener("focus", () => this.field.classList.contains("bad") && (this.error.hidden = false));
    this.input.addEventListener("change", () => void this.apply());
    this.list.addEventListener("pointerdown", (event) => {
      const index = (event.target as HTMLElement).closest<HTMLElement>("[data-index]")?.dataset.index;
      event.preventDefault();
      if (index !== undefined) this.accept(Number(index));
    });
  }

  restore(): void {
    this.input.value = this.state.filter;
  }

  /** Tells the user that the next Escape deletes the filter. */
  private ask(): void {
    this.isAsked = true;
    this.error.hidden = false;
    this.error.replaceChildren(el("div", {}, "Escape again deletes the filter."));
  }

  clear(): void {
    this.isAsked = false;
    this.input.value = "";
    void this.apply();
  }

  private key(event: KeyboardEvent): void {
    const isOpen = !this.list.hidden;
    if (event.key !== "Escape") this.isAsked = false;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!isOpen) void this.complete();
      else this.mark((this.at + (event.key === "ArrowDown" ? 1 : -1) + this.items.length) % this.items.length);
    } else if (event.key === "Enter" || (event.key === "Tab" && isOpen && this.at >= 0)) {
      if (isOpen && this.at >= 0) this.accept(this.at);
      else void this.apply();
    } else if (event.key === "Escape") {
      if (isOpen) this.close();
      else if (this.input.value.trim() !== this.state.filter) {
        this.completions.abort();
        this.restore();
        void this.check();
      }
      else if (this.input.value && !this.isAsked) this.ask();
      else if (this.input.value) this.clear();
      else this.input.blur();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private async apply(): Promise<void> {
    this.completions.abort();
    this.close();
    this.applied = this.input.value.trim();
    const isRight = await this.check();
    this.applied = null;
    if (isRight) this.state.setFilter(this.input.value.trim());
  }

  /** Checks the expression, and shows an error at its position. */
  private async check(): Promise<boolean> {
    const text = this.input.value.trim();
    this.checks.abort();
    if (!text) return this.showError(null, text);
    try {
      const { warnings = [] } = await this.checks.get<Check>("check", { filter: text });
      const isRight = this.showError(null, text);
      if (warnings.length && document.activeElement === this.input) {
        this.error.hidden = !this.list.hidden;
        this.error.replaceChildren(...warnings.slice(0, 5).flatMap(({ text: warning, help }) => [el("div", {}, warning), helpLine(help)].flatMap((line) => line ?? [])));
      }
      return isRight;
    } catch (error) {
      return isAborted(error) ? false : this.showError(error, text);
    }
  }

  private showError(error: unknown, text: string): boolean {
    const isBad = error !== null;
    this.field.classList.toggle("bad", isBad);
    this.input.setAttribute("aria-invalid", String(isBad));
    this.error.hidden = !isBad || document.activeElement !== this.input;
    if (!isBad) {
      this.error.replaceChildren();
      return true;
    }
    const parts: HTMLElement[] = [el("div", { class: "error" }, messageOf(error))];
    if (error instanceof ApiError && error.at !== null) parts.push(placeOf(text, error.at, error.length ?? 1));
    const help = error instanceof ApiError ? helpLine(error.help) : null;
    if (help) parts.push(help);
    this.error.replaceChildren(...parts);
    return false;
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
    void this.check();
    this.input.focus();
  }
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
