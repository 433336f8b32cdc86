// Domains: the legal values, and how a value becomes the number of its symbol.
//
// Arithmetic is that of 64-bit floats in the order of the report format, so that a value on an edge
// is in the same bin on every device, bit for bit (of a logarithmic scale to the last places).

import { demand, isPrintable, isWhole, requireKeys } from "./documents.mjs";
import { DomainError, UnsupportedError } from "./errors.mjs";
import { comparedLabel, comparedText, labelText, requireRules } from "./labels.mjs";
import { sha256OfText } from "./sha256.mjs";
import { asNumber } from "./times.mjs";

const MOST_BINS = 2 ** 24;
const MOST_SYMBOLS = 2 ** 20; // that a device takes: more would cost it too much time and memory
const MOST_LISTED = 2 ** 16; // edges that are kept; of more bins they are worked out when needed

/** Seconds up to the year 5138. The milliseconds of any day since March 1973 are beyond. */
const MOST_SECONDS = 1e11;

/** How a person's value is written where a plain number would not say its unit. */
const WRITTEN = { date: "2026-11-21", "time-of-day": "09:30" };

/** Return the domain that a document describes; FormatError when it describes none. */
export function buildDomain(document) {
  const made = typeof document?.class === "string" ? DOMAINS[document.class] : undefined;
  demand(made !== undefined, `a domain must be one of ${Object.keys(DOMAINS).join(", ")}`);
  return new made(document);
}

/** Refuse more symbols than a device supports. */
export function requireFew(symbols) {
  if (symbols <= MOST_SYMBOLS) return;
  throw new UnsupportedError(
    `a device answers surveys of at most ${MOST_SYMBOLS} bins or labels, but this one has ` +
      "more. Use fewer bins, or a hashing randomizer",
  );
}

/** What all domains share. `symbol` is -1 for anything that is not one of their values. */
class Domain {
  ordered = false;
  circular = false;
  first = 0; // of the symbols that are neither outside the range nor missing; `inside` of them

  constructor(document, missing) {
    this.document = document;
    demand(
      document.missing === "refuse" || document.missing === missing,
      `missing must be refuse or ${missing}`,
    );
    this.hasMissing = document.missing !== "refuse";
  }

  /** Symbols, with the missing one. */
  get size() {
    return this.legal + Number(this.hasMissing);
  }

  /** Return the symbol of a value; null, undefined and NaN stand for a missing one. */
  index(value) {
    const read = this.read(value);
    if (!isMissing(read)) return this.symbol(read);
    if (this.hasMissing) return this.size - 1;
    throw new DomainError(
      "a value must be present and in the domain. Leave out people without one",
    );
  }

  /** Refuse a plain number for a person's date or time of day: it could be hours or seconds. */
  requireUnit(value) {
    const { unit } = this.document;
    const plain = ["number", "bigint"].includes(typeof value) && !isMissing(value);
    if (plain && Object.hasOwn(WRITTEN, unit ?? "number")) {
      throw new DomainError(
        `a ${unit} must not be a plain number on a device, because the number does not say its ` +
          `unit. Write it as a string, such as "${WRITTEN[unit]}"`,
      );
    }
  }

  /** Return what a value stands for: itself, of an ordered domain a number; NaN when missing. */
  read(value) {
    if (typeof value === "bigint") return Number(value);
    return this.ordered && !isMissing(value) ? this.#number(value) : value;
  }

  #number(value) {
    const unit = this.document.unit ?? "number";
    const found = asNumber(value, unit);
    // Where missing values are counted, what cannot be read is one of them.
    if (!Number.isNaN(found) || this.hasMissing) return found;
    throw new DomainError(`a value must be a ${unit}, got a ${typeof value} that is not one`);
  }
}

const isMissing = (value) => value === null || value === undefined || Number.isNaN(value);

class Categories extends Domain {
  constructor(document) {
    requireKeys(document, ["class", "labels", "missing"], ["other"], "a domain of categories");
    super(document, "category");
    const { labels, other } = document;
    if (Array.isArray(labels)) {
      demand(labels.length > 0, "there must be at least one label");
      const legal = (label) => typeof label === "string" || Number.isSafeInteger(label);
      demand(labels.every(legal), "every label must be a string or a whole number");
      requireRules(labels, "every label");
      this.numbers = new Map(labels.map((label, number) => [comparedLabel(label), number]));
      // A value that is no label itself is one by its text.
      const texts = [...this.numbers].map(([label, number]) => [String(label), number]);
      this.texts = new Map(texts);
      demand(this.texts.size === labels.length, "labels must all be different");
      this.legal = labels.length;
    } else {
      demand(isWhole(labels, 1, 2 ** 40), "labels must be a list, or their number in 1..2^40");
      this.numbers = null;
      this.legal = labels;
    }
    this.inside = this.legal;
    this.other = Object.hasOwn(document, "other") ? this.#known(other) : -1;
    demand(this.other >= 0 || !Object.hasOwn(document, "other"), "other must be one of the labels");
  }

