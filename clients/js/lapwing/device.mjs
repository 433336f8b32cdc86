// A person's device: what it has answered, what that has cost, and what still waits to be sent.
//
// One epoch of a survey is one fresh, charged answer. The report is made, charged and kept in one
// transaction before anything is sent; a repeat, a retry and a restart send the very same bytes. So
// no crash and no lost answer can make a device spend twice.

import { Batch } from "./batch.mjs";
import { Collector, collectorAddress } from "./collector.mjs";
import {
  ArgumentError,
  BudgetError,
  LapwingError,
  MismatchError,
  PrivacyError,
} from "./errors.mjs";
import { Rational, amount } from "./exact.mjs";
import {
  DAY,
  LONGEST_WAIT,
  SECOND,
  agedIn,
  awaited,
  ended,
  fingerprintOf,
  heard,
  isDue,
  isOf,
  isOver,
  requireOpen,
  requireSameQuestion,
  storageError,
  waitsFor,
  withToken,
} from "./records.mjs";
import { hexadecimal, hmacOfText } from "./sha256.mjs";
import { BrowserStorage } from "./storage.mjs";
import { readSurvey, textFingerprint } from "./survey.mjs";

const EPOCH = /^[a-z0-9][a-z0-9.-]{0,63}$/;
const FINGERPRINT = /^[0-9a-f]{64}$/;
const UPLOAD_TOKEN = /^lwu_[A-Za-z0-9_-]{43}$/;
const FIRST_WAIT = 10 * SECOND;
const LONGEST_DELAY = 86_400; // of what the person chooses
const LONGEST_PAUSE = 3600 * SECOND; // before the clock is asked again

/** Key under which a device keeps its budget, and the secret of its keyed hashes. */
const BUDGET = "budget";
const SECRET = "secret";

export class Device {
  #storage;
  #onChange;
  #collector;
  #epsilonCap;
  #budget;
  #delay;
  #lasting;
  #pause;
  /** By fingerprint: the epochs that were listed, when, and whether devices are invited. */
  #listed = new Map();

  /**
   * `epsilonCap` is the largest epsilon that a survey may ask for, `budget` what all answers of
   * this device, to all surveys, may cost together: both are the person's to set, so neither has a
   * default. The first answer fixes the budget; a device with another budget is refused afterwards.
   * `onChange` says what becomes of a value that changed in a survey with memoized reports:
   * "keep" sends the first report, "refuse" refuses. `delaySeconds`: a report waits a random part
   * of it before it is first sent. `keepDays`: how long a report waits before it may be given up.
   * `timeoutSeconds`: what a collector may take to answer. `storage`, `fetch` and `pause` replace
   * what the platform has.
   */
  constructor({
    epsilonCap,
    budget,
    onChange = "keep",
    keepDays = 60,
    delaySeconds = 0,
    timeoutSeconds = 30,
    storage,
    fetch,
    pause,
  } = {}) {
    this.#epsilonCap = amount(epsilonCap, "epsilonCap");
    this.#budget = amount(budget, "budget");
    if (!["keep", "refuse"].includes(onChange)) {
      throw new ArgumentError('onChange must be "keep" or "refuse"');
    }
    this.#onChange = onChange;
    if (!(delaySeconds >= 0 && delaySeconds <= LONGEST_DELAY)) {
      throw new ArgumentError("delaySeconds must be in 0..86400");
    }
    this.#delay = delaySeconds * SECOND;
    if (!(keepDays >= 1 && keepDays <= 3650)) {
      throw new ArgumentError("keepDays must be in 1..3650");
    }
    this.#lasting = keepDays * DAY;
    this.#storage = storage ?? new BrowserStorage();
    if (!(timeoutSeconds > 0 && timeoutSeconds <= LONGEST_DELAY)) {
      throw new ArgumentError("timeoutSeconds must be above 0 and at most 86400");
    }
    const asked = fetch ?? ((...request) => globalThis.fetch(...request));
    this.#collector = new Collector(asked, timeoutSeconds);
    this.#pause = pause ?? paused;
  }

