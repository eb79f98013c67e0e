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

/** What is known of event time, in ms of it; a time that is not known is missing. */
export interface EventTime {
  watermark?: number;
  status: "ACTIVE" | "IDLE";
  sent?: number;
  gates?: { index: number; vertex: string; watermark?: number; channels: ChannelWatermark[] }[];
  windows?: {
    watermark?: number;
    records: number;
    fired: number;
    late: number;
    held: number;
    results: number;
    openWindows: number;
    open: { start: number; end: number; keys: number; records: number }[];
    timers: number;
    next: { time: number; key: string; keyGroup: number }[];
  };
}

export interface ChannelWatermark {
  from: End;
  watermark?: number;
  status: "ACTIVE" | "IDLE";
  aligned: boolean;
  holdsBack?: boolean;
}

/** What a subtask tells of its values: copies made for snapshots, time to live, changes in place. */
export interface HeldState {
  droppedExpired?: number;
  droppedInBackground?: number;
  heap?: { copiedByReads: number; copiedByWrites: number; heldEntries: number; heldBytes: number; snapshots: number; version: number };
  ttl?: { live: number; expired: number; oldestReadMs: number; reads: number; begun: number; tooOld: number };
  inPlace?: { tried: number; kept: number };
}

/** One entry of a copy-on-write map; in has the versions of the open snapshots that read it. */
export interface HeapEntry {
  key: string;
  word: number;
  slot: number;
  entryVersion: number;
  valueVersion: number;
  value: string;
  in: number[];
}

/** A copy-on-write map as its task sees it, and the old entries that are kept for snapshots. */
export interface HeapView {
  state: string;
  states: string[];
  keyGroup: number;
  keyGroups: [number, number];
  stopped: boolean;
  entries: number;
  version: number;
  open: number[];
  newWords: number;
  oldWords: number;
  moved: number;
  rehashing: boolean;
  copiesOnRead: boolean;
  live: HeapEntry[];
  old: HeapEntry[];
  leftOut: number;
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
  state?: { keys: number; bytes: number; restoredKeys: number; keysOutOfRange: number; backend?: string; restored?: Restored; lsm?: LSMReading } & HeldState;
  outPoolUsageMax: number;
  mailboxQueueSize: number;
  mailboxLatencyMs: number;
  eventTime?: EventTime;
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
  checkpointedBytes: number;
  path?: string;
  notificationLost?: boolean;
  subtasks?: SubtaskCheckpoint[];
  sharedFiles?: SharedFile[];
}

/** What a checkpoint did with one file of a state backend. */
export interface SharedFile {
  vertex: string;
  subtask: number;
  name: string;
  origin: string;
  file?: string;
  bytes: number;
  state: "uploaded" | "reused" | "inlined";
  firstCheckpoint: number;
}

/** A file of the shared folder that is gone, and why. */
export interface DeletedFile {
  file: string;
  bytes: number;
  checkpoint: number;
  because: "subsumed" | "failed" | "late";
  atMs: number;
  vertex?: string;
  subtask: number;
  name?: string;
  origin?: string;
}

/** Which way the keyed state of a subtask came back; key groups are half open. */
export interface Restored {
  path: string;
  clips?: [number, number][];
  handles: { subtask: number; keyGroups: [number, number]; taken: [number, number]; how: "base" | "ingested" | "copied" | "read"; tables?: number; bytes: number }[];
}

/** The figures of an LSM store. Cache and budget are of the whole task manager. */
export interface LSMReading {
  memtableBytes: number;
  memtableLimitBytes: number;
  memtableWrittenBytes: number;
  levels: { files: number; bytes: number }[];
  flushes: number;
  flushedBytes: number;
  compactions: number;
  compactedInBytes: number;
  compactedOutBytes: number;
  cacheBytes: number;
  cacheHits: number;
  cacheMisses: number;
  budgetBytes: number;
  gets: number;
  puts: number;
  keyBytes: number;
  readBytes: number;
  writeBytes: number;
  prefixBuilt: number;
  states?: { name: string; id: number; kind: string; entries: number; bytes: number }[];
}

/** The bytes under which the LSM store keeps a key in a state. */
export interface KeyLayout {
  key: string;
  hash: number;
  keyGroup: number;
  subtask: number;
  state: string;
  states: string[];
  parts: { name: string; hex: string; bytes: number; meaning: string }[];
  flink: { name: string; hex: string; bytes: number; meaning: string }[];
  range: [string, string];
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
  restoredCheckpointId?: number;
  checkpoints?: Checkpoint[];
  deletedFiles?: DeletedFile[];
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
  /** The tracepoints that the lab's job may hit. */
  points: string[];
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
  stateBytes: number;
  checkpointedBytes: number;
  keyedBytes: number;
  busiest: number;
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
