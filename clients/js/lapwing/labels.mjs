// Texts as labels: two that look the same and differ only in their Unicode form are one label.

import { demand } from "./documents.mjs";

// Code points that Unicode 14 assigns to no character: ranges in turns of how many are assigned and
// how many are not, in base 36. The Python package has the same table.
const UNASSIGNED = `
oo 2 6 4 7 1 1 1 k 1 b1 1 12 2 1e 2 3 1 1j 8 r 4 6 b 7i 1 1o 2 2t e 1n 2 1d 2 f 1 s 2 1 1 b
5 v 1 2 6 6k 1 8 2 2 2 m 1 7 1 1 3 4 2 9 2 2 2 4 8 1 4 2 1 5 2 p 2 3 1 6 4 2 2 m 1 7 1 2 1 2
1 2 2 1 1 5 4 2 2 3 3 1 7 4 1 1 7 h a 3 1 9 1 3 1 m 1 7 1 2 1 5 2 a 1 3 1 3 2 1 f 4 2 c 7 7
1 3 1 8 2 2 2 m 1 7 1 2 1 5 2 9 2 2 2 3 7 3 4 2 1 5 2 i a 2 1 6 3 3 1 4 3 2 1 1 1 2 3 2 3 3
3 c 4 5 3 3 1 4 2 1 6 1 e l 5 d 1 3 1 n 1 g 2 9 1 3 1 4 7 2 1 3 2 1 2 4 2 a 7 m 1 3 1 n 1 a
1 5 2 9 1 3 1 4 7 2 6 2 1 4 2 a 1 2 d d 1 3 1 1f 1 3 1 6 4 g 2 q 1 3 1 i 3 o 1 9 1 1 2 7 3 1
4 6 1 1 1 8 6 a 2 3 c 1m 4 t 11 2 1 1 1 5 1 o 1 1 1 n 2 5 1 1 1 6 2 a 2 4 w 20 1 10 4 13 1
10 1 f 1 d 11 5i 1 1 5 1 2 ah 1 4 2 7 1 1 1 4 2 15 1 4 2 x 1 4 2 7 1 1 1 4 2 f 1 1l 1 4 2 1v
2 w 3 q 6 2e 2 6 2 il 3 2h 7 m 9 o 9 k c d 1 3 1 2 c 2m 2 a 6 a 6 q 6 2h 7 17 5 1y a v 1 c 4
c 4 1 3 16 2 5 b 18 4 q 6 b 3 1q 2 1t 1 t 2 b 6 a 6 e 2 v 1d 25 3 1b 1 38 8 1o 3 f 3 1o 7 17
2 b 8 17 5 eu 2 6 2 12 2 6 2 8 1 1 1 1 1 1 1 v 2 1h 1 f 1 e 2 6 1 j 2 3 1 9 1 2t 1 c 2 r 1 d
3 x f x f 3w 4 if p b l 1ec 2 w 1 9p 5 19 1 1 5 1 2 1k 7 2 e o 9 7 1 7 1 7 1 7 1 7 1 7 1 7 1
7 1 3i y q 1 2h c 5y q c 4 1s 1 2e 2 2v 5 17 1 2m 1 2c c 1b 1 mlp 3 1j 9 9o k 54 8 5n 5 2 1
1 1 5 o 1n 3 a 6 1k 8 1y 8 c 6 38 b u 3 26 1 b 4 x 1 1j 9 e 2 a 2 2v o s a 6 2 6 2 6 9 7 1 7
1 1o 4 3i 2 a 6 8mc c n 4 1d 4 6su 2 2y 12 7 c 5 5 q 1 5 1 1 1 2 1 2 1 3h g cd 2 1i 7 1 w 16
6 1f 1 j 1 4 4 5 1 3r 2 1 1 5a 3 6 2 6 2 6 2 3 3 7 1 7 a 5 2 c 1 q 1 j 1 2 1 f 2 e y 3f 5 3
4 19 3 2g 1 d 3 1 1b 1a 3m t 3 1d f s 4 10 9 u 5 17 5 u 1 11 4 e 16 4e 2 a 6 10 4 10 4 14 8
1g b c 1 f 1 7 1 2 1 b 1 f 1 7 1 2 1v 8n 9 m a 8 o 6 1 16 1 9 1x 6 2 1 1 18 1 2 3 1 2 n 1 20
8 9 1c j 1 2 5 x 3 r 5 1 1s 1k 4 k 2 1e 1 2 5 8 1 3 1 t 2 3 4 a 7 9 7 1s w 13 4 c 9 1i 3 t 2
r 5 q 7 4 c 7 28 21 1j 1f d 1f 7 1a 8 a 86 v 1 16 1 3 2 2 26 14 8 16 m q 12 s k n 9 26 4 10
9 1w a 1 2 p 7 a 6 1h 1 i 8 13 9 2o 1 k b i 1 18 1t 7 1 1 1 4 1 f 1 b 6 1n 5 a 6 4 1 8 2 2 2
m 1 7 1 2 1 5 1 a 2 2 2 3 2 1 6 1 5 7 2 7 3 5 3v 2k 1 5 u 20 8 a 4m 1i 2 12 y 1x b a 6 d j
1m 6 a 1i r 2 f 4 n 55 1o 2s 2b c 8 2 1 2 8 1 2 1 u 1 2 2 c 9 a 1y 8 2 1a 2 b r 20 8 2b d 21
7b 9 1 19 1 e a t 3 w 2 m 1 e 21 7 1 2 1 18 3 1 1 2 1 9 8 a 6 6 1 2 1 11 1 2 1 6 7 a 8m p 53
1 f 1e d pn 2u 33 1 5 b 5g 218 2r d tr 1 9 347 g7 6nt ft 7 v 1 a 4 29 1 a 6 u 2 6 a 1y a a 1
7 1 l 5 j j4 2j 2t 23 4 1l 7 h 1s 5 b 2 e 4qg 8 ye 16 9 6w7 4 1 7 1 2 1 83 19 3 h 4 8 b0 1s4
2z 5 d 3 9 7 a 2 8 3mk 1a 2 n 9 38 1o 6u a 13 2 5e l 1y 4a k c 2f 9 p 3r 2d 1 1z 1 2 2 1 2 2
2 4 1 c 1 1 1 7 1 1t 1 4 2 8 1 7 1 s 1 4 1 5 1 1 3 7 1 9g 2 84 2 ji f 5 1 f uo v 69 7 1 h 2
7 1 2 1 5 5x 19 3 e 2 a 4 2 8w v h 1m 5 1 yo 7 1 4 1 2 1 f 1 5h 2 g 15 24 4 a 4 2 lt 1w 24
1p 5e 4 1 r 1 2 1 1 2 1 1 a 1 4 1 1 1 1 6 1 4 1 1 1 1 1 1 3 1 2 1 1 2 1 1 1 1 1 1 1 1 1 1 2
1 1 2 4 1 7 1 4 1 4 1 1 1 a 1 h 5 3 1 5 1 h 1g 2 7i 18 4 2s c f 2 f 1 f 1 11 a 4u 1k t d 18
4 9 7 2 e 6 4a rc 5 g 3 d 3 38 c 2h 7 c 4 1 f c 4 1k 8 a 6 14 8 u 2 2 26 9g c e 2 5 3 5 3 7
9 t 3 b 5 6 a a 6 8 8 7 9 43 1 1j 11 a sm wyo w 37d 7 66 2 4g2 e 5rl 2e7 f2 15u 3t7 fcfq 1 u
2o 3k 6o 1e6o 1eke 2 1eke 2
`;

