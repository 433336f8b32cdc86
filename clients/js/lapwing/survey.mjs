// The survey: the agreed document, read strictly, with its guarantee proved before anything is
// asked.

import {
  canonical,
  demand,
  isPrintable,
  isWhole,
  parse,
  requireKeys,
  requireWholeSpelling,
} from "./documents.mjs";
import { buildDomain, requireFew } from "./domains.mjs";
import {
  ArgumentError,
  FormatError,
  PrivacyError,
  ReportError,
  UnsupportedError,
} from "./errors.mjs";
import { Odds, amount, epsilonIn } from "./exact.mjs";
import { comparedLabel, requireRules } from "./labels.mjs";
import { ELSEWHERE, HASHING, RANDOMIZERS } from "./registry.mjs";
import { hexadecimal, sha256OfText } from "./sha256.mjs";
import { GivenWords, SecureWords } from "./words.mjs";

/** Bytes of a document that a device reads. */
export const LARGEST_SURVEY = 2 ** 20;

/** What a survey says to the people it asks. It has a fingerprint of its own. */
const NOTICE = ["question", "purpose", "owner", "contact", "measured_in"];
const LONGEST_NOTICE = 1000;
const LONGEST_UNIT = 20;

/** Used up one by one by all surveys. */
const secure = new SecureWords();

/** An agreed document whose fingerprint, sizes and guarantee have been checked. */
export class Survey {
  #randomizer;

  /** Use `readSurvey`. */
  constructor(document, domain, randomizer, epsilon) {
    this.document = deepFrozen(document);
    this.name = document.name;
    this.fingerprint = document.fingerprint;
    this.epsilon = epsilon;
    this.segments = document.segments ?? [];
    this.remembered = document.answers === "remembered";
    this.notice = document.notice ?? deepFrozen({});
    for (const name of NOTICE) this[name] = this.notice[name] ?? null;
    this.textFingerprint = textFingerprint(this.notice);
    this.domain = domain;
    this.#randomizer = randomizer;
    Object.freeze(this);
  }

  /** Bytes of a report. */
  get reportWidth() {
    return this.#randomizer.width;
  }

  /** Number of inputs: the domain's symbols, or the points of a finer grid. */
  get inputs() {
    return this.#randomizer.input.size;
  }

  /** Return the input of a value: its symbol, or its point of a finer grid; DomainError if none. */
  inputOf(value) {
    return this.#randomizer.input.index(value);
  }

