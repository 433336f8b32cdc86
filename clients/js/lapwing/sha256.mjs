// SHA-256, synchronous and without crypto.subtle, which browsers keep from pages that came over
// plain HTTP; what is hashed here is public, or hashed before it is randomized on the same device.

import { DomainError } from "./errors.mjs";

const [START, ROUNDS] = fractions();

/** First 32 bits of the fractions of the square roots of 8 primes and the cube roots of 64. */
function fractions() {
  const primes = [];
  for (let number = 2; primes.length < 64; number++) {
    if (primes.every((prime) => number % prime)) primes.push(number);
  }
  // floor(root * 2^32) by whole numbers, so that no rounding of a float decides a bit.
  const bits = (prime, power) => {
    const wanted = BigInt(prime) << BigInt(32 * power);
    let root = 0n;
    for (let bit = 36n; bit >= 0n; bit--) {
      const tried = root | (1n << bit);
      if (tried ** BigInt(power) <= wanted) root = tried;
    }
    return Number(root & 0xffffffffn) | 0;
  };
  return [
    Int32Array.from(primes.slice(0, 8), (prime) => bits(prime, 2)),
    Int32Array.from(primes, (prime) => bits(prime, 3)),
  ];
}

const turned = (word, by) => (word >>> by) | (word << (32 - by));

/** Return the SHA-256 of bytes: Uint8Array of 32. */
export function sha256(bytes) {
  const state = Int32Array.from(START);
  const blocks = Math.ceil((bytes.length + 9) / 64);
  const padded = new Uint8Array(64 * blocks);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, bytes.length * 8);
  const w = new Int32Array(64);
  for (let start = 0; start < padded.length; start += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(start + 4 * i);
    for (let i = 16; i < 64; i++) {
      const s0 = turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ (w[i - 15] >>> 3);
      const s1 = turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ (w[i - 2] >>> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const s1 = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
      const first = (h + s1 + ((e & f) ^ (~e & g)) + ROUNDS[i] + w[i]) | 0;
      const s0 = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
      const second = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] += word));
  }
  const digest = new Uint8Array(32);
  state.forEach((word, i) => new DataView(digest.buffer).setInt32(4 * i, word));
  return digest;
}

/** Return the SHA-256 of a text's UTF-8 bytes; DomainError unless it is valid Unicode. */
export function sha256OfText(text) {
  if (/\p{Surrogate}/u.test(text)) {
    throw new DomainError("a string must be valid Unicode, but this one has a lone surrogate");
  }
  return sha256(new TextEncoder().encode(text));
}

/** Return bytes as lowercase hexadecimal digits. */
export function hexadecimal(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Return the bytes that hexadecimal digits represent. */
export function bytesOf(digits) {
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** Return the HMAC-SHA-256 of a text, as hexadecimal digits; the secret is 64 of them. */
export function hmacOfText(secret, text) {
  const key = bytesOf(secret);
  const padded = (byte) => Uint8Array.from({ length: 64 }, (_, i) => (key[i] ?? 0) ^ byte);
  const inner = sha256(Uint8Array.of(...padded(0x36), ...new TextEncoder().encode(text)));
  return hexadecimal(sha256(Uint8Array.of(...padded(0x5c), ...inner)));
}
