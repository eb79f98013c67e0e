import { h, prop } from "./dom";
import { num, t } from "./text";

/** Answers by choice, as bars with their counts; the learner's own has a word. A full bar is of, or the most. */
export function bars(choices: string[], counts: number[], mine?: number, of = 0): HTMLElement {
  const most = Math.max(1, of, ...counts);
  const list = h("ul", { class: "cbars" });
  choices.forEach((c, i) => {
    const n = counts[i] ?? 0;
    const bar = h("i", { "aria-hidden": "true", class: n === 0 ? "z" : n === Math.max(...counts) ? "m" : "" });
    prop(bar, "--w", `${(100 * n) / most}%`);
    list.append(h("li", {}, h("span", {}, i === mine ? t("class.q.yours", { choice: c }) : c), bar, h("b", {}, num(n))));
  });
  return list;
}
