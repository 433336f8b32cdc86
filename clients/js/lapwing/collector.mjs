// A collector as a device sees it: its address, its documents, and its answers to uploads.

import { MEDIA_TYPE } from "./batch.mjs";
import { parse } from "./documents.mjs";
import { LARGEST_SURVEY, textFingerprint } from "./survey.mjs";
import { ArgumentError, LapwingError } from "./errors.mjs";

const LARGEST_ANSWER = 2 ** 20;
const LONGEST_PUT_OFF = 86_400;
const KEPT_ALIVE = 60_000; // of the 64 KiB that a browser still sends after the page is left

/**
 * The problems at which a batch is dropped, each with its status: no later answer to the same bytes
 * can differ. After any other answer, a batch waits.
 */
export const FINAL = Object.freeze({
  "malformed-batch": 400,
  "batch-changed": 409,
  "other-text": 409,
  "epoch-closed": 410,
  "epoch-deleted": 410,
  "survey-deleted": 410,
  "reports-refused": 422,
});

/** What a collector says of a batch that it has. */
export const CONFIRMED = Object.freeze(["stored", "already stored"]);

/** Problems of a collector that would also affect the next batch. */
const EVERYWHERE = ["busy", "not-ready", "disk-full"];

/** Answers that a proxy may give to one batch but not to the next; its others concern all. */
const OF_ONE_BATCH = [413, 500];

const PRIVATE = { credentials: "omit", referrerPolicy: "no-referrer", redirect: "error" };

/**
 * Return the one spelling of a collector's address: scheme and host in lower case, no default port,
 * no slashes at its end. ArgumentError if it is not an address.
 */
export function collectorAddress(text) {
  let address;
  try {
    address = new URL(text);
  } catch {
    throw new ArgumentError("collector must be the address of a collector, https://...");
  }
  const here = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(address.hostname);
  const own = address.origin === globalThis.location?.origin;
  const safe = address.protocol === "https:" || (address.protocol === "http:" && (here || own));
  if (!safe || address.username || address.password || address.search || address.hash) {
    throw new ArgumentError(
      "collector must be an address that begins with https:// and has no name, query or " +
        "fragment. Plain http is allowed only for this machine and the page's own origin",
    );
  }
  return (address.origin + address.pathname).replace(/\/+$/, "");
}

/** Requests that carry nothing about a person but the upload, and that time out. */
export class Collector {
  #fetch;
  #seconds;

  constructor(fetch, seconds) {
    this.#fetch = fetch;
    this.#seconds = seconds;
  }

  /** Return the text of a survey's document. */
  survey(collector, fingerprint, signal) {
    return this.#get(`${collector}/v1/surveys/${fingerprint}`, LARGEST_SURVEY, signal);
  }

  /** Return the epochs of a survey, with name and state, and whether devices are invited. */
  async epochs(collector, fingerprint, signal) {
    const address = `${collector}/v1/surveys/${fingerprint}/epochs`;
    const text = await this.#get(address, LARGEST_ANSWER, signal);
    const { epochs, invited = false } = parse(text) ?? {};
    const legal = ({ name, state } = {}) => typeof name === "string" && typeof state === "string";
    const listed = Array.isArray(epochs) && epochs.every((epoch) => legal(epoch ?? undefined));
    if (!listed || typeof invited !== "boolean") {
      throw new LapwingError(
        `${collector} lists no epochs, so it is not a collector. Check the address`,
      );
    }
    return { epochs, invited };
  }