  /** Return the survey in a text, as `readSurvey` does, up to this device's largest epsilon. */
  readSurvey(text, { fingerprint } = {}) {
    return readSurvey(text, { fingerprint, epsilonCap: this.#epsilonCap.toString() });
  }

  /**
   * Return a collector's survey by its fingerprint, which says what it must be. Answers to it are
   * sent to this collector only. `text` is the fingerprint of the text that the person agreed to.
   * Without it, a text that the device does not remember is refused. The document is kept, and
   * verified again when the collector cannot be reached or gives something else.
   */
  async fetch(collector, fingerprint, { text: agreed, signal } = {}) {
    if (!FINGERPRINT.test(fingerprint)) {
      throw new ArgumentError("a fingerprint has 64 hex digits");
    }
    const address = collectorAddress(collector);
    const key = fetchedKey({ fingerprint });
    let document;
    let survey;
    try {
      document = await this.#collector.survey(address, fingerprint, signal);
      survey = this.readSurvey(document, { fingerprint });
    } catch (error) {
      document = (await this.#records()).get(key)?.document;
      if (signal?.aborted || document === undefined) throw error;
      survey = this.readSurvey(document, { fingerprint });
    }
    const record = { key, survey: fingerprint, collector: address, document };
    await this.#change((records) => ({ put: [record, agreedText(records, survey, agreed)] }));
    return survey;
  }

  /** Return a collector's list of the epochs of a survey. `answer` then takes no other name. */
  async epochs(collector, survey, { signal } = {}) {
    const { fingerprint } = survey;
    const listed = await this.#collector.epochs(collectorAddress(collector), fingerprint, signal);
    this.#listed.set(fingerprint, { ...listed, at: Date.now() });
    return listed.epochs;
  }

  /**
   * Randomize a value for an epoch, charge it and keep the bytes; they wait to be sent.
   *
   * A second call for an epoch returns the first answer, whatever the value is now. An upload
   * token is then stored with the report that waits, instead of an earlier one. In a survey
   * with memoized reports, the first report is permanent, and later epochs cost nothing.
   * The name of the survey and its notice are kept with the answer, as the person saw them. An
   * epoch that was answered under another notice is refused. So is a notice that the device does
   * not remember, unless `text` is its fingerprint: the person agreed to it.
   * Any error leaves everything as it was.
   */
  async answer(survey, value, { epoch, segment, uploadToken, text } = {}) {
    if (typeof epoch !== "string" || !EPOCH.test(epoch)) {
      throw new ArgumentError("an epoch's name must be 1 to 64 of a-z, 0-9, period and hyphen");
    }
    if (uploadToken !== undefined && uploadToken !== null) requireToken(uploadToken);
    requireModest(survey, this.#epsilonCap);
    const [key, kept] = [`${survey.fingerprint} ${epoch}`, `${survey.fingerprint} *`];
    const record = await this.#change((records) => {
      const given = records.get(key);
      if (given) return withToken(requireSameText(given, survey), uploadToken);
      this.#requireListed(survey, epoch, uploadToken);
      const put = records.has(BUDGET) ? [] : [{ key: BUDGET, budget: this.#budget.toString() }];
      put.push(agreedText(records, survey, text));
      const first = records.get(kept);
      let report = first?.report;
      if (first) {
        requireSameQuestion(records, survey);
        if (this.#onChange === "refuse") requireUnchanged(records, first, survey, value);
      } else {
        survey.domain.requireUnit(value);
        this.#charge(records, survey);
        report = survey.randomize(value);
        if (survey.remembered) {
          const { fingerprint, epsilon } = survey;
          const tag = this.#onChange === "keep" ? null : tagOf(records, put, survey, value);
          put.push({ key: kept, survey: fingerprint, epsilon, report, tag });
        }
      }
      const batch = new Batch({
        survey: survey.fingerprint,
        segment: survey.segmentNumber(segment),
        records: report,
      });
      const made = {
        key,
        survey: survey.fingerprint,
        name: survey.name,
        notice: { ...survey.notice },
        epoch,
        epsilon: survey.remembered ? "0" : survey.epsilon,
        collector: records.get(fetchedKey(survey))?.collector ?? null,
        batch: hexadecimal(globalThis.crypto.getRandomValues(new Uint8Array(16))),
        body: batch.toBytes(),
        token: uploadToken ?? null,
        state: "waiting",
        problem: null,
        attempts: 0,
        due: Date.now() + random() * this.#delay,
        expires: Date.now() + this.#lasting,
      };
      return { put: [...put, made], result: made };
    });
    return shown(record);
  }

  /** Refuse what the collector would, as far as it told this device in the last day. */
  #requireListed(survey, epoch, token) {
    const listed = this.#listed.get(survey.fingerprint);
    if (listed === undefined || Math.abs(Date.now() - listed.at) > DAY) return;
    requireOpen(listed.epochs, survey, epoch);
    if (listed.invited) requireToken(token);
  }

  /** Refuse what would exceed the budget, with all that was ever charged here. */
  #charge(records, survey) {
    const total = spent(records).plus(amount(survey.epsilon, "epsilon"));
    if (!total.isAtMost(this.#budget)) {
      throw new BudgetError(
        `this device may spend an epsilon of ${this.#budget} in total, but this ` +
          `answer would make it ${total}. Nothing was spent`,
      );
    }
  }

  /** Return what was spent, the budget, and every answer: survey, epoch, epsilon, state. */
  async ledger() {
    const records = await this.#records();
    return {
      spent: spent(records).toString(),
      budget: this.#budget.toString(),
      answers: [...records.values()].filter((record) => record.batch).map(shown),
    };
  }

  #records() {
    return this.#change((records) => ({ result: records }));
  }

  /**
   * Change the memory, unless it was made with another budget. Whatever is done with it first sees
   * that answers whose last day is over have ended.
   */
  async #change(update) {
    let refused;
    const changed = (records) => {
      const { budget } = records.get(BUDGET) ?? {};
      if (budget !== undefined && budget !== this.#budget.toString()) {
        throw new MismatchError(
          `the budget of this device was declared as an epsilon of ${budget} and cannot change, ` +
            `got ${this.#budget}`,
        );
      }
      const aged = agedIn(records, this.#lasting);
      const { put = [], result } = update(
        new Map([...records, ...aged.map((record) => [record.key, record])]),
      );
      return { put: [...aged, ...put], result };
    };
    try {
      return await this.#storage.change((records) => {
        try {
          return changed(records);
        } catch (error) {
          refused = error;
          throw error;
        }
      });
    } catch (error) {
      if (error === refused || error instanceof LapwingError) throw error;
      throw storageError(error);
    }
  }

  /**
   * Send what waits for a collector and is due, each once, and return what became of it. `survey`
   * and `epoch`: only the answers to this survey (or fingerprint), and of this epoch.
   *
   * What cannot be delivered now stays, with the same bytes, and is due again after a growing
   * pause. So is all that waits for a collector which does not answer, or is busy. What waits for
   * another collector is not sent; it comes last, and its `problem` names that address.
   */
  async send(collector, { survey, epoch, signal } = {}) {
    const address = collectorAddress(collector);
    const sent = [];
    const named = await this.#waiting({ survey, epoch });
    const waiting = named.filter((record) => waitsFor(record, address));
    // Perhaps it is only the one before them that a proxy turns away: the least tried go first.
    waiting.sort((one, other) => one.attempts - other.attempts);
    for (const record of waiting) {
      if (!isDue(record)) continue;
      const said = await this.#collector.put({ ...record, collector: address }, signal);
      // A proxy, a silent network or a busy collector says nothing of this report.
      if (!said.everywhere && isOver(record, said.date, this.#lasting)) said.kind = "expired";
      if (said.kind === "later") sent.push(await this.#putOff(record.key, address, said));
      else sent.push(await this.#finish(record.key, said.kind, said.problem));
      if (said.everywhere) break;
    }
    const elsewhere = named.filter((record) => !waitsFor(record, address));
    return [...sent, ...elsewhere.map(awaited).map(shown)];
  }

  /** Send until nothing waits for a collector; rejects when the signal aborts. */
  async settle(collector, { signal } = {}) {
    const address = collectorAddress(collector);
    for (;;) {
      await this.send(address, { signal });
      const waiting = (await this.#waiting()).filter((record) => waitsFor(record, address));
      if (waiting.length === 0) return;
      const next = Math.min(...waiting.map(({ due }) => due)) - Date.now();
      await this.#pause(Math.min(Math.max(next, 0), LONGEST_PAUSE), signal);
    }
  }

  /**
   * Stop sending all that waits, or only the answers to a survey (or fingerprint) and of an epoch,
   * and return them. Their bytes are forgotten. What they cost stays spent: to draw again until
   * somebody likes the report would not be private.
   */
  async withdraw(survey, { epoch } = {}) {
    return this.#change((records) => {
      const answers = [...records.values()].filter(({ batch }) => batch);
      const named = answers.filter((record) => isOf(record, survey, epoch));
      if (named.length === 0 && (survey !== undefined || epoch !== undefined)) {
        const of = epoch === undefined ? "" : ` of epoch "${epoch}"`;
        const to = survey === undefined ? "" : ` to survey ${fingerprintOf(survey)}`;
        throw new ArgumentError(
          `this device gave no answer${of}${to}. Its ledger lists what it gave`,
        );
      }
      const put = named
        .filter(({ state }) => state === "waiting")
        .map((record) => ended(record, "withdrawn", null));
      return { put, result: put.map(shown) };
    });
  }

  /** Return what waits, for whichever collector, of a survey and epoch. */
  async #waiting({ survey, epoch } = {}) {
    return [...(await this.#records()).values()].filter(
      (record) => record.state === "waiting" && isOf(record, survey, epoch),
    );
  }

  /** Note how an answer ended, and forget its bytes; what it cost stays. */
  async #finish(key, state, problem) {
    const changed = await this.#change((records) => {
      const record = records.get(key);
      if (record?.state !== "waiting") return { result: record };
      const result = ended(record, state, problem);
      return { put: [result], result };
    });
    return changed && shown(changed);
  }

  /** Let an answer wait; when all others would fare the same, let them wait as long. */
  async #putOff(key, address, { problem, wait, everywhere, date }) {
    const put = await this.#change((records) => {
      const record = records.get(key);
      if (record?.state !== "waiting") return { result: record };
      const growing = Math.min(FIRST_WAIT * 2 ** record.attempts, LONGEST_WAIT);
      // A random part of both: who was turned away together must not come back together.
      const pause = Math.max(growing * (0.5 + random() / 2), wait * (1 + random() / 4));
      const due = Date.now() + pause;
      const changed = { ...heard(record, date), problem, attempts: record.attempts + 1, due };
      const others = [...records.values()].filter(
        (one) => everywhere && one.key !== key && waitsFor(one, address) && one.due < due,
      );
      return { put: [changed, ...others.map((one) => ({ ...one, due }))], result: changed };
    });
    return shown(put);
  }
}

