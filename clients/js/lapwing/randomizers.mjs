// Randomizers: how one is checked, and how random words turn a symbol into a report.
//
// Every draw is exact and takes its words in the order of the report format. Nothing branches on a
// value before a word is drawn: how many words a report takes does not depend on the value, but for
// the rare word that a bounded draw rejects.

import { demand, isWhole, requireKeys } from "./documents.mjs";
import { PrivacyError, ReportError } from "./errors.mjs";
import { WORD } from "./exact.mjs";
import { halves } from "./words.mjs";

const MOST_OUTPUTS = 2 ** 26;

/** Return the digits of the binary form of a whole number, 0 of 0. */
const bitLength = (number) => (number === 0 ? 0 : number.toString(2).length);

/** Return the number of bytes that one of `codes` codes needs. */
const codeWidth = (codes) => Math.max(1, Math.ceil(bitLength(codes - 1) / 8));

/** Return whether the number of ones in the binary form of a 32-bit number is odd: 0 or 1. */
function parity(number) {
  number ^= number >>> 16;
  number ^= number >>> 8;
  number ^= number >>> 4;
  return (0x6996 >>> (number & 15)) & 1;
}

function writeCode(bytes, at, code, width) {
  for (let i = 0; i < width; i++) bytes[at + i] = code >>> (8 * i);
}

function readCode(bytes, at, width) {
  let code = 0;
  for (let i = width - 1; i >= 0; i--) code = code * 256 + bytes[at + i];
  return code;
}

function setBit(bytes, at, bit) {
  bytes[at + (bit >> 3)] |= 1 << (bit & 7);
}

/** Return how many bits are set, or -1 when one at or after `bits` is. */
function countBits(bytes, at, bits) {
  let ones = 0;
  for (let bit = 0; bit < 8 * Math.ceil(bits / 8); bit++) {
    const set = (bytes[at + (bit >> 3)] >> (bit & 7)) & 1;
    if (set && bit >= bits) return -1;
    ones += set;
  }
  return ones;
}

// The derived fields of a survey, compared with what follows from the others.

/** Refuse a derived field unless it has the value that follows. */
export function demandFollowing(condition, name) {
  demand(
    condition,
    `what the survey derives (${name}) does not follow from its epsilon and domain. The document ` +
      "was changed or made by other software, and its privacy guarantee cannot be trusted",
  );
}

/** Refuse derived fields unless they are exactly these sizes, and thresholds of these names. */
function requireSizes(derived, names, sizes, kind) {
  const keys = ["thresholds", "report_width", ...Object.keys(sizes)];
  requireKeys(derived, keys, [], `what ${kind} derives`);
  requireKeys(derived.thresholds, names, [], "the thresholds");
  for (const [name, size] of Object.entries(sizes)) demandFollowing(derived[name] === size, name);
}

function thresholdIn(derived, name) {
  const text = derived.thresholds[name];
  demand(
    typeof text === "string" && /^0x[0-9a-f]{16}$/.test(text),
    "a threshold must be 0x and 16 lowercase hexadecimal digits",
  );
  return BigInt(text);
}

/**
 * Refuse thresholds that are not the ones that follow. `more` to `less` is the exact worst ratio of
 * the probabilities of a report under two values: first of all it must be proved to be at most
 * e^epsilon, with whole numbers and a rational lower bound of e^epsilon.
 */
function requirePromise(odds, more, less, follows) {
  if (!odds.bounds(more, less)) {
    const ratio = less > 0n ? Number((more << 64n) / less) / 2 ** 64 : Infinity;
    throw new PrivacyError(
      `the thresholds must guarantee an epsilon of ${odds.epsilon}, but these allow ` +
        `${Math.log(ratio).toPrecision(4)}. This survey overstates its privacy. Do not answer it`,
    );
  }
  demand(more > less, "near outputs must be more likely, or reports would carry no information");
  demandFollowing(follows, "thresholds");
}

/** Return the threshold of two levels, near and far, as the halves that a coin compares. */
function nearThreshold(derived, name, odds, near, far) {
  demand(near >= 1 && far >= 1, "output sets must contain an output and leave one out");
  const threshold = thresholdIn(derived, name);
  const more = threshold * BigInt(far);
  const less = (WORD - threshold) * BigInt(near);
  requirePromise(odds, more, less, threshold === odds.near(near, far));
  return halves(threshold);
}

// Reports that are one code.

