import type { Question, Row, WallState } from "./classtypes";
import { num, t } from "./text";
import type { WallLab } from "./walltypes";

/** Something to say or do next, with the press that does it. */
export interface Say {
  text: string;
  act?: "show" | "decide" | "ask" | "code" | "send";
  /** Of the run that is worth showing. */
  session?: string;
  name?: string;
}

const manyHands = 3;
const most = 2;

/** What the state of the class suggests, the most pressing first. It is read from the rows and answers alone. */
export function sayNext(w: WallState, lab: WallLab | undefined, q: Question | undefined, nameOf: (r: Row) => string): Say[] {
  const rows = w.rows ?? [];
  const here = rows.filter((r) => r.online);
  const say: Say[] = [];
  if (w.live.state !== "open") return say;
  if (here.length === 0) return [{ text: t("say.nobody"), act: "code" }];
  const hands = rows.filter((r) => r.handFor).length;
  if (hands >= manyHands) say.push({ text: t("say.hands", { n: num(hands) }) });
  if (q) say.push(...ofQuestion(w, q, here.length));
  say.push(...ofLab(w, lab, here, nameOf));
  return say.slice(0, most);
}

function ofQuestion(w: WallState, q: Question, here: number): Say[] {
  const counts = q.counts ?? [];
  const given = counts.reduce((a, b) => a + b, 0);
  if (!q.ended) {
    // Those who left do not keep the others waiting.
    const n = { n: num(given), of: num(q.of ?? given) };
    if (given < 0.8 * here) return [{ text: t("say.wait", n) }];
    return [q.lab ? { text: t("say.decide", n), act: "decide" } : { text: t("say.close", n) }];
  }
  // What was asked last is talked about while its run is shown; then the lab goes on.
  if (w.live.question?.id !== q.id || !w.live.spotlight) return [];
  const [a, b] = counts.map((n, i) => [n, q.choices[i] ?? ""] as const).sort((x, y) => y[0] - x[0]);
  return a && b && b[0] > 0 ? [{ text: t("say.split", { a: a[1], n: num(a[0]), b: b[1], m: num(b[0]) }) }] : [];
}

function ofLab(w: WallState, lab: WallLab | undefined, here: Row[], nameOf: (r: Row) => string): Say[] {
  const of = lab ? here.filter((r) => r.lab === lab.id) : [];
  if (!lab || of.length === 0) return w.live.lab ? [] : [{ text: t("say.nolab"), act: "send" }];
  const predicting = of.filter((r) => r.step === "predict").length;
  if (2 * predicting >= of.length) return [{ text: t("say.predict", { n: num(predicting), of: num(of.length) }) }];
  const begun = of.filter((r) => r.mini);
  if (lab.claims.length === 0 || begun.length === 0) return [];
  const shown = lab.claims.map((_, i) => of.filter((r) => r.claims?.[i] === "shown"));
  // The claim that most miss although some have come to it; before anybody has, the first one.
  const began = shown.map((s, i) => [i, s.length] as const).filter(([, n]) => n > 0 && n < of.length);
  const [at] = began.sort((x, y) => x[1] - y[1])[0] ?? [shown.findIndex((s) => s.length === 0)];
  if (at < 0) return [{ text: t("say.all", { lab: lab.title }), act: "ask" }];
  const claim = lab.claims[at]?.text ?? "";
  const has = shown[at] ?? [];
  const best = has.find((r) => r.here && r.session);
  if (!best) return [{ text: has.length > 0 ? t("say.missed.own", { claim, n: num(has.length), of: num(of.length) }) : t("say.none", { claim }) }];
  const text = t("say.missed", { claim, n: num(has.length), of: num(of.length) });
  return w.live.spotlight === best.session ? [{ text: t("say.shown", { claim }) }] : [{ text, act: "show", session: best.session ?? "", name: nameOf(best) }];
}
