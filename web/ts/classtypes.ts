// The JSON of a class, as web/class_api_types.go has it. Times are RFC 3339 in UTC.

import type { KnobValue } from "./types";

/** Who looks at the page, and the titles that it may have to name. */
export interface Member {
  kind: "learner" | "instructor";
  class: string;
  person?: string;
  /** The page is of the learner's own machine. */
  own?: boolean;
  labs: Record<string, string>;
  exercises: Record<string, string>;
}

export interface ClassPublic {
  id: string;
  name: string;
  zone: string;
  state: "open" | "closed" | "archived";
  scoreboard: boolean;
  mayDrive: boolean;
}

export interface ClassInfo extends ClassPublic {
  code: string;
  join: string[];
  link?: string;
  people: number;
  created: string;
  expires: string;
}

export interface Question {
  id: string;
  text: string;
  choices: string[];
  lab?: string;
  knobs?: Record<string, KnobValue>;
  asked: string;
  ended?: string;
  counts?: number[];
  of?: number;
  mine?: number;
}

export interface Live {
  version: number;
  lab?: string;
  knobs?: Record<string, KnobValue>;
  spotlight?: string;
  spotlightLab?: string;
  frozen?: boolean;
  state: "open" | "closed" | "archived";
  question?: Question;
  hand?: boolean;
  /** The learner's place in the line before a full server, from 1, and whether the job may start now. */
  line?: number;
  turn?: boolean;
  /** What the pages count down to, by the server's clock. */
  until?: string;
  /** The store does not answer: the rest is the last that it gave. */
  trouble?: boolean;
  /** On a learner's own machine: why the class is not heard. */
  away?: "away" | "revoked";
  now: string;
}

/** How a learner stands in the line; at 0 they are not in it. */
export interface InLine {
  place: number;
  turn: boolean;
}

export interface Me {
  kind: "learner" | "instructor";
  class: ClassPublic;
  id?: string;
  name?: string;
  alias?: string;
  hand?: string;
  token?: string;
  link?: string;
  live: Live;
}

export interface Mini {
  state: string;
  timeMs: number;
  recordsPerSecond: number;
  busy: number[] | null;
  pressed: number[] | null;
  checkpointMs?: number;
  durations?: number[];
  bottleneck?: string;
  changes: number;
  held?: boolean;
}

export interface Row {
  id: string;
  name: string;
  alias?: string;
  online: boolean;
  handFor?: number;
  lab?: string;
  step?: string;
  exercise?: string;
  exerciseStatus?: string;
  session?: string;
  here: boolean;
  claims?: string[];
  shown: number;
  of: number;
  stuck: number;
  mini?: Mini;
  /** The engine runs on the learner's own machine: no run of it can be opened here. */
  own?: boolean;
  points: number;
  /** The place in the line before the server, from 1. */
  line?: number;
  /** To the question asked last. */
  answer?: number;
}

export interface WallState {
  live: Live;
  class: ClassInfo;
  rows: Row[];
  steps: Record<"predict" | "run" | "observe" | "explain" | "done", number>;
  server: { sessions: number; limit: number; queue: number; viewers: number };
  trouble?: string;
}

export interface Result {
  id: string;
  person: string;
  name?: string;
  exercise: string;
  status: string;
  points: number;
  maxPoints: number;
  judged: "verified" | "reported";
  /** It waits on the learner's own machine until the class can be reached. */
  waiting?: boolean;
  late: boolean;
  sent: string;
  received: string;
}

/** Who handed in the same code. */
export interface Equal {
  exercise: string;
  people: string[];
}

export interface Person {
  id: string;
  name: string;
  alias?: string;
  joined: string;
  seen: string;
  merged?: string;
  results: Result[] | null;
}

export interface Deadline {
  exercise: string;
  due: string;
  penalty: number;
  extensions?: { person: string; due: string }[];
}

export interface Score {
  alias: string;
  points: number;
  passed: number;
  me?: boolean;
}

export interface Audited {
  at: string;
  who: string;
  what: string;
  about?: string;
}
