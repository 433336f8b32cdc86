// Types of lapwing.mjs.

/** A value: a number for numbers (or a Date or ISO string for dates and times), else a label. */
export type SingleValue = number | string | bigint | Date | null | undefined;

/** For a pair of attributes, both values: in order, or by the names of the axes. */
export type Value = SingleValue | readonly [SingleValue, SingleValue] | { readonly [axis: string]: SingleValue };

export interface ReadOptions {
  /** The fingerprint that the survey must have. */
  fingerprint?: string;
  /** The largest epsilon that is accepted: a number, or a string such as "0.5" or "1/3". */
  epsilonCap?: number | string;
}

/** Return the survey in a JSON string, or throw FormatError, PrivacyError or UnsupportedError. */
export function readSurvey(text: string, options?: ReadOptions): Survey;

/** Plain text that a survey shows to the people it asks. It has its own fingerprint. */
export interface Notice {
  readonly question?: string;
  /** Purpose of the answers. */
  readonly purpose?: string;
  /** Name of the organization or person that asks. */
  readonly owner?: string;
  /** Contact for questions. */
  readonly contact?: string;
  /** Unit of measurement of plain numbers, such as "ms". */
  readonly measured_in?: string;
}

/** An agreed document whose fingerprint, sizes and guarantee were checked. readSurvey makes it. */
export class Survey {
  private constructor();
  readonly document: Readonly<Record<string, unknown>>;
  readonly name: string;
  /** 64 hexadecimal digits. */
  readonly fingerprint: string;
  /** Epsilon of one report, as the document writes it. */
  readonly epsilon: string;
  /** Labels that may be sent with a report, without protection. */
  readonly segments: readonly string[];
  /** Whether a device sends its first report again in all epochs (memoized reports). */
  readonly remembered: boolean;
  readonly notice: Notice;
  readonly question: string | null;
  readonly purpose: string | null;
  readonly owner: string | null;
  readonly contact: string | null;
  readonly measured_in: string | null;
  /** Fingerprint of the notice: 64 hexadecimal digits. */
  readonly textFingerprint: string;
  /** Bytes of a report. */
  readonly reportWidth: number;
  /** Number of inputs: the domain's symbols, or the points of a finer grid. */
  readonly inputs: number;
  /** Return the input of a value, in 0..inputs-1, or throw DomainError if it has none. */
  inputOf(value: Value): number;
  /** Return a fresh report of a value. Do this once for each epoch, as a Device does. */
  randomize(value: Value): Uint8Array;
  /** Return the reports of many values, one after the other, for simulations and tests. */
  randomizeAll(values: Iterable<Value>): Uint8Array;
  /** Return the report that these 64-bit words make of an input, as the test vectors specify. */
  fromWords(input: number, words: Iterable<bigint | string>): Uint8Array;
  /** Throw ReportError for a report that no device could have sent. */
  checkReport(report: Uint8Array): void;
  /** Return the number of a segment in batches. It is 0 for "other" and for undeclared labels. */
  segmentNumber(label?: string | null): number;
}

/** State of an answer. An answer is "expired" if it waited too long to be sent. */
export type State = "waiting" | "stored" | "refused" | "withdrawn" | "expired";

export interface Answer {
  /** The survey's fingerprint. */
  readonly survey: string;
  /** The survey's name, or null for an answer that an older version made. */
  readonly name: string | null;
  /** Text of the survey at the time of the answer. */
  readonly notice: Notice;
  readonly epoch: string;
  /** Its privacy cost, or "0" if it repeats a memoized report. */
  readonly epsilon: string;
  /** The id of the batch, 32 hexadecimal digits. */
  readonly batch: string;
  /** The bytes to send, while the answer waits. */
  readonly body: Uint8Array | null;
  readonly state: State;
  /** Why the answer was refused or still waits: the collector's reason, "status 404" from another server, or "no answer". */
  readonly problem: string | null;
  /** When the answer may next be sent, in milliseconds of Date.now(). */
  readonly due: number;
  /** Earliest time at which the answer expires, in milliseconds of Date.now(). null for an old answer that has ended. */
  readonly expires: number | null;
}

export interface Ledger {
  readonly spent: string;
  readonly budget: string;
  readonly answers: readonly Answer[];
}

export interface Epoch {
  readonly name: string;
  readonly opens: string | null;
  readonly closes: string | null;
  readonly grace_until: string | null;
  readonly state: "planned" | "open" | "grace" | "closed";
  /** Fingerprint of the text that people are shown in this epoch. */
  readonly text: string;
}

export interface AnswerOptions {
  /** The name of the epoch. `epochs` says which is open. */
  epoch: string;
  /** A label that the survey declares. Any other counts as "other", with a warning in the console. */
  segment?: string | null;
  /**
   * An upload token (lwu_ and 43 characters), if the collector accepts only invited devices. A
   * second call stores the token with the report that is waiting.
   */
  uploadToken?: string;
  /** The fingerprint of the text that the person agreed to, if it is not the remembered one. */
  text?: string;
}

