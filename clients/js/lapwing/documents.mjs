// Strict JSON, and the canonical JSON (RFC 8785) that is fingerprinted.

import { FormatError } from "./errors.mjs";

const DEEPEST = 100;

/** By the object that contains them: whole numbers that were written as 1.0 or 1e0. */
const FLOATS = new WeakMap();
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const SPACE = /[ \t\n\r]*/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/**
 * Return the value of a JSON text, which may begin with a byte order mark. Objects have no
 * prototype.
 *
 * Unlike JSON.parse it refuses a repeated key (a reader that takes the first and one that
 * takes the last would see two surveys in one text) and numbers that JavaScript would round.
 */
export function parse(text) {
  const reader = new Reader(withoutMark(text));
  const value = reader.value(1);
  reader.space();
  if (reader.at !== reader.text.length) reader.refuse("there is text after the end");
  return value;
}

/** Return a text without the byte order mark that editors on Windows write. */
function withoutMark(text) {
  return typeof text === "string" && text.startsWith("\ufeff") ? text.slice(1) : text;
}

class Reader {
  constructor(text) {
    if (typeof text !== "string") throw new FormatError("a document must be a JSON string");
    this.text = text;
    this.at = 0;
  }

  refuse(why) {
    throw new FormatError(`a document must be strict JSON. At character ${this.at} ${why}`);
  }

  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) this.at = pattern.lastIndex;
    return found;
  }

  space() {
    this.match(SPACE);
  }

  take(sign) {
    this.space();
    if (this.text[this.at] !== sign) return false;
    this.at += 1;
    return true;
  }

  expect(sign) {
    if (!this.take(sign)) this.refuse(`a ${sign} is missing`);
  }

  value(level, holder = {}, key = "") {
    this.space();
    const first = this.text[this.at];
    if (first === "{" || first === "[") {
      if (level > DEEPEST) this.refuse(`it is more than ${DEEPEST} levels deep`);
      this.at += 1;
      return first === "{" ? this.object(level + 1) : this.list(level + 1);
    }
    if (first === '"') return this.string();
    for (const [word, value] of [
      ["true", true],
      ["false", false],
      ["null", null],
    ]) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    return this.number(holder, key);
  }

  object(level) {
    const made = Object.create(null);
    if (this.take("}")) return made;
    do {
      this.space();
      const key = this.string();
      if (Object.hasOwn(made, key)) this.refuse("it has a key twice");
      this.expect(":");
      made[key] = this.value(level, made, key);
    } while (this.take(","));
    this.expect("}");
    return made;
  }

  list(level) {
    const made = [];
    if (this.take("]")) return made;
    do {
      made.push(this.value(level, made, String(made.length)));
    } while (this.take(","));
    this.expect("]");
    return made;
  }

  string() {
    if (this.text[this.at] !== '"') this.refuse("a string is missing");
    this.at += 1;
    let made = "";
    for (;;) {
      made += this.match(PLAIN)[0];
      const sign = this.text[this.at];
      this.at += 1;
      if (sign === '"') break;
      if (sign !== "\\") this.refuse("a string does not end, or contains a control character");
      const letter = this.text[this.at];
      if (letter === "u") {
        const digits = this.text.slice(this.at + 1, this.at + 5);
        if (!/^[0-9a-fA-F]{4}$/.test(digits)) this.refuse("an escape is invalid");
        made += String.fromCharCode(parseInt(digits, 16));
        this.at += 5;
      } else {
        if (!Object.hasOwn(ESCAPES, letter ?? "")) this.refuse("an escape is invalid");
        made += ESCAPES[letter];
        this.at += 1;
      }
    }
    if (/\p{Surrogate}/u.test(made))
      this.refuse("a string has half a character (a lone surrogate)");
    return made;
  }

  number(holder, key) {
    const found = this.match(NUMBER);
    if (!found) this.refuse("there is no value");
    const value = Number(found[0]);
    if (!Number.isFinite(value)) this.refuse("a number is too large");
    const whole = found[1] === undefined && found[2] === undefined;
    if (whole && !Number.isSafeInteger(value)) this.refuse("a whole number is beyond 2^53 - 1");
    if (!whole && Number.isInteger(value)) {
      if (!FLOATS.has(holder)) FLOATS.set(holder, new Set());
      FLOATS.get(holder).add(key);
    }
    return value;
  }
}

/**
 * Return the canonical JSON of plain values: keys sorted by their UTF-16 code units, no white
 * space, numbers and texts as JSON.stringify writes them, which is what RFC 8785 asks for.
 */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const keys = Object.keys(value).sort();
    return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
  }
  const text = JSON.stringify(value);
  const number = typeof value === "number";
  if (text === undefined || (number && !Number.isFinite(value))) {
    throw new FormatError("only JSON values have canonical JSON");
  }
  return text;
}

/** Refuse an object unless it has exactly these keys, and perhaps some of the optional ones. */
export function requireKeys(value, keys, optional, name) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw new FormatError(`${name} must be a JSON object`);
  }
  for (const key of keys) {
    if (!Object.hasOwn(value, key)) throw new FormatError(`${name} lacks the key ${quoted(key)}`);
  }
  for (const key of Object.keys(value)) {
    if (!keys.includes(key) && !optional.includes(key)) {
      throw new FormatError(`${name} has the unknown key ${quoted(key)}`);
    }
  }
}

/**
 * Refuse whole numbers written as 1.0, but for those of places that hold any number: `isFloat` is
 * asked with what holds the number, its key, and the names of what is around it.
 */
export function requireWholeSpelling(value, isFloat, path = []) {
  if (value === null || typeof value !== "object") return;
  for (const key of FLOATS.get(value) ?? []) {
    demand(isFloat(value, key, path), `${quoted(key)} must be a whole number, without a point`);
  }
  for (const [key, inner] of Object.entries(value)) {
    requireWholeSpelling(inner, isFloat, [...path, key]);
  }
}

/** Refuse a condition that a document does not meet. */
export function demand(condition, message) {
  if (!condition) throw new FormatError(message);
}

/** Return whether a value is a whole number in low..high. */
export function isWhole(value, low, high) {
  return Number.isSafeInteger(value) && low <= value && value <= high;
}

/** Return a word as a message may show it: short and in quotes. */
export function quoted(word) {
  const text = JSON.stringify(String(word));
  return text.length > 42 ? `${text.slice(0, 40)}..."` : text;
}

/** Return whether a text is for people: 1 to 200 characters, or `most`, that can be printed. */
export function isPrintable(text, most = 200) {
  return (
    typeof text === "string" && [...text].length <= most && /^(?:[^\p{C}\p{Z}]| )+$/u.test(text)
  );
}
