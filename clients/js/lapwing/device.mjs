// A person's device: what it has answered, what that has cost, and what still waits to be sent.
//
// One epoch of a survey is one fresh, charged answer. The report is made, charged and kept in one
// transaction before anything is sent; a repeat, a retry and a restart send the very same bytes. So
// no crash and no lost answer can make a device spend twice.

import { Batch, MEDIA_TYPE } from "./batch.mjs";
import { ArgumentError, BudgetError, LapwingError, PrivacyError } from "./errors.mjs";
import { Rational, amount } from "./exact.mjs";
import { hexadecimal } from "./sha256.mjs";
import { BrowserStorage } from "./storage.mjs";
import { readSurvey } from "./survey.mjs";

const EPOCH = /^[a-z0-9][a-z0-9.-]{0,63}$/;
const SECOND = 1000;
const FIRST_WAIT = 10 * SECOND;
const LONGEST_WAIT = 6 * 3600 * SECOND;
const LONGEST_PUT_OFF = 24 * 3600 * SECOND;
const LONGEST_DELAY = 86_400;
const LATEST = LONGEST_PUT_OFF + LONGEST_WAIT + LONGEST_DELAY * SECOND;
const PATIENCE = 60 * SECOND;
const LONGEST_PAUSE = 3600 * SECOND; // before the clock is asked again
const KEPT_ALIVE = 60_000; // of the 64 KiB that a browser sends on for a page that is left

/** What is kept and sent again; every other 4xx is final. */
const PASSING = [408, 425, 429];

export class Device {
  #storage;
  #fetch;
  #mostEpsilon;
  #budget;
  #delay;
  #pause;

  /**
   * `mostEpsilon` is the largest epsilon that a survey may ask for, `budget` what all answers of
   * this device, to all surveys, may cost together: both are the person's to set, so neither has a
   * default. `delaySeconds`: a report waits a random part of it before it is first sent. `storage`,
   * `fetch` and `pause` replace what the platform has.
   */
  constructor({ mostEpsilon, budget, delaySeconds = 0, storage, fetch, pause } = {}) {
    this.#mostEpsilon = amount(mostEpsilon, "mostEpsilon");
    this.#budget = amount(budget, "budget");
    if (!(delaySeconds >= 0 && delaySeconds <= LONGEST_DELAY)) {
      throw new ArgumentError("delaySeconds must be in 0..86400");
    }
    this.#delay = delaySeconds * SECOND;
    this.#storage = storage ?? new BrowserStorage();
    this.#fetch = fetch ?? ((...request) => globalThis.fetch(...request));
    this.#pause = pause ?? paused;
  }

  /** Return the survey in a text, as `readSurvey` does, up to this device's largest epsilon. */
  readSurvey(text, { fingerprint } = {}) {
    return readSurvey(text, { fingerprint, mostEpsilon: this.#mostEpsilon.toString() });
  }

  /** Return a collector's survey by its fingerprint, which says what it must be. */
  async fetchSurvey(collector, fingerprint) {
    if (!/^[0-9a-f]{64}$/.test(fingerprint))
      throw new ArgumentError("a fingerprint has 64 hex digits");
    const text = await this.#get(`${base(collector)}/v1/surveys/${fingerprint}`);
    return this.readSurvey(text, { fingerprint });
  }

  /** Return the epochs of a survey as the collector lists them: with their name and state. */
  async fetchEpochs(collector, survey) {
    return JSON.parse(await this.#get(`${base(collector)}/v1/surveys/${survey.fingerprint}/epochs`))
      .epochs;
  }

  async #get(address) {
    const response = await this.#fetch(address, {
      credentials: "omit",
      referrerPolicy: "no-referrer",
    });
    if (!response.ok) throw new LapwingError(`the collector answered ${response.status}`);
    return response.text();
  }