/** Return a keyed hash of a value, under a secret that is drawn when there is none. */
function tagOf(records, put, survey, value) {
  let secret = records.get(SECRET)?.secret;
  if (!secret) {
    secret = hexadecimal(globalThis.crypto.getRandomValues(new Uint8Array(32)));
    put.push({ key: SECRET, secret });
  }
  const words = ["value", survey.fingerprint, survey.domain.index(value)];
  return hmacOfText(secret, JSON.stringify(words));
}

function requireUnchanged(records, { tag }, survey, value) {
  if (!tag) {
    throw new PrivacyError(
      'the first answer to this survey was given with onChange "keep", so a change cannot be ' +
        'noticed. The survey was not answered. To answer, make the Device with onChange "keep", ' +
        "which resends the first answer whatever the value is now",
    );
  }
  if (tag !== tagOf(records, [], survey, value)) {
    throw new PrivacyError(
      'this answer to the survey differs from the first one, and onChange is "refuse", so it was ' +
        "answered",
    );
  }
}

function requireToken(token) {
  if (!UPLOAD_TOKEN.test(token)) {
    throw new ArgumentError(
      "this needs an upload token, lwu_ and 43 more characters, as the collector's admin gave " +
        "it. Nothing was spent",
    );
  }
}

/** Return the record of the text that a person agreed to; MismatchError if it is another one. */
function agreedText(records, survey, agreed) {
  const text = survey.textFingerprint;
  if (agreed !== undefined && !/^[0-9a-f]{64}$/.test(agreed)) {
    throw new ArgumentError("the fingerprint of a text must have 64 hex digits");
  }
  if (agreed !== undefined && agreed !== text) {
    throw new MismatchError(
      `text ${agreed.slice(0, 12)} was agreed to, but the survey has text ${text.slice(0, 12)}. ` +
        "Do not answer it",
    );
  }
  const key = agreedKey(survey);
  if (agreed === undefined && (records.get(key)?.text ?? text) !== text) {
    throw new MismatchError(
      "the text of this survey is not the one that this device remembers. Show it to the person, " +
        `and pass text: "${text}" when they agree`,
    );
  }
  return { key, survey: survey.fingerprint, text };
}