  async #get(address, most, signal) {
    const { status, text, type } = await this.#ask(address, {}, most, signal).catch((error) => {
      throw new LapwingError(`${address} cannot be reached`, { cause: error });
    });
    if (status !== 200) throw new LapwingError(`${address} answers ${status}`);
    if (mediaType(type) === "text/html") {
      throw new LapwingError(
        `${address} sent a web page, so it is not a collector. The network may ask to ` +
          "sign in first",
      );
    }
    return text;
  }

  /**
   * Send a batch once and return what came of it: `kind` is "stored", "refused" or "later", with
   * the word of the problem or the status, the milliseconds that the collector asks to wait, and
   * whether another batch would fare the same now. `date` is the time by the clock of a collector
   * that answered; NaN where none did, or it did not say. It rejects only when the signal aborts.
   */
  async put({ collector, survey, epoch, batch, notice, body, token }, signal) {
    // An answer of an older version keeps no notice, so it names no text.
    const asked = notice ? `?text=${textFingerprint(notice)}` : "";
    const address = `${collector}/v1/surveys/${survey}/epochs/${epoch}/batches/${batch}${asked}`;
    const headers = { "content-type": MEDIA_TYPE };
    if (token) headers.authorization = `Bearer ${token}`;
    const keepalive = body.length <= KEPT_ALIVE;
    const request = { method: "PUT", body, headers, keepalive };
    const answer = await this.#ask(address, request, LARGEST_ANSWER, signal).catch((error) => {
      if (signal?.aborted) throw error;
      return { status: 0, text: "", type: null, retryAfter: null };
    });
    const { status } = answer;
    // A page for signing in to a network says 200 to everything.
    const stored = [200, 201].includes(status) && confirms(answer, batch);
    if (stored) return { kind: "stored", problem: null };
    const word = problemIn(answer);
    const problem = word ?? (status === 0 ? "no answer" : `status ${status}`);
    if (Object.hasOwn(FINAL, problem) && FINAL[problem] === status) {
      return { kind: "refused", problem };
    }
    const everywhere = word ? EVERYWHERE.includes(word) : !OF_ONE_BATCH.includes(status);
    const wait = millisecondsIn(answer.retryAfter);
    const date = word === undefined ? NaN : Date.parse(answer.date ?? "");
    return { kind: "later", problem, wait, everywhere, date };
  }

  /** Ask, and read all of the answer before the time is over. */
  async #ask(address, request, most, signal) {
    const stop = new AbortController();
    const abort = () => stop.abort(signal?.reason);
    const timer = setTimeout(abort, 1000 * this.#seconds);
    signal?.addEventListener("abort", abort);
    try {
      signal?.throwIfAborted();
      const options = { ...PRIVATE, cache: "no-cache", ...request, signal: stop.signal };
      const response = await this.#fetch(address, options);
      const text = await textOf(response, most);
      const [type, retryAfter, date] = ["content-type", "retry-after", "date"].map((name) =>
        response.headers.get(name),
      );
      return { status: response.status, text, type, retryAfter, date };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }
}

/** Return the body of an answer; it rejects one of more bytes than a collector sends. */
async function textOf(response, most) {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let [text, size] = ["", 0];
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > most) {
      await reader.cancel();
      throw new LapwingError(
        `an answer had more than ${most} bytes, so it is not from a collector`,
      );
    }
    text += decoder.decode(part.value, { stream: true });
  }
  return text + decoder.decode();
}

function objectIn(text) {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

/** Whether an answer is a collector's own document that it has a batch. */
function confirms({ type, text }, id) {
  const { batch, reports, state } = objectIn(text);
  const counted = Number.isSafeInteger(reports) && reports > 0;
  const said = batch === id && counted && CONFIRMED.includes(state);
  return said && mediaType(type) === "application/json";
}

function mediaType(header) {
  return (header ?? "").split(";")[0].trim().toLowerCase();
}

/** Return the stable word of a collector's problem document; undefined for the page of others. */
function problemIn({ type, text }) {
  if (mediaType(type) !== "application/problem+json") return undefined;
  const { type: urn } = objectIn(text);
  const word = /^urn:lapwing:problem:([a-z][a-z-]{0,63})$/;
  return typeof urn === "string" ? word.exec(urn)?.[1] : undefined;
}

/** Return the milliseconds that a Retry-After asks for, 0 where it asks for none; a day at most. */
function millisecondsIn(retryAfter) {
  if (retryAfter === null) return 0;
  const seconds = /^\d{1,9}$/.test(retryAfter)
    ? Number(retryAfter)
    : (Date.parse(retryAfter) - Date.now()) / 1000;
  return seconds > 0 ? 1000 * Math.min(seconds, LONGEST_PUT_OFF) : 0;
}
