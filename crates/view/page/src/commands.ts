// Terminal commands that show the same as a panel.

import { button, el } from "./dom";

/** Command with a copy button. */
export class CommandLine {
  readonly element = el("div", { class: "command" });
  private readonly code = el("code", { tabindex: 0, "aria-label": "Command for the terminal" });
  private readonly copy = button("Copy", () => void this.copyText(), { title: "Copy the command" });

  constructor() {
    this.element.append(this.code, this.copy);
    this.element.hidden = true;
  }

  set(text: string): void {
    this.element.hidden = !text;
    this.code.textContent = text;
    this.code.setAttribute("title", text);
  }

  private async copyText(): Promise<void> {
    const done = await copyToClipboard(this.code.textContent ?? "");
    this.copy.textContent = done ? "Copied" : "Not copied";
    setTimeout(() => (this.copy.textContent = "Copy"), 1500);
  }
}

/** Copies a text; false if the browser does not allow it. */
export async function copyToClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without permission, copy the selection of a text field, as for older browsers.
    const area = el("textarea", { class: "unseen", "aria-label": "Text to copy" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
