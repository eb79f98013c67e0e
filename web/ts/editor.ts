import { $ } from "./dom";

/** A plain text area for Go: line numbers, Tab, and the indentation of the line before. */
export class Editor {
  private readonly area = $<HTMLTextAreaElement>("#core");
  private readonly lines = $("#core-lines");
  private leaving = false;

  constructor(private readonly onChange: (text: string) => void) {
    this.area.addEventListener("input", () => this.changed());
    this.area.addEventListener("scroll", () => (this.lines.scrollTop = this.area.scrollTop));
    this.area.addEventListener("keydown", (e) => this.key(e));
    this.area.addEventListener("blur", () => (this.leaving = false));
    this.number();
  }

  get text(): string {
    return this.area.value;
  }

  set text(text: string) {
    this.area.value = text;
    this.number();
  }

  /** The line in which a function of this name begins, counted from 1; 0 if there is none. */
  lineOf(name: string): number {
    return this.area.value.split("\n").findIndex((l) => new RegExp(`^func (?:\\([^)]*\\) )?${name}\\(`).test(l)) + 1;
  }

  /** Puts the cursor into a line, counted from 1. */
  goTo(line: number): void {
    const before = this.area.value.split("\n").slice(0, line - 1).join("\n").length;
    this.area.focus();
    this.area.setSelectionRange(before + (line > 1 ? 1 : 0), before + (line > 1 ? 1 : 0));
    this.area.scrollTop = Math.max(0, (line - 5) * Number.parseFloat(getComputedStyle(this.area).lineHeight));
    this.area.scrollLeft = 0;
    this.area.scrollIntoView({ block: "nearest" });
  }

  private changed(): void {
    this.number();
    this.onChange(this.area.value);
  }

  private number(): void {
    const n = this.area.value.split("\n").length;
    if (this.lines.childElementCount === 0 || this.lines.dataset["n"] !== String(n)) {
      this.lines.dataset["n"] = String(n);
      this.lines.textContent = Array.from({ length: n }, (_, i) => i + 1).join("\n");
    }
    this.lines.scrollTop = this.area.scrollTop;
  }

  /** Tab would trap who works by keyboard, so Escape gives it back for once. */
  private key(e: KeyboardEvent): void {
    if (e.key === "Escape") {
      this.leaving = true;
      return;
    }
    if (e.key === "Tab" && !this.leaving && !e.ctrlKey && !e.altKey && !e.metaKey) {
      e.preventDefault();
      if (e.shiftKey) this.outdent();
      else this.insert("\t");
    } else if (e.key === "Enter" && !e.isComposing) {
      const at = this.area.selectionStart;
      const line = this.area.value.slice(this.area.value.lastIndexOf("\n", at - 1) + 1, at);
      const indent = /^[\t ]*/.exec(line)?.[0] ?? "";
      e.preventDefault();
      this.insert(`\n${indent}${/[{(:]\s*$/.test(line) ? "\t" : ""}`);
    }
    if (e.key !== "Shift") this.leaving = false;
  }

  private insert(text: string): void {
    this.area.setRangeText(text, this.area.selectionStart, this.area.selectionEnd, "end");
    this.changed();
  }

  private outdent(): void {
    const at = this.area.selectionStart;
    const start = this.area.value.lastIndexOf("\n", at - 1) + 1;
    if (this.area.value[start] !== "\t") return;
    this.area.setRangeText("", start, start + 1, "preserve");
    this.changed();
  }
}