/** Return an answer; MismatchError if its epoch was answered under another text of the survey. */
function requireSameText(record, survey) {
  if (textFingerprint(record.notice ?? {}) === survey.textFingerprint) return record;
  throw new MismatchError(
    `epoch ${record.epoch} was answered under another text of this survey. The first answer ` +
      "is kept, and this question was not answered",
  );
}

function requireModest(survey, epsilonCap) {
  if (!amount(survey.epsilon, "epsilon").isAtMost(epsilonCap)) {
    throw new PrivacyError(`this device answers surveys with an epsilon of at most ${epsilonCap}`);
  }
}

/** Key under which a survey's document and collector are kept. No epoch has such a name. */
const fetchedKey = ({ fingerprint }) => `${fingerprint} @`;

/** Key under which the text of a survey that the person agreed to is kept. */
const agreedKey = ({ fingerprint }) => `${fingerprint} #`;

function spent(records) {
  const costs = [...records.values()].filter(({ epsilon = "0" }) => epsilon !== "0");
  const sum = (total, { epsilon }) => total.plus(amount(epsilon, "epsilon"));
  return costs.reduce(sum, new Rational(0n));
}

/** What a program sees of a record. `body` is the bytes that are sent, null once they are gone. */
function shown(record) {
  const { survey, name, notice, epoch, epsilon, batch, body, state, problem, due } = record;
  return Object.freeze({
    survey,
    name: name ?? null,
    notice: Object.freeze({ ...notice }),
    epoch,
    epsilon,
    batch,
    body: body && body.slice(),
    state,
    problem,
    due,
    expires: record.expires ?? null,
  });
}

/** Return an unpredictable random number in [0, 1). */
function random() {
  return globalThis.crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;
}

function paused(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