// Combining marks of Unicode 14: ranges in turns of how many code points are not marks and how many
// are. A mark has a combining class above 0, or decomposes into such marks. The Python package has
// the same table, and Unicode never changes it.
const MARKS = `
lc 27 1 w 7n 5 7d 19 1 1 1 2 1 2 1 1 20 b 1c l g 1 2t 7 2 6 2 2 1 4 z 1 u r 4g 9 9 1 o 4 1 9
1 3 1 5 17 3 1o 8 16 o 1 t 1o 1 g 1 3 4 2v 1 g 1 1c 1 1p 1 g 1 32 1 g 1 32 1 g 1 3j 1 32 1 g
1 7 2 2t 1 g 1 31 2 g 1 3g 1 31 3 d 4 30 3 d 4 24 2 r 1 1 1 1 1 1j 5 4 4 2 5 1 2 1q 1 34 1 1
2 2a 1 jz 3 qc 2 u 1 4d 1 a 1 5n 1 3z 3 63 2 1z 1 k 8 2 1 1c e 1 g 2t 1 f 1 12 9 1i 2 1m 1 b
2 1v 1 48 3 1 d 1 7 4 1 6 1 3 2 5i 1s k0 d 4 1 3 c 2da 3 3x 1 2o w fe 6 2x 2 n9w 1 4 a w 2 28
2 7o 1 11 1 47 1 r i 1l 3 11 1 2n 1 c 1 6n 1 1 3 2 2 5 2 1 1 1g 1 6u 1 fn4 1 ld g r1 1 6a 1
45 5 1aq 1 1 1 14 3 4 1 4l 2 fx 4 ar 2 49 b 1d 4 5c 1 15 1 e 1 1l 2 1x 3 1c 2 1q 1 24 1 9 1
2y 2 4y 2 28 2 g 1 o 7 3 5 5p 1 3 1 n 1 2r 2 6z 2 3i 1 3a 2 37 1 7h 2 76 2 4 1 4c 1 2b 1 i 1
29 1 bp 1 76 1 1 2 29 1 fa0 5 1n 7 xl 2 f58 1 43q 5 3 6 8 8 2 7 u 4 44 3 2pn 7 1 h 2 7 1 2 1
5 79 7 af 1 1p 4 15s 7 31 7
`;