  #known(value) {
    if (this.numbers) return this.numbers.get(comparedLabel(value)) ?? -1;
    return isWhole(value, 0, this.legal - 1) ? value + 0 : -1;
  }

  #byText(value) {
    const text = labelText(value);
    if (text === null) return -1;
    if (this.numbers) return this.texts.get(comparedText(text)) ?? -1;
    const number = /^[0-9]{1,15}$/.test(text) ? Number(text) : -1;
    return number < this.legal ? number : -1;
  }

  symbol(value) {
    const exact = this.#known(value);
    const known = exact >= 0 ? exact : this.#byText(value);
    if (known >= 0) return known;
    if (this.other >= 0) return this.other;
    throw new DomainError("a value must be one of the domain's labels, but this one is not");
  }
}

class HashedStrings extends Domain {
  constructor(document) {
    requireKeys(document, ["class", "bits", "missing"], [], "a domain of hashed strings");
    super(document, "category");
    demand(isWhole(document.bits, 1, 40), "bits must be a whole number in 1..40");
    this.legal = 2 ** document.bits;
  }

  symbol(value) {
    if (typeof value !== "string") {
      throw new DomainError(`a value must be a string, got a ${typeof value}`);
    }
    const view = new DataView(sha256OfText(comparedText(value)).buffer);
    const first = view.getUint32(0) * 256 + view.getUint8(4); // 40 bits
    return Math.floor(first / 2 ** (40 - this.document.bits));
  }
}

function requireWhole(number) {
  if (Math.floor(number) !== number) {
    throw new DomainError("a value must be a whole number, but this one is not. Round it");
  }
}

class Integers extends Domain {
  ordered = true;

  constructor(document) {
    const keys = ["class", "low", "high", "outside", "missing"];
    requireKeys(document, keys, [], "a domain of integers");
    super(document, "bin");
    const { low, high } = document;
    const whole = Number.isSafeInteger(low) && Number.isSafeInteger(high);
    demand(whole, "low and high must be whole numbers");
    demand(low <= high && high - low < MOST_BINS, "there must be 1..2^24 numbers from low to high");
    requireOutside(document);
    this.overflow = document.outside === "overflow";
    this.first = Number(this.overflow);
    this.inside = high - low + 1;
    this.legal = this.inside + (this.overflow ? 2 : 0);
  }

  symbol(value) {
    const { low, high } = this.document;
    const number = inside(value, this.document);
    requireWhole(this.overflow ? value : number);
    if (!this.overflow) return number - low;
    return value > high ? this.legal - 1 : number - low + (value < low ? 0 : 1);
  }
}

class Interval extends Domain {
  ordered = true;
  #ends;
  #pieces = null;

  constructor(document) {
    const keys = [
      "class",
      "low",
      "high",
      "bins",
      "circular",
      "scale",
      "atoms",
      "outside",
      "missing",
      "unit",
    ];
    requireKeys(document, keys, ["closed", "edges", "whole"], "an interval");
    super(document, "bin");
    const { low, high, bins, scale, atoms, edges } = document;
    const numbers = (list) => Array.isArray(list) && list.every((one) => typeof one === "number");
    const rising = (list) => list.every((one, i) => i === 0 || list[i - 1] < one);
    demand(
      numbers([low, high]) && low < high && Number.isFinite(high - low),
      "low and high must be finite numbers, low below high",
    );
    demand(isWhole(bins, 1, MOST_BINS), "bins must be a whole number in 1..2^24");
    requireFew(bins);
    demand(typeof document.circular === "boolean", "circular must be true or false");
    demand(["linear", "log"].includes(scale), "scale must be linear or log");
    demand(
      scale === "linear" || (low > 0 && !document.circular && Number.isFinite(high / low)),
      "a log scale needs low above 0 and no circle",
    );
    demand(
      numbers(atoms) && rising(atoms) && atoms.every((one) => low <= one && one <= high),
      "atoms must be increasing numbers from low to high",
    );
    demand(
      !document.circular || !atoms.includes(high),
      "on a circle, high equals low, even for an atom",
    );
    requireOutside(document);
    demand(
      document.outside !== "overflow" || !document.circular,
      "a circle has no outside: leave overflow out",
    );
    demand(
      ["number", "date", "datetime", "time-of-day", "duration"].includes(document.unit),
      "unit must be number, date, datetime, time-of-day or duration",
    );
    demand(
      !Object.hasOwn(document, "closed") || document.closed === "right",
      "closed must be right, or absent",
    );
    demand(
      !Object.hasOwn(document, "whole") ||
        (document.whole === true &&
          !document.circular &&
          ["number", "date"].includes(document.unit)),
      "whole must be true on a line of numbers or dates, or absent",
    );
    if (Object.hasOwn(document, "edges")) {
      demand(
        numbers(edges) &&
          edges.length === bins + 1 &&
          rising(edges) &&
          scale === "linear" &&
          edges[0] === low &&
          edges[bins] === high,
        "edges must rise from low to high, one more than bins",
      );
    }
    this.circular = document.circular;
    this.right = document.closed === "right";
    this.bins = bins;
    this.edges = edges;
    this.#ends =
      bins <= MOST_LISTED ? Float64Array.from({ length: bins + 1 }, (_, i) => this.edge(i)) : null;
    this.#requireWide();
    this.overflow = document.outside === "overflow";
    this.first = Number(this.overflow);
    this.inside = this.#split() ? this.#pieces.symbols : bins;
    this.legal = this.inside + (this.overflow ? 2 : 0);
  }

