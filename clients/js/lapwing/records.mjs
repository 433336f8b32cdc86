// What a device stores about an answer: when it is sent, and how it ended.

import { ArgumentError, LapwingError, MismatchError } from "./errors.mjs";

export const SECOND = 1000;
export const DAY = 86_400 * SECOND;
export const LONGEST_WAIT = 6 * 3600 * SECOND;
const LATEST = LONGEST_WAIT + 2 * DAY; // by which every report is due again

/** Return the fingerprint of a survey, or of its own text. */
export const fingerprintOf = (survey) => survey?.fingerprint ?? String(survey);

/** Whether a record belongs to the survey and the epoch that are named, if any. */
export const isOf = (record, survey, epoch) =>
  (survey === undefined || record.survey === fingerprintOf(survey)) &&
  (epoch === undefined || record.epoch === epoch);

/** Return a record after its end: without its bytes. What it cost stays. */
export function ended(record, state, problem) {
  return { ...record, state, problem, body: null, token: null };
}

/**
 * Return the change that stores an upload token, where one is given, with an answer that waits; one
 * that is stored needs none. An answer that was turned away for want of a token is due at once.
 */
export function withToken(record, token) {
  if (token === undefined || token === null || record.state === "stored") return { result: record };
  if (record.state !== "waiting") {
    throw new ArgumentError(
      `nothing waits in epoch ${record.epoch}: its report is ${record.state}, so no upload token ` +
        "can be stored with it. Keep the token for another epoch",
    );
  }
  const lacked = record.problem?.startsWith("upload-token-");
  const result = { ...record, token, due: lacked ? Date.now() : record.due };
  return { put: [result], result };
}

/** Return records with a last day from now, where they have none or the clock was set back. */
export function agedIn(records, lasting) {
  const last = Date.now() + lasting;
  return [...records.values()]
    .filter(({ state, expires }) => state === "waiting" && !(expires <= last))
    .map((record) => ({ ...record, expires: last }));
}

/**
 * Whether an answer has waited long enough, by the device's clock and by that of the collector
 * that answers at a date. By the latter, all of the wait lies between the first answer and this
 * one. So a device whose clock is wrong, now or when the answer was made, gives up none that was
 * not put off for so long.
 */
export const isOver = ({ expires, heard: first }, date, lasting) =>
  expires <= Date.now() && date - first >= lasting;

/** Return a record that knows the first answer of a collector, by its clock. */
export function heard(record, date) {
  if (Number.isNaN(date)) return record;
  // The least of all: a collector's clock may have been ahead before.
  return { ...record, heard: Math.min(record.heard ?? date, date) };
}

/** Return the error for a storage that failed. */
export function storageError(error) {
  const full = error?.name === "QuotaExceededError" || error?.code === "ENOSPC";
  return new LapwingError(
    full
      ? "the storage of this device is full, so nothing was kept or spent. Free some space"
      : "the storage of this device failed, so nothing was kept or spent",
    { cause: error },
  );
}

/** Whether an answer waits for a collector. */
export const waitsFor = ({ state, collector }, address) =>
  state === "waiting" && (collector === null || collector === address);

/** Return an answer that is sent to its own collector alone, with that as its problem. */
export const awaited = (record) => ({
  ...record,
  problem: `waits for another collector: ${record.collector}`,
});

/** Whether it is time; a clock that was set back must not put a report off for years. */
export function isDue({ due }) {
  const now = Date.now();
  return due <= now || due > now + LATEST;
}

/** Refuse an epoch that a collector listed as ended or with another text, or did not list. */
export function requireOpen(epochs, survey, epoch) {
  const again = "Nothing was spent. List the epochs again with device.epochs";
  const own = survey.textFingerprint;
  const { state, text = own } = epochs.find(({ name }) => name === epoch) ?? {};
  if (state === undefined) {
    throw new ArgumentError(`the collector listed no epoch "${epoch}" of this survey. ${again}`);
  }
  if (state === "grace" || state === "closed") {
    throw new ArgumentError(`epoch ${epoch} of this survey takes no new answers. ${again}`);
  }
  if (text !== null && text !== own) {
    throw new MismatchError(
      `epoch ${epoch} asks a different text from this copy. Fetch the survey and show the ` +
        "person its text. Nothing was spent",
    );
  }
}

/** Refuse a question that the memoized report does not answer, whatever the person agreed to. */
export function requireSameQuestion(records, survey) {
  const given = [...records.values()].find((one) => one.batch && one.survey === survey.fingerprint);
  // An answer of an older version keeps no notice.
  const { question, measured_in: measure } = given?.notice ?? survey.notice;
  if (question === survey.notice.question && measure === survey.notice.measured_in) return;
  throw new MismatchError(
    "the memoized report of this survey answers a different question or unit, and would be " +
      "sent again. Nothing was answered. Ask a new question in a new survey",
  );
}
