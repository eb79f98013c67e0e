// The shapes of metric.Snapshot and of what the stream puts beside it. Fields that may be missing are those that a job may
// not have yet.

export interface Times {
  idleTimeMsPerSecond: number;
  busyTimeMsPerSecond: number;
  backPressuredTimeMsPerSecond: number;
  softBackPressuredTimeMsPerSecond: number;
  hardBackPressuredTimeMsPerSecond: number;
}

export interface Rates extends Times {
  numRecordsInPerSecond: number;
  numRecordsOutPerSecond: number;
  numBytesOutPerSecond: number;
  numBuffersOutPerSecond: number;
  numBuffersInLocalPerSecond: number;
  numBuffersInRemotePerSecond: number;
}

export interface Subtask extends Rates {
  index: number;
  taskManager: number;
  keyGroups: [number, number];
  numRecordsIn: number;
  numRecordsOut: number;
  debloatedBufferSize?: number;
  estimatedTimeToConsumeBuffersMs?: number;
  recent: Rates;
  state?: { keys: number; bytes: number; restoredKeys: number; keysOutOfRange: number };
  outPoolUsageMax: number;
  mailboxQueueSize: number;
  mailboxLatencyMs: number;
  accumulated?: { maxSoftBackPressureTimeMs: number; maxHardBackPressureTimeMs: number };
}

export interface Vertex {
  id: string;
  name: string;
  parallelism: number;
  maxParallelism: number;
  role?: string;
  subtasks?: Subtask[];
}

export interface Pool {
  owner: string;
  size: number;
  max: number;
  requested: number;
  overdraftInUse: number;
  available: number;
}

export interface Gate {
  vertex: string;
  subtask: number;
  index: number;
  floatingFree: number;
  floatingTotal: number;
}

export interface End {
  vertex: string;
  subtask: number;
}

export interface Channel {
  from: End;
  to: End;
  kind: "local" | "remote";
  producer: { buffers: number; bytes: number; backlog: number; fill?: number[]; credit: number; blocked?: boolean };
  consumer?: { queued: number; queuedBytes: number; fill?: number[]; exclusiveFree: number; floatingHeld: number; unannouncedCredit: number };
  sentAddCredit: number;
  announcedCredit: number;
  sentBuffers: number;
  sentEvents: number;
  overtaken: number;
}

export interface SubtaskCheckpoint {
  vertex: string;
  subtask: number;
  startDelayMs: number;
  alignmentMs: number;
  syncMs: number;
  asyncMs: number;
  endToEndMs: number;
  processedBytes: number;
  acknowledged: boolean;
}

export interface Checkpoint {
  id: number;
  status: "COMPLETED" | "FAILED" | "IN_PROGRESS";
  type: string;
  triggerMs: number;
  endToEndDurationMs: number;
  stateBytes: number;
  processedBytes: number;
  persistedBytes: number;
  failure?: string;
  subtasks?: SubtaskCheckpoint[];
}

export type KnobValue = number | boolean | string;

export interface KnobChange {
  atMs: number;
  name: string;
  from: KnobValue;
  to: KnobValue;
}

export interface Text {
  en: string;
  zh: string;
}

export interface Evidence {
  id: string;
  state: "shown" | "waiting" | "contradicted";
  reading: Text;
}

/** What the stream carries. */
export interface Picture {
  lab: string;
  session: string;
  state: string;
  timeMs: number;
  knobs: Record<string, KnobValue>;
  failure?: string;
  restarts: number;
  vertices?: Vertex[];
  pools?: Pool[];
  gates?: Gate[];
  channels?: Channel[];
  checkpoints?: Checkpoint[];
  diagnosis?: { bottleneck: string };
  totals: { recordsEmitted: number; recordsProcessed: number; countsByKey?: Record<string, number> };
  evidence?: Evidence[];
  changes?: KnobChange[];
  explain?: Record<string, Text>;
  because?: Text;
  skipped?: number;
}

export interface KnobInfo {
  name: string;
  type: "float" | "int" | "bool" | "enum";
  default: KnobValue;
  min?: number;
  max?: number;
  unit?: string;
  values?: string[];
  takesEffect: "now" | "next checkpoint" | "restart";
  scale?: "linear" | "log";
}

/** What the server hands to a lab page. */
export interface PageData {
  lab: string;
  lang: "en" | "zh";
  session: string;
  step: string;
  panel: string;
  knobs: KnobInfo[];
  values: Record<string, KnobValue>;
  labels: Record<string, string>;
  panels: string[];
  flights?: { columns: string[]; rows: number };
}

/** What was measured while the knobs that a lab compares had certain values. */
export interface Comparison {
  knobs: Record<string, KnobValue>;
  current: boolean;
  seconds: number;
  emittedPerSecond: number;
  recordsPerSecond: number;
  subtaskRecordsPerSecond?: number[];
  buffersPerSecond: number;
  meanBufferBytes: number;
  meanFill: number;
  gain?: number;
  latencyMs?: { p50: number; p95: number; p99: number; max: number };
  latencyBuckets?: { upToMs: number; count: number }[];
  backPressured: number;
  softBackPressured: number;
  hardBackPressured: number;
  outPoolUsageMax: number;
  overdraftMax: number;
  mailboxLatencyMs: number;
  checkpoints: number;
  checkpointMs: number;
  persistedBytes: number;
  processedBytes: number;
  phases: { startDelayMs: number; alignmentMs: number; syncMs: number; asyncMs: number };
  addCreditMessages: number;
  announcedCredits: number;
  sentBuffers: number;
  overtaken: number;
}

export interface KeyLoad {
  vertex: string;
  maxParallelism: number;
  groups: { group: number; subtask: number; records: number; bytes: number; share: number }[];
  leftOut: number;
  subtasks: { subtask: number; groups: number; records: number; bytes: number; share: number }[];
  skew: number;
  hottest: number;
}

export interface ProducerLedger {
  credit: number;
  backlog: number;
}

export interface ConsumerLedger {
  exclusive: number;
  floating: number;
  unannounced: number;
  queued: number;
  backlog: number;
}

/** A decoded frame between two task managers, with the books of both ends. */
export interface Frame {
  number: number;
  kind: string;
  fromProducer: boolean;
  producer: string;
  consumer: string;
  sentMs: number;
  receivedMs: number;
  type?: string;
  isEvent?: boolean;
  seq: number;
  bytes: number;
  backlog: number;
  credit: number;
  producerBefore: ProducerLedger;
  producerAfter: ProducerLedger;
  consumerBefore: ConsumerLedger;
  consumerAfter: ConsumerLedger;
}

export interface Frames {
  timeMs: number;
  channels: { producer: string; consumer: string; kept: number; first: number }[];
  frames: Frame[];
}