  /**
   * Randomise a value for an epoch, charge it and keep the bytes; they wait to be sent.
   *
   * Asked again for the epoch it returns the first answer, whatever the value is now. Of a survey
   * whose answers are remembered the first report stands for ever, and later epochs cost nothing.
   * DomainError and BudgetError leave everything as it was.
   */
  async answer(survey, epoch, value, { collector, segment, token } = {}) {
    if (typeof epoch !== "string" || !EPOCH.test(epoch)) {
      throw new ArgumentError("an epoch is named by 1 to 64 of a-z, 0-9, point and hyphen");
    }
    const address = base(collector);
    requireModest(survey, this.#mostEpsilon);
    const [key, kept] = [`${survey.fingerprint} ${epoch}`, `${survey.fingerprint} *`];
    const record = await this.#storage.change((records) => {
      if (records.has(key)) return { result: records.get(key) };
      const put = [];
      let report = records.get(kept)?.report;
      const fresh = report === undefined;
      if (fresh) {
        this.#charge(records, survey);
        report = survey.randomize(value);
        if (survey.remembered) {
          put.push({ key: kept, survey: survey.fingerprint, epsilon: survey.epsilon, report });
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
        epoch,
        epsilon: survey.remembered ? "0" : survey.epsilon,
        collector: address,
        batch: hexadecimal(globalThis.crypto.getRandomValues(new Uint8Array(16))),
        body: batch.toBytes(),
        token: token ?? null,
        state: "waiting",
        problem: null,
        attempts: 0,
        due: Date.now() + random() * this.#delay,
      };
      return { put: [...put, made], result: made };
    });
    return shown(record);
  }

  /** Refuse what would exceed the budget, with all that was ever charged here. */
  #charge(records, survey) {
    const total = spent(records).plus(amount(survey.epsilon, "epsilon"));
    if (!total.isAtMost(this.#budget)) {
      throw new BudgetError(
        `this device may spend an epsilon of ${this.#budget} in all, with this answer it would ` +
          `be ${total}; nothing was spent`,
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
    return this.#storage.change((records) => ({ result: records }));
  }

  /**
   * Send what waits and is due, each once, and return what became of it. What cannot be delivered
   * now stays, with the same bytes, and is due again after a growing pause.
   */
  async send({ signal } = {}) {
    const sent = [];
    for (const record of await this.#waiting()) {
      if (signal?.aborted) break;
      if (isDue(record)) sent.push(await this.#deliver(record, signal));
    }
    return sent;
  }

  /** Send until nothing waits, pausing as long as it takes; rejects when the signal aborts. */
  async settle({ signal } = {}) {
    for (;;) {
      await this.send({ signal });
      signal?.throwIfAborted();
      const waiting = await this.#waiting();
      if (waiting.length === 0) return;
      const next = Math.min(...waiting.map(({ due }) => due)) - Date.now();
      await this.#pause(Math.min(Math.max(next, 0), LONGEST_PAUSE), signal);
    }
  }

  /**
   * Stop sending an answer. What it cost stays spent: to draw again until somebody likes the report
   * would be no privacy.
   */
  async withdraw(survey, epoch) {
    await this.#finish(`${survey.fingerprint} ${epoch}`, "withdrawn", null);
  }

  async #waiting() {
    return [...(await this.#records()).values()].filter(({ state }) => state === "waiting");
  }

  async #deliver(record, signal) {
    let response = null;
    try {
      response = await this.#put(record, signal);
    } catch (error) {
      if (signal?.aborted) throw error;
    }
    const status = response?.status ?? 0;
    // A page for signing in to a network says 200 to everything; a collector names the batch.
    const stored = [200, 201].includes(status) && (await batchOf(response)) === record.batch;
    if (stored) return this.#finish(record.key, "stored", null);
    const final = status >= 400 && status < 500 && !PASSING.includes(status);
    if (final) return this.#finish(record.key, "refused", await problemOf(response));
    return this.#putOff(record.key, response?.headers.get("retry-after") ?? null);
  }

  async #put({ collector, survey, epoch, batch, body, token }, signal) {
    const stop = new AbortController();
    const abort = () => stop.abort();
    const timer = setTimeout(abort, PATIENCE);
    signal?.addEventListener("abort", abort);
    try {
      return await this.#fetch(
        `${collector}/v1/surveys/${survey}/epochs/${epoch}/batches/${batch}`,
        {
          method: "PUT",
          body,
          headers: {
            "content-type": MEDIA_TYPE,
            ...(token && { authorization: `Bearer ${token}` }),
          },
          credentials: "omit",
          referrerPolicy: "no-referrer",
          cache: "no-store",
          redirect: "error",
          keepalive: body.length <= KEPT_ALIVE,
          signal: stop.signal,
        },
      );
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Note how an answer ended, and forget its bytes; what it cost stays. */
  async #finish(key, state, problem) {
    const ended = await this.#storage.change((records) => {
      const record = records.get(key);
      if (record?.state !== "waiting") return { result: record };
      const changed = { ...record, state, problem, body: null, token: null };
      return { put: [changed], result: changed };
    });
    return ended && shown(ended);
  }

