import type { KnobInfo } from "./types";

/** What the server hands to the wall. */
export interface WallData {
  labs: WallLab[];
  exercises: { id: string; title: string }[];
}

export interface WallLab {
  id: string;
  number: number;
  title: string;
  claims: { id: string; text: string }[];
  knobs: (KnobInfo & { text: string })[];
}