/** Two levels: near with the threshold's probability, then uniform inside or outside. */
export class TwoLevel {
  constructor(kind, derived, odds, { points, near, outputs, ...more }) {
    demand(outputs <= MOST_OUTPUTS, `at most 2^26 outputs can be counted, got ${outputs}`);
    const width = codeWidth(outputs);
    requireSizes(derived, ["near"], { points, near, outputs, ...more, report_width: width }, kind);
    this.threshold = nearThreshold(derived, "near", odds, near, outputs - near);
    this.points = points;
    this.near = near;
    this.far = outputs - near;
    this.outputs = outputs;
    this.width = width;
  }

  write(point, words, bytes, at) {
    const near = words.coin(this.threshold);
    const offset = words.below(near ? this.near : this.far);
    writeCode(bytes, at, this.locate(point, near, offset), this.width);
  }

  check(bytes, at) {
    requireReport(readCode(bytes, at, this.width) < this.outputs, "hold a code that can occur");
  }
}

export class RandomizedResponse extends TwoLevel {
  constructor(derived, odds, points) {
    super("randomized response", derived, odds, { points, near: 1, outputs: points });
  }

  locate(point, near, offset) {
    return near ? point : offset + Number(offset >= point);
  }
}

/** A window about the value on a line of points that is longer by half a window at both ends. */
export class LineWave extends TwoLevel {
  constructor(derived, odds, points, half) {
    super("a square wave", derived, odds, {
      points,
      near: 2 * half + 1,
      outputs: points + 2 * half,
    });
  }

  locate(point, near, offset) {
    return near ? point + offset : offset + (offset >= point ? this.near : 0);
  }
}

export class CircleWave extends TwoLevel {
  constructor(derived, odds, points, half) {
    super("a square wave", derived, odds, { points, near: 2 * half + 1, outputs: points });
    this.half = half;
  }

  locate(point, near, offset) {
    const step = near ? offset - this.half + this.points : offset + this.half + 1;
    return (point + step) % this.points;
  }
}

export class HadamardResponse extends TwoLevel {
  constructor(derived, odds, points, blocks) {
    const length = 2 ** bitLength(Math.ceil(points / blocks));
    const sizes = { points, near: length / 2, outputs: blocks * length, length };
    super("Hadamard response", derived, odds, sizes);
    this.length = length;
    this.blocks = blocks;
  }

  locate(point, near, offset) {
    const { length, blocks } = this;
    const block = point % blocks;
    if (!near && offset >= this.near) {
      const rest = offset - this.near;
      return rest < block * length ? rest : rest + length;
    }
    // A row of the own half: its bit at the lowest one of the column gives the sign asked for.
    const column = Math.floor(point / blocks) + 1;
    const lowest = column & -column;
    const row = (offset & (lowest - 1)) | ((offset & -lowest) << 1);
    const flipped = parity(row & column) === Number(near);
    return block * length + row + (flipped ? lowest : 0);
  }
}

/** A row of a Hadamard matrix and a sign; a part of mixtures. */
export class SignedHadamard extends TwoLevel {
  constructor(derived, odds, cells) {
    const outputs = 2 ** bitLength(cells - 1);
    super("a signed Hadamard row", derived, odds, { points: cells, near: outputs / 2, outputs });
  }

  locate(point, near, offset) {
    const cell = Math.floor((point * this.outputs) / this.points);
    const sign = parity(offset & (cell >>> 1)) ^ (cell & 1) ^ Number(!near);
    return 2 * offset + sign;
  }
}

/** A public random matrix, and a point near the matrix times the value. */
export class LinearHashing {
  constructor(derived, odds, symbols, near, bits) {
    const keyBits = bitLength(symbols - 1);
    this.seedBits = keyBits + bits - 1;
    this.width = Math.ceil((this.seedBits + bits) / 8);
    const sizes = { points: symbols, near, outputs: 2 ** bits, key_bits: keyBits, hash_bits: bits };
    requireSizes(derived, ["near"], { ...sizes, report_width: this.width }, "linear hashing");
    this.near = near;
    this.far = 2 ** bits - near;
    this.threshold = nearThreshold(derived, "near", odds, near, this.far);
    this.bits = bits;
  }

  write(symbol, words, bytes, at) {
    const near = words.coin(this.threshold);
    const drawn = words.below(near ? this.near : this.far);
    const offset = near ? drawn : this.near + drawn;
    const seed = words.wide() >> BigInt(64 - this.seedBits);
    const [high, low] = [Math.floor(symbol / 2 ** 32), symbol >>> 0];
    let hash = 0;
    for (let row = 0; row < this.bits; row++) {
      const window = seed >> BigInt(row);
      const met = Number((window >> 32n) & 0xffffn) & high;
      hash |= parity((Number(window & 0xffffffffn) & low) ^ met) << row;
    }
    let report = (seed << BigInt(this.bits)) | BigInt(offset ^ hash);
    for (let i = 0; i < this.width; i++) {
      bytes[at + i] = Number(report & 0xffn);
      report >>= 8n;
    }
  }

