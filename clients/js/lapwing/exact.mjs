// Exact numbers: epsilon as it was written, rational bounds of e^epsilon, thresholds.
//
// All of it is whole-number arithmetic, so a device finds the very thresholds that the survey's
// maker found, and no rounding stands between what is promised and what is proved.

import { FormatError, PrivacyError } from "./errors.mjs";

export const WORD = 1n << 64n;
const SCALE = 256n;
const MOST = 24n;

const QUOTIENT = /^([1-9][0-9]{0,31})\/([1-9][0-9]{0,31})$/;
const DECIMAL = /^(0|[1-9][0-9]{0,31})(?:\.([0-9]{0,31}[1-9]))?$/;

function divisor(a, b) {
  while (b) [a, b] = [b, a % b];
  return a;
}

/** A non-negative rational number in lowest terms. */
export class Rational {
  constructor(numerator, denominator = 1n) {
    const common = divisor(numerator, denominator);
    this.numerator = numerator / common;
    this.denominator = denominator / common;
    Object.freeze(this);
  }

  plus(other) {
    return new Rational(
      this.numerator * other.denominator + other.numerator * this.denominator,
      this.denominator * other.denominator,
    );
  }

  isAtMost(other) {
    return this.numerator * other.denominator <= other.numerator * this.denominator;
  }

  /** As a float, for people and for sizes that no promise hangs on. */
  toNumber() {
    const digits = (number) => number.toString().length;
    const excess = digits(this.denominator) - 290;
    const cut = excess > 0 ? 10n ** BigInt(excess) : 1n;
    if (cut > 1n) return Number(this.numerator / cut) / Number(this.denominator / cut);
    return Number(this.numerator) / Number(this.denominator);
  }

  /** As documents write it: the shortest decimal where it has one, else a quotient. */
  toString() {
    let [rest, digits, power] = [this.denominator, 0, 1n];
    for (const prime of [2n, 5n]) while (rest % prime === 0n) rest /= prime;
    if (rest !== 1n) return `${this.numerator}/${this.denominator}`;
    while (power % this.denominator) [digits, power] = [digits + 1, power * 10n];
    const text = ((this.numerator * power) / this.denominator).toString().padStart(digits + 1, "0");
    return digits ? `${text.slice(0, -digits)}.${text.slice(-digits)}` : text;
  }
}

/** Return the number in a string such as "0.1" or "1/3", undefined unless canonical. */
export function rationalIn(text) {
  if (typeof text !== "string") return undefined;
  const quotient = QUOTIENT.exec(text);
  const decimal = DECIMAL.exec(text);
  let found;
  if (quotient) found = new Rational(BigInt(quotient[1]), BigInt(quotient[2]));
  if (decimal) {
    const fraction = decimal[2] ?? "";
    found = new Rational(BigInt(decimal[1] + fraction), 10n ** BigInt(fraction.length));
  }
  return found?.toString() === text ? found : undefined;
}

/**
 * Return an amount that the program or the person states: a text, or a number, which means its
 * shortest decimal form.
 */
export function amount(given, name) {
  const found = rationalIn(typeof given === "number" ? String(given) : given);
  if (!found) throw new PrivacyError(`${name} must be a number or a string such as "0.5" or "1/3"`);
  return found;
}

/** Return the epsilon of a document: in [1e-12, 24], with a denominator of at most 10^30. */
export function epsilonIn(text) {
  const epsilon = rationalIn(text);
  if (!epsilon) {
    throw new FormatError(
      'epsilon must be a string in canonical form, such as "1", "0.1" or "1/3"',
    );
  }
  const { numerator, denominator } = epsilon;
  const large = numerator * 10n ** 12n >= denominator && denominator <= 10n ** 30n;
  if (!large || numerator > MOST * denominator) {
    throw new FormatError("epsilon must be in (0, 24], at least 1e-12, with at most 30 digits");
  }
  return epsilon;
}

/**
 * Return a whole number L with L / 2^256 <= e^exponent, by less than 2^-200 of it.
 *
 * The Taylor series has positive terms, so a partial sum is a lower bound; it is rounded down. The
 * sum ends where the survey's maker ends it (a term below 2^-210 of the sum, after the terms have
 * begun to halve), so both have the same bits.
 */
export function exponentialBelow(exponent) {
  const { numerator: p, denominator: q } = exponent;
  let [sum, term, below] = [1n, 1n, 1n]; // sum / below and term / below
  for (let index = 0n; 2n * p > (index + 1n) * q || term << 210n > sum;) {
    index += 1n;
    term *= p;
    below *= q * index;
    sum = sum * q * index + term;
  }
  return (sum << SCALE) / below;
}

function rootOf(number) {
  if (number < 2n) return number;
  let root = 1n << BigInt((number.toString(2).length + 1) >> 1);
  for (;;) {
    const next = (root + number / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

/** What all thresholds of one epsilon are worked out from. */
export class Odds {
  constructor(epsilon) {
    this.epsilon = epsilon;
    this.low = exponentialBelow(epsilon);
  }

  /** Whether a ratio of two whole numbers is proved to be at most e^epsilon. */
  bounds(numerator, denominator) {
    return denominator > 0n && numerator << SCALE <= this.low * denominator;
  }

  /** The largest T for which T far / ((2^64 - T) near) is proved to be at most e^epsilon. */
  near(near, far) {
    const odds = this.low * BigInt(near);
    return (odds << 64n) / (odds + (BigInt(far) << SCALE));
  }

  /** The thresholds of the own and of another bit when both are flipped alike. */
  symmetric() {
    const root = rootOf(this.low);
    const own = (root << 64n) / (root + (1n << (SCALE / 2n)));
    return [own, WORD - own];
  }

  /** The thresholds of a fair own bit and of the rarest other one. */
  asymmetric() {
    const below = this.low + (1n << SCALE);
    return [WORD / 2n, ((WORD << SCALE) + below - 1n) / below];
  }

  /** Whether a number of symbols is below 3 e^epsilon + 2, where randomized response is best. */
  favorsOneSymbol(symbols) {
    return BigInt(symbols - 2) << SCALE < 3n * this.low;
  }

  /** The best number of signed coordinates in a set: the least m with m (m + 1) >= ideal^2. */
  signedMembers(coordinates) {
    const d = BigInt(coordinates);
    const [over, below] = [(2n * d) << SCALE, this.low - (1n << SCALE)];
    let size = over / below;
    if (size > d) size = d;
    if (size * (size + 1n) * below * below < over * over) size += 1n;
    return Number(size > d ? d : size);
  }
}
