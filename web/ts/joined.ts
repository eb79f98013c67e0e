// What the wall says of learners who run the engine on their own machine.

import { h } from "./dom";
import { t } from "./text";

/** The mark of such a row. It tells why the run cannot be opened. */
export function ownMachine(): HTMLButtonElement {
  const mark = h("button", { type: "button", class: "link own", hidden: true, title: t("wall.own.about"), "aria-label": t("wall.own"), "aria-haspopup": "dialog" }, t("wall.own.short"));
  mark.addEventListener("click", () => {
    const close = h("button", { type: "button", class: "primary" }, t("pointer.done"));
    const dialog = h("dialog", { "aria-label": t("wall.own") }, h("h2", {}, t("wall.own")), h("p", {}, t("wall.own.about")), h("div", { class: "foot" }, close));
    document.body.append(dialog);
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => {
      dialog.remove();
      mark.focus();
    });
    dialog.showModal();
  });
  return mark;
}