  /** Return a report of a value, made with secure random words. */
  randomize(value) {
    const report = new Uint8Array(this.#randomizer.width);
    this.#randomizer.made.write(this.inputOf(value), secure, report, 0);
    secure.wipe();
    return report;
  }

  /** Return the reports of many values, one after the other; for simulations and tests. */
  randomizeAll(values) {
    const { made, input, width } = this.#randomizer;
    const inputs = Array.from(values, (value) => input.index(value));
    const reports = new Uint8Array(width * inputs.length);
    inputs.forEach((one, i) => made.write(one, secure, reports, width * i));
    secure.wipe();
    return reports;
  }

  /** Return the report that these 64-bit words make of an input: what test vectors pin. */
  fromWords(input, words) {
    if (!isWhole(input, 0, this.inputs - 1)) {
      throw new ArgumentError(`an input must be a whole number in 0..${this.inputs - 1}`);
    }
    const report = new Uint8Array(this.#randomizer.width);
    this.#randomizer.made.write(input, new GivenWords(words), report, 0);
    return report;
  }

  /** Refuse a report that no device could have sent: ReportError. */
  checkReport(report) {
    if (!(report instanceof Uint8Array) || report.length !== this.reportWidth) {
      throw new ReportError(`a report must have ${this.reportWidth} bytes`);
    }
    this.#randomizer.made.check(report, 0);
  }

  /** Return the number of a segment in batches: 0 for "other" and for one that is not declared. */
  segmentNumber(label) {
    const number = this.segments.map(comparedLabel).indexOf(comparedLabel(label)) + 1;
    if (number === 0 && typeof label === "string" && label !== "other") {
      const listed = this.segments.slice(0, 20).map((each) => JSON.stringify(each));
      console.warn(
        'Lapwing: the survey does not have this segment, so the report counts as "other". Its ' +
          `segments: ${listed.join(", ") || "none"}. Pass "other" where that is meant`,
      );
    }
    return number;
  }
}

/**
 * Return the survey in a JSON text.
 *
 * It is refused unless it is strict JSON of exactly the known keys in the one spelling, its
 * fingerprint is that of its content, its sizes and thresholds follow from its fields, and its
 * thresholds are *proved* to keep the stated epsilon.
 */
export function readSurvey(text, { fingerprint, epsilonCap } = {}) {
  requireSmall(text);
  const document = parse(text);
  const keys = ["format", "version", "name", "randomizer", "derived", "fingerprint"];
  const optional = ["answers", "segments", "segment_minimum", "notice", "asks"];
  requireKeys(document, keys, optional, "a survey");
  demand(document.format === "lapwing-survey", "this must be a lapwing-survey document");
  demand(document.version === 1, "only surveys of version 1 can be read. Use a newer client");
  demand(isPrintable(document.name), "the name must be a string of 1 to 200 printable characters");
  requireSegments(document);
  requireNotice(document);
  requireQuestions(document);
  requireFingerprint(document, fingerprint);
  const { randomizer: asked, derived } = document;
  demand(isObject(asked), "the randomizer must be a JSON object");
  const epsilon = epsilonIn(asked.epsilon);
  if (epsilonCap !== undefined && !epsilon.isAtMost(amount(epsilonCap, "epsilonCap"))) {
    throw new PrivacyError(
      `a survey may ask for an epsilon of at most ${epsilonCap}, but this one asks for ${epsilon}`,
    );
  }
  demand(typeof asked.class === "string", "the randomizer must name a class");
  const build = RANDOMIZERS[asked.class];
  if (!build) throw unsupported(asked.class);
  requireWholeSpelling(document, isFloat);
  const domain = buildDomain(asked.domain);
  demand(domain.size >= 2, "a randomizer needs a domain of at least 2 symbols");
  const plain = domain.ordered && (domain.document.unit ?? "number") === "number";
  const { measured_in: measure } = document.notice ?? {};
  demand(measure === undefined || plain, "measured_in applies only to plain numbers");
  if (!HASHING.includes(asked.class)) requireFew(domain.size);
  if (isWhole(asked.grid, 1, Infinity)) requireFew(asked.grid);
  demand(isObject(derived), "derived must be a JSON object");
  const { made, input = domain } = build({ asked, derived, domain, odds: new Odds(epsilon) });
  return new Survey(document, domain, { made, input, width: made.width }, epsilon.toString());
}

/** Return whether a place of a survey holds any number, so that it may be written as 1.0. */
function isFloat(holder, key, path) {
  const [first, second] = path;
  if (first === "derived") return true;
  if (first !== "randomizer") return false;
  // An axis of a pair is a domain of its own, at randomizer.domain.axes[i].domain.
  const third = path[2] === "axes" ? path[5] : path[2];
  if (second === "domain") {
    const ends = third === undefined && ["low", "high"].includes(key);
    return ends ? holder.class === "interval" : ["atoms", "edges"].includes(third);
  }
  if (second === "components") return path.length < 4 && key !== "0"; // first bins are whole
  return second === undefined && ["width", "share"].includes(key);
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function requireFingerprint(document, wanted) {
  const { fingerprint, notice: _, asks: __, ...agreed } = document;
  demand(
    fingerprint === hexadecimal(sha256OfText(canonical(agreed))),
    "the survey's fingerprint does not match its content. The document was changed",
  );
  demand(
    wanted === undefined || wanted === fingerprint,
    `survey ${String(wanted).slice(0, 12)} was requested, but this is ${fingerprint.slice(0, 12)}`,
  );
}

function requireNotice(document) {
  if (!Object.hasOwn(document, "notice")) return;
  requireKeys(document.notice, [], NOTICE, "the notice of a survey");
  const texts = Object.entries(document.notice);
  demand(texts.length > 0, "the notice of a survey must contain text, or be absent");
  for (const [name, text] of texts) {
    const most = name === "measured_in" ? LONGEST_UNIT : LONGEST_NOTICE;
    demand(
      isPrintable(text, most) && text.trim() !== "",
      `${name} must be 1 to ${most} printable characters on one line`,
    );
  }
}

/** The questions change no report, so a device does not read them. */
function requireQuestions(document) {
  if (!Object.hasOwn(document, "asks")) return;
  const { asks } = document;
  const kinds = ["share", "histogram", "mean", "quantile", "curve"];
  demand(
    Array.isArray(asks) && asks.length > 0 && asks.every((one) => kinds.includes(one?.question)),
    "the questions of a survey must be a list, or be absent",
  );
}

/** Return the fingerprint of a notice. The key before it separates it from other fingerprints. */
export function textFingerprint(notice) {
  return hexadecimal(sha256OfText(canonical({ notice })));
}

function requireSegments(document) {
  const { answers, segments, segment_minimum: minimum } = document;
  const has = (key) => Object.hasOwn(document, key);
  demand(!has("answers") || answers === "remembered", 'answers must be "remembered", or absent');
  demand(has("segments") === has("segment_minimum"), "segments and segment_minimum go together");
  if (!has("segments")) return;
  const labels = Array.isArray(segments) ? segments : [];
  const legal = (label) =>
    typeof label === "string" && isWhole([...label].length, 1, 200) && label !== "other";
  demand(
    labels.every(legal) &&
      isWhole(labels.length, 1, 1000) &&
      new Set(labels.map(comparedLabel)).size === labels.length,
    'segments must be 1 to 1000 different labels of 1 to 200 characters, none of them "other"',
  );
  requireRules(labels, "every segment");
  demand(isWhole(minimum, 1, 10 ** 12), "segment_minimum must be in 1..10^12");
}

function requireSmall(text) {
  if (typeof text !== "string" || 3 * text.length <= LARGEST_SURVEY) return;
  if (new TextEncoder().encode(text).length > LARGEST_SURVEY) {
    throw new UnsupportedError(`a device reads surveys of at most ${LARGEST_SURVEY} bytes`);
  }
}

function unsupported(name) {
  if (!ELSEWHERE.includes(name)) {
    return new FormatError("the randomizer must name a class that lapwing has");
  }
  const has = Object.keys(RANDOMIZERS).join(", ");
  return new UnsupportedError(
    `this client has no ${name}. It has ${has}. Publish the survey with one of these, or answer ` +
      "it with the Python client",
  );
}

function deepFrozen(value) {
  if (value !== null && typeof value === "object") Object.values(value).forEach(deepFrozen);
  return Object.freeze(value);
}
