// Runs the module as the tests ask: a JSON list of [command, argument, ...] on standard input, a
// JSON list of answers on standard output. An error of the module is answered as {error, message};
// any other error ends the program, and with it the test.

import { readFileSync } from "node:fs";

import { Batch, LapwingError, readSurvey } from "../../clients/js/lapwing.mjs";
import { collectorAddress } from "../../clients/js/lapwing/collector.mjs";
import { canonical, parse } from "../../clients/js/lapwing/documents.mjs";
import { buildDomain } from "../../clients/js/lapwing/domains.mjs";
import { Odds, epsilonIn, exponentialBelow } from "../../clients/js/lapwing/exact.mjs";
import { bytesOf, hexadecimal, sha256 } from "../../clients/js/lapwing/sha256.mjs";
import { GivenWords, SecureWords } from "../../clients/js/lapwing/words.mjs";

const SPECIAL = { nan: NaN, infinity: Infinity, "-infinity": -Infinity, undefined };

/** What JSON cannot carry comes as {"$": word} or {"$date": milliseconds}. */
function revived(value) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(revived);
  if ("$date" in value) return new Date(value.$date);
  if ("$whole" in value) return BigInt(value.$whole);
  return "$" in value ? SPECIAL[value.$] : value;
}

/** Collects the words that are taken, so that a test sees whether all were. */
function* taken(words, count) {
  for (const word of words) {
    count.used += 1;
    yield BigInt(word);
  }
}

function attempt(work) {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof LapwingError)) throw error;
    return { error: error.name, message: error.message };
  }
}

const COMMANDS = {
  read: (text, options) => {
    const survey = readSurvey(text, options);
    const { fingerprint, epsilon, reportWidth: width, notice } = survey;
    return { fingerprint, epsilon, width, ...(Object.keys(notice).length ? { notice } : {}) };
  },

  text: (text) => readSurvey(text).textFingerprint,

  /** Of bytes in base64, which are decoded as the answer of a collector is. */
  readBytes: (bytes) => {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    let text;
    try {
      text = decoder.decode(Buffer.from(bytes, "base64"));
    } catch {
      return { error: "FormatError" };
    }
    return readSurvey(text).fingerprint;
  },

  fromWords: (text, cases) => {
    const survey = readSurvey(text);
    return cases.map(([input, words]) => {
      const count = { used: 0 };
      return [hexadecimal(survey.fromWords(input, taken(words, count))), count.used];
    });
  },

  inputs: (text, values) => {
    const survey = readSurvey(text);
    return values.map((value) => attempt(() => survey.inputOf(revived(value))));
  },

  symbols: (document, values) => {
    const domain = buildDomain(document);
    return values.map((value) => attempt(() => domain.index(revived(value))));
  },

  address: (typed) => attempt(() => collectorAddress(typed)),

  domain: (document) => buildDomain(document).size,

  edges: (document) => {
    const domain = buildDomain(document);
    return Array.from({ length: domain.bins + 1 }, (_, i) => domain.edge(i));
  },

  check: (text, report) => readSurvey(text).checkReport(bytesOf(report)) ?? "sound",

  /** How often each report of a value came up, by its hex digits. */
  counts: (text, value, number) => {
    const survey = readSurvey(text);
    const reports = survey.randomizeAll(new Array(number).fill(revived(value)));
    const width = survey.reportWidth;
    const found = new Map();
    for (let at = 0; at < reports.length; at += width) {
      let code = 0; // of at most six bytes, so exact
      for (let i = width - 1; i >= 0; i--) code = code * 256 + reports[at + i];
      found.set(code, (found.get(code) ?? 0) + 1);
    }
    const digits = (code) =>
      hexadecimal(Array.from({ length: width }, (_, i) => Math.floor(code / 256 ** i) % 256));
    return [...found].map(([code, count]) => [digits(code), count]);
  },

  /** The same with `randomize`, one report at a time. */
  single: (text, value, number) => {
    const survey = readSurvey(text);
    return Array.from({ length: number }, () => hexadecimal(survey.randomize(revived(value))));
  },

  parse: (text) => canonical(parse(text)),
  sha256: (digits) => hexadecimal(sha256(bytesOf(digits))),

  below: (cases) =>
    cases.map(([bound, words]) => {
      const count = { used: 0 };
      return [new GivenWords(taken(words, count)).below(bound), count.used];
    }),

  thresholds: (epsilon, sizes) => {
    const odds = new Odds(epsilonIn(epsilon));
    return {
      low: exponentialBelow(odds.epsilon).toString(),
      near: sizes.map(([near, far]) => odds.near(near, far).toString()),
      symmetric: odds.symmetric().map(String),
      asymmetric: odds.asymmetric().map(String),
      members: sizes.map(([near]) => odds.signedMembers(near)),
    };
  },

  batch: (fields, segments) => {
    const batch = new Batch({ ...fields, records: bytesOf(fields.records) });
    return [hexadecimal(batch.toBytes()), batch.toJson(segments)];
  },

  readBatch: (digits) => {
    const { survey, segment, records, reports } = Batch.fromBytes(bytesOf(digits));
    return { survey, segment, records: hexadecimal(records), reports };
  },

  /** Words of a source that counts 1, 2, 3, ...: in order, pooled, and wiped when used. */
  pool: (words) => {
    const calls = [];
    let next = 0;
    const pools = new Set();
    Object.defineProperty(globalThis, "crypto", {
      value: {
        getRandomValues: (array) => {
          calls.push(array.byteLength);
          pools.add(array);
          for (let i = 0; i < array.length; i++) array[i] = next += 1;
        },
      },
    });
    const source = new SecureWords();
    const drawn = Array.from({ length: words }, () => source.wide().toString());
    const left = [...pools].map((pool) => pool.filter((number) => number !== 0).length);
    return { calls, left, drawn };
  },
};

const tasks = JSON.parse(readFileSync(0, "utf8"));
const answers = tasks.map(([command, ...given]) => attempt(() => COMMANDS[command](...given)));
process.stdout.write(JSON.stringify(answers));