export interface StoredRecord {
  readonly key: string;
  readonly [name: string]: unknown;
}

/** Where a device keeps its records. See storage.mjs for what `change` must guarantee. */
export interface Storage {
  change<Result>(
    update: (records: ReadonlyMap<string, StoredRecord>) => {
      put?: StoredRecord[];
      result: Result;
    },
  ): Promise<Result>;
}

export interface DeviceOptions {
  /** The largest epsilon that a survey may ask for. */
  epsilonCap: number | string;
  /** The total cost allowed for all answers of this device, to all surveys. The first answer fixes it. */
  budget: number | string;
  /** Rule for a value that changed in a survey with memoized reports. Default: "keep". */
  onChange?: "keep" | "refuse";
  /** Days for which a report waits at least, 1..3650, default 60. After that, a collector's next answer ends it. */
  keepDays?: number;
  /** Longest random delay before a report is first sent: 0..86400 seconds, default 0. */
  delaySeconds?: number;
  /** Number of seconds that a collector may take to answer, default 30. */
  timeoutSeconds?: number;
  /** Default: IndexedDB of the page's origin. */
  storage?: Storage;
  fetch?: typeof fetch;
  pause?: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
}

/** A person's device. It stores one fresh, charged answer for each epoch before sending it. */
export class Device {
  constructor(options: DeviceOptions);
  readSurvey(text: string, options?: { fingerprint?: string }): Survey;
  /**
   * Return a collector's survey by its fingerprint, or the stored copy if the collector cannot be
   * reached. Answers to the survey go only to this collector. `text` is the fingerprint of the text
   * that the person agreed to.
   */
  fetch(
    collector: string,
    fingerprint: string,
    options?: { text?: string; signal?: AbortSignal },
  ): Promise<Survey>;
  /** Return the epochs that a collector lists. `answer` then refuses any other name. */
  epochs(
    collector: string,
    survey: Survey,
    options?: { signal?: AbortSignal },
  ): Promise<Epoch[]>;
  answer(survey: Survey, value: Value, options: AnswerOptions): Promise<Answer>;
  /**
   * Send each due answer for a collector once, or only those of one survey or epoch. Answers for
   * another collector are returned last and unsent, and their `problem` names its address.
   */
  send(
    collector: string,
    options?: { survey?: Survey | string; epoch?: string; signal?: AbortSignal },
  ): Promise<Answer[]>;
  /** Send until no answer for a collector is waiting. */
  settle(collector: string, options?: { signal?: AbortSignal }): Promise<void>;
  /** Withdraw all waiting answers, or only those of a survey or epoch, and return them. Their cost stays spent. */
  withdraw(survey?: Survey | string, options?: { epoch?: string }): Promise<Answer[]>;
  ledger(): Promise<Ledger>;
}

/** Storage in the IndexedDB of the page's origin. */
export class BrowserStorage implements Storage {
  constructor(name?: string);
  change<Result>(
    update: (records: ReadonlyMap<string, StoredRecord>) => {
      put?: StoredRecord[];
      result: Result;
    },
  ): Promise<Result>;
}

/** Storage in memory, lost when the program ends. For tests and simulations. */
export class MemoryStorage implements Storage {
  change<Result>(
    update: (records: ReadonlyMap<string, StoredRecord>) => {
      put?: StoredRecord[];
      result: Result;
    },
  ): Promise<Result>;
}

export const MEDIA_TYPE: "application/vnd.lapwing.batch";

/** Reports that are sent, stored and counted together, or not at all. */
export class Batch {
  constructor(fields: { survey: string; segment?: number; records: Uint8Array; reports?: number });
  readonly survey: string;
  readonly segment: number;
  readonly records: Uint8Array;
  readonly reports: number;
  toBytes(): Uint8Array;
  toJson(segments?: readonly string[]): string;
  static fromBytes(bytes: Uint8Array): Batch;
}

export class LapwingError extends Error {}
/** A value that is not in the survey's domain. */
export class DomainError extends LapwingError {}
/** A survey whose numbers violate its guarantee, or whose guarantee is weaker than accepted. */
export class PrivacyError extends LapwingError {}
/** An answer that would cost more than the person allows. Nothing was spent. */
export class BudgetError extends PrivacyError {}
/** A document or a batch that is foreign, damaged, or not in its canonical spelling. */
export class FormatError extends LapwingError {}
/** A report that this survey's randomizer could not have sent. */
export class ReportError extends LapwingError {}
/** A survey that asks for a randomizer that this module lacks. */
export class UnsupportedError extends LapwingError {}
/** Two parts that do not belong together, such as a budget and records made with another budget. */
export class MismatchError extends LapwingError {}
/** An argument out of its legal range. */
export class ArgumentError extends LapwingError {}