const MOST_MARKS = 30; // in a row (UAX #15): longer rows take time with the square of their length
const LONGEST_LABEL = 1000;

const ASCII = /^[\0-\x7f]*$/;

// Control characters, line breaks, and what turns the direction of the text that follows.
const UNSEEN = /[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/;

const patterns = {};

/** Return the pattern of as many code points of a table in a row. */
function pattern(table, times) {
  let end = 0;
  const hex = (number) => `\\u{${number.toString(16)}}`;
  const ends = table
    .trim()
    .split(/\s+/)
    .map((count) => (end += Number.parseInt(count, 36)));
  const ranges = ends.map((each, place) => (place % 2 ? `-${hex(each - 1)}` : hex(each)));
  return new RegExp(`[${ranges.join("")}]{${times}}`, "u");
}

const hasUnassigned = (text) => (patterns.unassigned ??= pattern(UNASSIGNED, 1)).test(text);

const hasRowOfMarks = (text) =>
  text.length > MOST_MARKS && (patterns.marks ??= pattern(MARKS, MOST_MARKS + 1)).test(text);

const isLong = (text) => text.length > LONGEST_LABEL && [...text].length > LONGEST_LABEL;

/**
 * Return the form in which a text is compared with others: NFC, or the text itself.
 *
 * The normal form of a text never changes once its code points are assigned, so every engine finds
 * the same. A text with a code point that Unicode 14 does not assign is compared as it is. So is
 * one of more than 1,000 characters, or with more than 30 combining marks in a row.
 */
export function comparedText(text) {
  if (ASCII.test(text) || isLong(text)) return text;
  if (hasRowOfMarks(text)) return text;
  const form = text.normalize("NFC");
  return form === text || hasUnassigned(text) ? text : form;
}

/** Return what a declared label must do that this text does not; null for a legal one. */
function brokenRule(label) {
  if (isLong(label)) return "have at most 1,000 characters";
  if (/\p{Surrogate}/u.test(label)) return "be valid Unicode, without a lone surrogate";
  if (UNSEEN.test(label)) {
    return "contain no control character, line break or bidirectional override";
  }
  return hasRowOfMarks(label) ? `have at most ${MOST_MARKS} combining marks in a row` : null;
}

/** Refuse labels of which one breaks a rule. */
export function requireRules(labels, name) {
  const rule = labels.filter((label) => typeof label === "string").map(brokenRule).find(Boolean);
  demand(!rule, `${name} must ${rule}`);
}

/** Return the text that a value is as a label; null for what is none. */
export function labelText(value) {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  return Number.isInteger(value) ? BigInt(value).toString() : null;
}

/** Return a value as it is compared with labels. */
export function comparedLabel(value) {
  return typeof value === "string" ? comparedText(value) : value;
}
