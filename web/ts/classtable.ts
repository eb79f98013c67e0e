import { h } from "./dom";

/** A table of texts and elements; the first cell of a row is its head. */
export function table(heads: string[], rows: (Node | string)[][], caption = ""): HTMLTableElement {
  const head = h("thead", {}, h("tr", {}, ...heads.map((x) => h("th", { scope: "col" }, x))));
  const body = h("tbody", {}, ...rows.map((r) => h("tr", {}, ...r.map((c, i) => (i === 0 ? h("th", { scope: "row" }, c) : h("td", {}, c))))));
  const e = h("table", { class: "ctab" }, head, body);
  if (caption) e.prepend(h("caption", { class: "vh" }, caption));
  return e;
}
