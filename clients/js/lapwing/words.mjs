// Random words of 64 bits, each as two halves of 32, and the exact draws that are made of them.

import { ArgumentError } from "./errors.mjs";

const POOLED = 16_384; // numbers of 32 bits: the 65,536 bytes that one call may ask for
const HALF = 4_294_967_296;
const EXACT = 2_097_152; // a half times a bound up to here has 53 bits

/** What every source of words has: `next` puts the next word into `high` and `low`. */
class Words {
  high = 0;
  low = 0;

  /** Return a coin that is true with probability threshold / 2^64. */
  coin(threshold) {
    this.next();
    return this.high < threshold.high || (this.high === threshold.high && this.low < threshold.low);
  }

  /** Return a uniform number below a bound, 1..2^40: the word times the bound, divided by 2^64. */
  below(bound) {
    if (bound > EXACT) return this.#largeBelow(bound);
    for (;;) {
      this.next();
      const first = this.low * bound;
      const second = this.high * bound + Math.floor(first / HALF);
      // Only a low half below the bound can be below 2^64 mod bound; the remainder is slow.
      if (second >>> 0 !== 0 || first >>> 0 >= bound || first >>> 0 >= excess(bound)) {
        return Math.floor(second / HALF);
      }
    }
  }

  #largeBelow(bound) {
    const wide = BigInt(bound);
    const least = (1n << 64n) % wide;
    for (;;) {
      const product = this.wide() * wide;
      if (BigInt.asUintN(64, product) >= least) return Number(product >> 64n);
    }
  }

  /** Return the next word as a BigInt. */
  wide() {
    this.next();
    return (BigInt(this.high) << 32n) | BigInt(this.low);
  }

  /** Forget the last word. */
  wipe() {
    this.high = 0;
    this.low = 0;
  }
}

/** 2^64 mod bound. */
function excess(bound) {
  const half = HALF % bound;
  return (half * half) % bound;
}

/** Words of the platform's secure source, drawn 65,536 bytes at a time and wiped when used. */
export class SecureWords extends Words {
  #pool = new Uint32Array(POOLED);
  #at = POOLED;

  next() {
    if (this.#at === POOLED) {
      globalThis.crypto.getRandomValues(this.#pool);
      this.#at = 0;
    }
    const at = this.#at;
    const pool = this.#pool;
    this.low = pool[at];
    this.high = pool[at + 1];
    pool[at] = 0;
    pool[at + 1] = 0;
    this.#at = at + 2;
  }
}

/** Words that are given one by one: for test vectors. */
export class GivenWords extends Words {
  #words;

  constructor(words) {
    super();
    this.#words = words[Symbol.iterator]();
  }

  next() {
    const { value, done } = this.#words.next();
    if (done) throw new ArgumentError("there must be as many words as the report needs");
    const word = BigInt(value);
    if (word < 0n || word >= 1n << 64n) throw new ArgumentError("a word must be in 0..2^64-1");
    this.high = Number(word >> 32n);
    this.low = Number(word & 0xffffffffn);
  }
}

/** Return a threshold, in 1..2^64-1, as the two halves that a coin compares. */
export function halves(threshold) {
  return { high: Number(threshold >> 32n), low: Number(threshold & 0xffffffffn) };
}