  check(bytes, at) {
    const spare = 8 * this.width - this.seedBits - this.bits;
    const free = bytes[at + this.width - 1] >> (8 - spare) === 0;
    requireReport(free, `hold a seed of ${this.seedBits} bits`);
  }
}

// Reports of bits.

/** A bit for every symbol. That of the value is 1 more often than the others. */
export class UnaryEncoding {
  constructor(derived, odds, bits, optimized) {
    this.bits = bits;
    this.width = Math.ceil(bits / 8);
    requireSizes(derived, ["own", "other"], { bits, report_width: this.width }, "unary encoding");
    const [own, other] = [thresholdIn(derived, "own"), thresholdIn(derived, "other")];
    const follow = optimized ? odds.asymmetric() : odds.symmetric();
    const follows = own === follow[0] && other === follow[1];
    requirePromise(odds, own * (WORD - other), other * (WORD - own), follows);
    this.own = halves(own);
    this.other = halves(other);
  }

  write(symbol, words, bytes, at) {
    for (let bit = 0; bit < this.bits; bit++) {
      if (words.coin(bit === symbol ? this.own : this.other)) setBit(bytes, at, bit);
    }
  }

  check(bytes, at) {
    requireReport(countBits(bytes, at, this.bits) >= 0, "leave its spare bits 0");
  }
}

/** A uniformly random set of symbols, with or without the own one. */
export class SubsetSelection {
  constructor(derived, odds, bits, members) {
    this.bits = bits;
    this.members = members;
    this.width = Math.ceil(bits / 8);
    requireSizes(derived, ["own"], { bits, members, report_width: this.width }, "subset selection");
    this.threshold = nearThreshold(derived, "own", odds, members, bits - members);
  }

  write(symbol, words, bytes, at) {
    let places = this.members;
    let unseen = this.bits - 1;
    if (words.coin(this.threshold)) {
      setBit(bytes, at, symbol);
      places -= 1;
    }
    for (let other = 0; other < this.bits; other++) {
      if (other === symbol) continue;
      if (words.below(unseen) < places) {
        setBit(bytes, at, other);
        places -= 1;
      }
      unseen -= 1;
    }
  }

  check(bytes, at) {
    const ones = countBits(bytes, at, this.bits);
    requireReport(ones === this.members, `hold ${this.members} symbols and no spare bits`);
  }
}

/** By the bits of an element: the polynomial that products are taken modulo. */
const MODULI = [
  0x3, 0x7, 0xb, 0x13, 0x25, 0x43, 0x83, 0x11d, 0x211, 0x409, 0x805, 0x1053, 0x201b, 0x4443, 0x8003,
  0x1100b,
];

/** Return the product of two elements of the field of 2^bits. */
function fieldProduct(a, b, bits) {
  const modulus = MODULI[bits - 1];
  let product = 0;
  for (let bit = bits - 1; bit >= 0; bit--) {
    product <<= 1;
    product ^= -((product >> bits) & 1) & modulus;
    product ^= -((b >> bit) & 1) & a;
  }
  return product;
}

/** The name of a set {x : a x + b < members} of a field, with or without the own element. */
export class AffineSubsetSelection {
  constructor(derived, odds, points, members) {
    this.fieldBits = bitLength(points - 1);
    const elements = 2 ** this.fieldBits;
    this.sets = elements * (elements - 1);
    this.width = codeWidth(this.sets);
    const sizes = { points, elements, members, report_width: this.width };
    requireSizes(derived, ["own"], sizes, "affine subset selection");
    this.elements = elements;
    this.members = members;
    this.threshold = nearThreshold(derived, "own", odds, members, elements - members);
  }

  write(symbol, words, bytes, at) {
    const { elements, members } = this;
    const near = words.coin(this.threshold);
    const drawn = words.below(near ? members : elements - members);
    const place = near ? drawn : members + drawn;
    const row = words.below(elements - 1);
    const b = place ^ fieldProduct(row + 1, symbol, this.fieldBits);
    writeCode(bytes, at, row * elements + b, this.width);
  }