  /** Whether the symbols are just bins of equal width or ratio. */
  get regular() {
    return this.size === this.bins && this.edges === undefined;
  }

  /** Return the same interval with another number of bins. */
  refined(bins) {
    return new Interval({ ...this.document, bins });
  }

  #requireWide() {
    const { low, high } = this.document;
    const wide = this.edges || Number.isFinite(this.bins / (high - low));
    let last = this.edge(0);
    for (let i = 1; wide && i <= this.bins; i++) {
      const next = this.edge(i);
      if (!(last < next)) break;
      last = next;
    }
    demand(last === high && wide, "the bins are too narrow for 64-bit floats");
  }

  /** Return the lower end of bin i, or the end of all. */
  edge(i) {
    if (this.edges) return this.edges[i];
    const { low, high, scale } = this.document;
    const bins = this.bins;
    if (i === 0) return low;
    if (i === bins) return high;
    if (scale === "log") {
      const edge = low * (high / low) ** (i / bins);
      // Closed on the right, an edge that is a decimal but for rounding is that decimal.
      if (this.document.closed !== "right" || high / low - 1 <= bins * 2 ** -30) return edge;
      const written = Number(edge.toPrecision(12));
      return Math.abs(written - edge) <= 2 ** -46 * written ? written : edge;
    }
    // Multiplied first, so that a round edge is round; a power of two keeps it from overflowing.
    const small = 2 ** (Math.clz32(bins) - 32);
    return low + ((high - low) * small * i) / (bins * small);
  }

  /** Compute the ends of the intervals into which atoms split the bins, if there are atoms. */
  #split() {
    const { atoms } = this.document;
    if (atoms.length === 0) return false;
    const ends = Float64Array.from({ length: this.bins + 1 }, (_, i) => this.edge(i));
    const all = [...new Set([...ends, ...atoms.map((atom) => atom + 0)])].sort((a, b) => a - b);
    this.#pieces = { edges: all, symbols: all.length - 1 + atoms.length };
    return true;
  }

  read(value) {
    const number = super.read(value);
    this.#requireSeconds(value, number);
    if (!this.circular || isMissing(number)) return number;
    const { low, high } = this.document;
    let rest = (number - low) % (high - low);
    if (rest < 0) rest += high - low;
    const turned = low + rest; // NaN where the value is infinite: it has no place on a circle
    return turned >= high ? low : turned;
  }

  /** Refuse Date.now() and getTime(), which would lie far outside, and be paid for. */
  #requireSeconds(value, number) {
    const { unit, low, high } = this.document;
    const plain = unit === "datetime" && ["number", "bigint"].includes(typeof value);
    const far = Number.isFinite(number) && Math.abs(number) > MOST_SECONDS;
    if (plain && far && Math.max(-low, high) <= MOST_SECONDS) {
      throw new DomainError(
        "a datetime given as a number must be seconds since 1970, but this one exceeds 10^11. " +
          "Pass the Date itself, or divide milliseconds by 1000",
      );
    }
  }

  symbol(value) {
    if (this.document.whole) requireWhole(value);
    if (this.overflow && value < this.document.low) return 0;
    if (this.overflow && this.#above(value)) return this.inside + 1;
    const number = this.circular ? value : inside(value, this.document);
    const symbol = this.#pieces ? this.#symbolOfPiece(number) : this.#binOf(number);
    return symbol + (this.overflow ? 1 : 0);
  }

  /** Whether a value lies above: with `high` itself, where nothing inside holds just that. */
  #above(value) {
    const { high, atoms } = this.document;
    return value > high || (value === high && !this.right && !atoms.includes(high));
  }

  /** Return the number of edges[i] <= x (or < x, where bins are closed on the right), less 1. */
  #below(number, edge, count) {
    let [low, high] = [0, count];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const start = edge(middle);
      if (this.right ? start < number : start <= number) low = middle + 1;
      else high = middle;
    }
    return this.#outermost(low - 1, count - 1);
  }

  /** Return a piece, with the closed end of the line, or of the circle, in one of them. */
  #outermost(piece, pieces) {
    if (this.circular) return (piece + pieces) % pieces;
    return Math.min(Math.max(piece, 0), pieces - 1);
  }

  #binOf(number) {
    const ends = this.#ends;
    return this.#below(number, ends ? (i) => ends[i] : (i) => this.edge(i), this.bins + 1);
  }

  #symbolOfPiece(number) {
    const { atoms } = this.document;
    const { edges } = this.#pieces;
    const piece = this.#below(number, (i) => edges[i], edges.length);
    // Atoms and pieces are numbered together; an atom comes before the piece that starts there.
    const atom = atoms.indexOf(number);
    if (atom >= 0) return atom + edges.findIndex((edge) => edge >= number);
    return piece + atoms.filter((one) => one <= edges[piece]).length;
  }
}

