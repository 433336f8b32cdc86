// Sizes that follow from epsilon by floating-point formulas: windows, sets, hashes, shares.
//
// Privacy does not depend on them, because thresholds are computed from the sizes in use; a size
// that does not follow means that the document was changed. The exponential function differs in its
// last place between machines, so each rule returns every size that some machine would find.

const ROUNDINGS = [1 - 2 ** -52, 1, 1 + 2 ** -52];
const SLACK = 1e-12;

/** Return what a rule gives for an exponential that is rounded down, as here, or up. */
function everyRounding(rule) {
  return [...new Set(ROUNDINGS.map(rule))];
}

/** Return the whole parts of a number that may be off in its last places. */
function wholeParts(number) {
  return [...new Set([1 - SLACK, 1, 1 + SLACK].map((factor) => Math.floor(number * factor)))];
}

/** Return the item with the least cost, the first of equal ones. */
function cheapest(items, cost) {
  return items.reduce((best, item) => (cost(item) < cost(best) ? item : best));
}

/** The half-width of a square wave that maximizes a bound on the information in a report. */
function informationWidth(epsilon, circular) {
  const terms = [0.5];
  for (let k = 3; k <= 120; k++) terms.push((terms.at(-1) * epsilon) / k);
  const sum = (list) => list.reduce((total, term) => total + term, 0);
  const numerator = sum(terms.map((term, k) => (k + 1) * term));
  if (circular) return numerator / (2 * (Math.expm1(epsilon) / epsilon) ** 2);
  return numerator / (2 * Math.exp(epsilon) * sum(terms));
}

const divisor = (a, b) => (b ? divisor(b, a % b) : a);

/** Points of a square wave's window on either side of its center. */
export function halfWindows(points, epsilon, width, circular) {
  const found =
    width === null
      ? wholeParts(informationWidth(epsilon, circular) * points)
      : [Math.floor(width * points)];
  if (!circular) return found;
  // A window whose length shares a divisor with the circle's could not be told from others.
  return found.map((half) => {
    half = Math.min(half, Math.floor((points - 2) / 2));
    while (divisor(2 * half + 1, points) > 1) half -= 1;
    return half;
  });
}

/** Points on either side in a wave of a mixture: a multiple of the width, rounded to the grid. */
export function waveWindows(points, epsilon, multiple) {
  const width = Math.min(multiple * informationWidth(epsilon, false), 1);
  return wholeParts(width * points).map((half) => Math.max(0, half));
}

/** Members of the sets of subset selection with the least variance. */
export function setSizes(symbols, epsilon) {
  return everyRounding((rounding) => {
    const power = Math.exp(epsilon) * rounding;
    const ideal = symbols / (power + 1);
    const within = (size) => Math.min(Math.max(size, 1), symbols - 1);
    return cheapest([within(Math.floor(ideal)), within(Math.ceil(ideal))], (size) => {
      const odds = size * power;
      const own = odds / (odds + symbols - size);
      const other = (size - own) / (symbols - 1);
      return (other * (1 - other)) / (own - other) ** 2;
    });
  });
}

/** Blocks of Hadamard response with the least variance: a power of two, at most the symbols. */
export function blockCounts(symbols, epsilon) {
  const powers = Array.from({ length: 32 - Math.clz32(symbols) }, (_, power) => 2 ** power);
  return everyRounding((rounding) => {
    const gain = Math.expm1(epsilon) * rounding;
    return cheapest(powers, (blocks) => (2 * blocks + gain) ** 2 / blocks);
  });
}

function blockDeviation(fraction, gain) {
  return (1 + fraction * gain) / (gain * Math.sqrt(fraction * (1 - fraction)));
}

/** Points near a hash of so many bits, with the least variance. */
export function nearHashes(bits, epsilon) {
  const sizes = Array.from({ length: 2 ** bits - 1 }, (_, near) => near + 1);
  return everyRounding((rounding) => {
    const gain = Math.expm1(epsilon) * rounding;
    return cheapest(sizes, (near) => blockDeviation(near / 2 ** bits, gain));
  });
}

/** Bits of a hash: the fewest within 0.2% of the least deviation, at most 8. */
export function hashBits(epsilon) {
  return everyRounding((rounding) => {
    const gain = Math.expm1(epsilon) * rounding;
    const best = blockDeviation(1 / (Math.exp(epsilon) * rounding + 1), gain);
    for (let bits = 1; bits < 8; bits++) {
      const [near] = nearHashes(bits, epsilon);
      if (blockDeviation(near / 2 ** bits, gain) <= 1.002 * best) return bits;
    }
    return 8;
  });
}

/** Shares of the levels of a wavelet: equal, or those that minimize the bound on the error. */
export function levelShares(members, epsilon, allocation) {
  if (allocation === "uniform") return members.map(() => 1 / members.length);
  const excess = Math.expm1(epsilon);
  const weights = members.map((m, level) => {
    const d = 2 ** level;
    const variance = (m * excess + 2 * d) ** 2 / (m * excess ** 2);
    return Math.sqrt(d * variance) / d;
  });
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

/** Whether whole shares of 2^32 are those of a list of shares; the largest takes what is left. */
export function areShares(whole, shares) {
  const largest = shares.indexOf(Math.max(...shares));
  const fit = (share, i) =>
    i === largest || wholeParts(shares[i] * 2 ** 32).some((part) => Math.max(part, 1) === share);
  return whole.every(fit) && whole.reduce((sum, share) => sum + share, 0) === 2 ** 32;
}
