// How far a learner is with a lab, kept in this browser.

export interface Progress {
  step: string;
  done: string[];
  choice?: { text: string; n: number; at: string };
  note?: string;
}

const key = (lab: string): string => `weir.progress.${lab}`;

export function progress(lab: string): Progress {
  try {
    return { step: "predict", done: [], ...(JSON.parse(localStorage.getItem(key(lab)) ?? "{}") as Partial<Progress>) };
  } catch {
    return { step: "predict", done: [] };
  }
}

export function keepProgress(lab: string, p: Progress): void {
  try {
    localStorage.setItem(key(lab), JSON.stringify(p));
  } catch {
    // a browser without storage: the lesson works, it is only not remembered
  }
}