  async #putOff(key, retryAfter) {
    const put = await this.#storage.change((records) => {
      const record = records.get(key);
      if (record?.state !== "waiting") return { result: record };
      const wait = Math.min(FIRST_WAIT * 2 ** record.attempts, LONGEST_WAIT) * (0.5 + random() / 2);
      const asked = Math.min(millisecondsIn(retryAfter), LONGEST_PUT_OFF);
      const due = Date.now() + Math.max(wait, asked);
      const changed = { ...record, attempts: record.attempts + 1, due };
      return { put: [changed], result: changed };
    });
    return shown(put);
  }
}

/** Return the address of a collector without the slashes at its end. */
function base(collector) {
  let address;
  try {
    address = new URL(collector);
  } catch {
    throw new ArgumentError("collector must be the address of a collector, https://...");
  }
  const here = ["localhost", "127.0.0.1", "[::1]"].includes(address.hostname);
  const own = address.origin === globalThis.location?.origin;
  const safe = address.protocol === "https:" || (address.protocol === "http:" && (here || own));
  if (!safe || address.username || address.search || address.hash) {
    throw new ArgumentError(
      "collector must be an address that begins with https:// and has no name, query or " +
        "fragment; plain http is for this very machine, and for the page's own origin",
    );
  }
  return address.href.replace(/\/+$/, "");
}

function requireModest(survey, mostEpsilon) {
  if (!amount(survey.epsilon, "epsilon").isAtMost(mostEpsilon)) {
    throw new PrivacyError(`this device answers surveys of an epsilon of at most ${mostEpsilon}`);
  }
}

function spent(records) {
  const costs = [...records.values()].filter(({ epsilon }) => epsilon !== "0");
  return costs.reduce(
    (total, { epsilon }) => total.plus(amount(epsilon, "epsilon")),
    new Rational(0n),
  );
}

/** What a program sees of a record. `body` is the bytes that are sent, null once they are gone. */
function shown({ survey, epoch, epsilon, batch, body, state, problem, due }) {
  return Object.freeze({
    survey,
    epoch,
    epsilon,
    batch,
    body: body && body.slice(),
    state,
    problem,
    due,
  });
}

/** Whether it is time; a clock that was set back must not put a report off for years. */
function isDue({ due }) {
  const now = Date.now();
  return due <= now || due > now + LATEST;
}

/** Return the milliseconds that a Retry-After asks for, 0 where it asks for none. */
function millisecondsIn(retryAfter) {
  if (retryAfter === null) return 0;
  const wait = /^\d+$/.test(retryAfter)
    ? Number(retryAfter) * SECOND
    : Date.parse(retryAfter) - Date.now();
  return wait > 0 ? wait : 0;
}

/** Return the id of the batch that an answer confirms. */
async function batchOf(response) {
  try {
    return (await response.json()).batch;
  } catch {
    return undefined;
  }
}

/** Return the stable word of a problem document, or the status where there is none. */
async function problemOf(response) {
  try {
    const { type } = await response.json();
    return /^urn:lapwing:problem:([a-z-]{1,60})$/.exec(type)[1];
  } catch {
    return `status ${response.status}`;
  }
}

/** Return a random number in [0, 1) that nobody can foretell. */
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