  check(bytes, at) {
    requireReport(readCode(bytes, at, this.width) < this.sets, "hold a code that can occur");
  }
}

/** A set of coordinates with signs, uniform but for the own coordinate; a part of mixtures. */
export class SignedSubsetSelection {
  constructor(derived, odds, coordinates, members) {
    this.coordinates = coordinates;
    this.members = members;
    this.plane = Math.ceil(coordinates / 8);
    this.allIn = members === coordinates;
    this.width = this.allIn ? this.plane : 2 * this.plane;
    const sizes = { coordinates, members, report_width: this.width };
    requireSizes(derived, ["own"], sizes, "signed subset selection");
    this.far = 2 * coordinates - members;
    this.threshold = nearThreshold(derived, "own", odds, members, this.far);
  }

  write(symbol, words, bytes, at) {
    const own = symbol >>> 1;
    const signs = this.allIn ? at : at + this.plane;
    let places = this.members;
    let unseen = this.coordinates - 1;
    let minus = symbol & 1;
    let held = words.coin(this.threshold);
    if (!held && words.below(this.far) < this.members) {
      held = true;
      minus ^= 1;
    }
    const take = (coordinate, negative) => {
      if (!this.allIn) setBit(bytes, at, coordinate);
      if (negative) setBit(bytes, signs, coordinate);
      places -= 1;
    };
    if (held) take(own, minus);
    for (let other = 0; other < this.coordinates; other++) {
      if (other === own) continue;
      const drawn = words.below(2 * unseen);
      if (drawn < 2 * places) take(other, drawn & 1);
      unseen -= 1;
    }
  }

  check(bytes, at) {
    const { coordinates, plane } = this;
    const must = `hold ${this.members} signed coordinates and no spare bits`;
    const signs = this.allIn ? at : at + plane;
    requireReport(countBits(bytes, signs, coordinates) >= 0, must);
    if (this.allIn) return;
    requireReport(countBits(bytes, at, coordinates) === this.members, must);
    for (let i = 0; i < plane; i++) requireReport((bytes[signs + i] & ~bytes[at + i]) === 0, must);
  }
}

// Mixtures.

/** A public coin draws one of several parts; the value's cell is randomized in it. */
export class Mixture {
  constructor(derived, symbols, parts) {
    requireKeys(derived, ["report_width", "groups"], [], "what a mixture derives");
    this.symbols = symbols;
    this.parts = parts;
    this.width = 1 + Math.max(...parts.map((part) => part.made.width));
    demand(derived.report_width === this.width, "the report width does not follow from the groups");
    let end = 0;
    this.ends = parts.map((part) => (end += part.share));
    demand(end === 2 ** 32, "the shares of the groups must sum to 2^32");
  }

  write(symbol, words, bytes, at) {
    words.next();
    const coin = words.high;
    let group = 0;
    while (this.ends[group] <= coin) group += 1;
    const { made, cells, cell = cellOf } = this.parts[group];
    bytes[at] = group;
    made.write(cell(symbol, cells, this.symbols), words, bytes, at + 1);
  }

  check(bytes, at) {
    const part = this.parts[bytes[at]];
    requireReport(part !== undefined, `be of a group in 0..${this.parts.length - 1}`);
    part.made.check(bytes, at + 1);
    for (let i = 1 + part.made.width; i < this.width; i++) {
      requireReport(bytes[at + i] === 0, "be padded with zeros");
    }
  }
}

/** Return floor(symbol * cells / symbols), exactly. */
function cellOf(symbol, cells, symbols) {
  const product = symbol * cells;
  // Only prefixes of huge domains are larger, and there all three are powers of two, or below one.
  if (product <= Number.MAX_SAFE_INTEGER) return Math.floor(product / symbols);
  return Number((BigInt(symbol) * BigInt(cells)) / BigInt(symbols));
}

/** Return the groups of a mixture's document, checked as far as all of them are alike. */
export function groupsOf(derived, count) {
  requireKeys(derived, ["report_width", "groups"], [], "what a mixture derives");
  const { groups } = derived;
  demand(
    Array.isArray(groups) && groups.length === count && count <= 255,
    'what the survey derives ("groups") does not follow from its epsilon and domain',
  );
  for (const group of groups) {
    requireKeys(group, ["share", "randomizer", "cells", "derived"], [], "a group");
    demand(isWhole(group.share, 1, 2 ** 32), "a share must be a whole number in 1..2^32");
  }
  return groups;
}

function requireReport(condition, must) {
  if (!condition) throw new ReportError(`a report must ${must}, but this one does not`);
}