/** Pairs of two attributes: a cell for each symbol of the first axis with each of the second. */
class Product {
  ordered = false;
  circular = false;

  constructor(document) {
    requireKeys(document, ["class", "axes"], [], "a product");
    this.document = document;
    const rows = Array.isArray(document.axes) ? document.axes : [];
    for (const row of rows) requireKeys(row, ["name", "domain"], [], "an axis");
    demand(
      rows.length === 2 &&
        rows.every(({ name }) => isPrintable(name, 100) && !RESERVED.includes(name)) &&
        rows[0].name !== rows[1].name,
      "a product must have two axes with different names of 1 to 100 printable characters",
    );
    const legal = ["interval", "integers", "categories"];
    demand(
      rows.every(({ domain }) => legal.includes(domain?.class)),
      `an axis must be one of ${legal.join(", ")}`,
    );
    this.axes = rows.map(({ name, domain }) => ({ name, domain: buildDomain(domain) }));
    requireFew(this.size);
  }

  get size() {
    return this.axes[0].domain.size * this.axes[1].domain.size;
  }

  /** Return the cell of a pair: an array of two values, or an object by the names of the axes. */
  index(pair) {
    const [row, column] = this.#ofAxes(pair, (domain, value) => domain.index(value));
    return row * this.axes[1].domain.size + column;
  }

  requireUnit(pair) {
    this.#ofAxes(pair, (domain, value) => domain.requireUnit(value));
  }

  /** Return what becomes of the value of each axis. A DomainError names the axis. */
  #ofAxes(pair, work) {
    const names = this.axes.map(({ name }) => name);
    const values = Array.isArray(pair)
      ? pair
      : names.filter((name) => Object.hasOwn(pair ?? {}, name)).map((name) => pair[name]);
    if (values.length !== 2) {
      throw new DomainError(
        `a value must be a pair of ${names.join(" and ")}: an array of two values, or an object ` +
          "with both names",
      );
    }
    return this.axes.map(({ name, domain }, i) => {
      try {
        return work(domain, values[i]);
      } catch (error) {
        if (error instanceof DomainError) error.message = `axis ${name}: ${error.message}`;
        throw error;
      }
    });
  }
}

/** Names of an axis that questions have a meaning of their own for. */
const RESERVED = ["self", "cls", "level"];

const DOMAINS = Object.assign(Object.create(null), {
  interval: Interval,
  integers: Integers,
  categories: Categories,
  "hashed-strings": HashedStrings,
  product: Product,
});

function requireOutside(document) {
  const legal = ["overflow", "clip", "refuse"].includes(document.outside);
  demand(legal, "outside must be overflow, clip or refuse");
}

/** Return a number moved into [low, high], or refuse it. */
function inside(number, { low, high, outside }) {
  if (outside === "refuse" && !(low <= number && number <= high)) {
    throw new DomainError("a value must lie from low to high of the domain, but this one does not");
  }
  return Math.min(Math.max(number, low), high);
}
