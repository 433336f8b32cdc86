// How each class of randomizer is built from its fields, with all that follows from them checked.
// Where a size follows from epsilon by a floating-point formula, the stated one is taken if it is
// one that the formula gives.

import { BoxWave, cellBlocks } from "./boxes.mjs";
import { demand, isWhole, requireKeys } from "./documents.mjs";
import {
  AffineSubsetSelection,
  CircleWave,
  HadamardResponse,
  LineWave,
  LinearHashing,
  Mixture,
  RandomizedResponse,
  SignedHadamard,
  SignedSubsetSelection,
  SubsetSelection,
  UnaryEncoding,
  demandFollowing,
  groupsOf,
} from "./randomizers.mjs";
import * as sizes from "./sizes.mjs";

const MOST_BITS = 2 ** 24;
const MOST_MEMBERS = 2 ** 20;
const MOST_ELEMENTS = 2 ** 16;

/** Randomizers of Lapwing that this module does not support. */
export const ELSEWHERE = [
  "compressive-privatization",
  "general-wave",
  "local-hashing",
  "piecewise",
  "rappor",
];

/** Randomizers whose cost does not grow with the number of symbols. */
export const HASHING = ["linear-hashing", "prefix-hashing"];

/** Refuse a randomizer unless it has these parameters. */
function requireKnobs(asked, knobs) {
  requireKeys(asked, ["class", "domain", "epsilon", ...knobs], [], "the randomizer");
}

function requirePair(domain) {
  demand(domain.axes !== undefined, "this randomizer is for a product of two axes");
}

const isShare = (share) => Number.isFinite(share) && share > 0 && share <= 1;

function requireOrder(domain, ordered) {
  demand(domain.ordered === ordered, `this randomizer is for ${ordered ? "numbers" : "labels"}`);
}

/** Return the stated number if it is one of those that follow. */
function oneOf(found, stated, name) {
  demandFollowing(found.includes(stated), name);
  return stated;
}

/** Return a size that a survey derives. */
function sizeIn(derived, name) {
  demandFollowing(isWhole(derived[name], 0, Number.MAX_SAFE_INTEGER), name);
  return derived[name];
}

/** Return an optional whole number of a randomizer, or those that follow without it. */
function knob(asked, name, low, high, otherwise) {
  if (asked[name] === null) return otherwise();
  demand(
    isWhole(asked[name], low, high),
    `${name} must be null or a whole number in ${low}..${high}`,
  );
  return [asked[name]];
}

const approximate = (odds) => odds.epsilon.toNumber();

/** By its class: a function of fields, what is derived, domain and odds, to `made` and `input`. */
export const RANDOMIZERS = Object.assign(Object.create(null), {
  "randomized-response": ({ asked, derived, domain, odds }) => {
    requireKnobs(asked, []);
    return { made: new RandomizedResponse(derived, odds, domain.size) };
  },

  "unary-encoding": unary(false),
  "optimized-unary-encoding": unary(true),

  "subset-selection": ({ asked, derived, domain, odds }) => {
    requireKnobs(asked, ["size"]);
    const { size } = domain;
    demand(size <= MOST_MEMBERS, "subset selection takes at most 2^20 symbols");
    const members = knob(asked, "size", 1, size - 1, () => sizes.setSizes(size, approximate(odds)));
    return {
      made: new SubsetSelection(derived, odds, size, oneOf(members, derived.members, "members")),
    };
  },

  "affine-subset-selection": ({ asked, derived, domain, odds }) => {
    requireKnobs(asked, ["size"]);
    const { size } = domain;
    demand(size <= MOST_ELEMENTS, "affine subset selection takes at most 2^16 symbols");
    const elements = fieldSize(size);
    const members = knob(asked, "size", 1, elements - 1, () =>
      sizes.setSizes(elements, approximate(odds)),
    );
    const stated = oneOf(members, derived.members, "members");
    return { made: new AffineSubsetSelection(derived, odds, size, stated) };
  },

  "hadamard-response": ({ asked, derived, domain, odds }) => {
    requireKnobs(asked, ["blocks"]);
    const { size } = domain;
    demand(size <= 2 ** 25, "Hadamard response takes at most 2^25 symbols");
    const blocks = knob(asked, "blocks", 1, size, () => sizes.blockCounts(size, approximate(odds)));
    const stated = oneOf(blocks, sizeIn(derived, "outputs") / sizeIn(derived, "length"), "length");
    demand(Number.isInteger(Math.log2(stated)), "blocks must be a power of two");
    return { made: new HadamardResponse(derived, odds, size, stated) };
  },

  "linear-hashing": ({ asked, derived, domain, odds }) => {
    requireKnobs(asked, ["hash_bits"]);
    requireOrder(domain, false);
    return { made: linearHashing(asked, derived, domain.size, odds) };
  },

  "square-wave": ({ asked, derived, domain, odds }) => {
    requireKnobs(asked, ["width", "grid"]);
    requireOrder(domain, true);
    const { width, grid } = asked;
    demand(
      width === null || (typeof width === "number" && width >= 0 && width <= 1),
      "width must be null or a number in [0, 1]",
    );
    let input = domain;
    if (grid !== null) {
      demand(
        domain.regular === true,
        "a grid needs an interval of equal bins without a missing bin",
      );
      demand(
        isWhole(grid, domain.bins, 2 ** 24) && grid % domain.bins === 0,
        "grid must be a multiple of the bins",
      );
      input = domain.refined(grid);
    }
    const halves = sizes.halfWindows(input.size, approximate(odds), width, domain.circular);
    const half = oneOf(halves, (sizeIn(derived, "near") - 1) / 2, "near");
    const Wave = domain.circular ? CircleWave : LineWave;
    return { made: new Wave(derived, odds, input.size, half), input };
  },

  "multiscale-wave": ({ asked, derived, domain, odds }) => {
    requireKnobs(asked, ["components"]);
    requireOrder(domain, true);
    const { components } = asked;
    const legalScale = (kind, scale) =>
      kind === "cells"
        ? areStarts(scale, domain.size)
        : Number.isFinite(scale) &&
          scale > 0 &&
          (kind === "wave" || isWhole(scale, 2, domain.size)) &&
          (kind !== "affine" || scale <= MOST_ELEMENTS);
    const legal = ([kind, scale, share, ...rest]) =>
      ["wave", "subset", "affine", "cells"].includes(kind) &&
      rest.length === 0 &&
      legalScale(kind, scale) &&
      isShare(share);
    demand(
      domain.size >= 8 &&
        Array.isArray(components) &&
        components.every((row) => Array.isArray(row) && legal(row)),
      'the components must be ["wave", "subset" or "affine", size, share], on at least 8 symbols,' +
        ' or ["cells", first bins, share]',
    );
    const total = components.reduce((sum, [, , share]) => sum + share, 0);
    const groups = groupsOf(derived, components.length);
    const made = groups.map((group, i) => component(group, components[i], domain.size, odds));
    return mixture(
      derived,
      domain,
      made,
      components.map(([, , share]) => share / total),
      components.map(([kind, starts]) => (kind === "cells" ? cellFrom(starts) : undefined)),
    );
  },

  "asked-labels": ({ asked, derived, domain, odds }) => {
    requireKnobs(asked, ["labels", "share"]);
    requireOrder(domain, false);
    const { labels, share } = asked;
    const { size } = domain;
    demand(size >= 3 && size <= MOST_ELEMENTS, "asked labels are of 3 to 2^16 categories");
    demand(
      Array.isArray(labels) &&
        labels.length >= 1 &&
        labels.length <= size - 2 &&
        labels.every((label, i) => isWhole(label, i && labels[i - 1] + 1, size - 1)),
      "labels must be numbers of categories that increase, and leave two",
    );
    demand(isShare(share), "share must be a number in (0, 1]");
    const all = share < 1;
    const groups = groupsOf(derived, all ? 2 : 1);
    const made = [setPart(groups[0], labels.length + 1, odds, BITS_OF_CELLS)];
    if (all) made.push(setPart(groups[1], size, odds, BITS_OF_CELLS));
    const cellOf = (symbol) => (labels.includes(symbol) ? labels.indexOf(symbol) : labels.length);
    return mixture(derived, domain, made, all ? [share, 1 - share] : [1], [cellOf]);
  },

  "box-wave": ({ asked, derived, domain, odds }) => {
    requireKnobs(asked, ["widths"]);
    requirePair(domain);
    return { made: new BoxWave(derived, odds, domain, asked.widths) };
  },

  "multiscale-boxes": ({ asked, derived, domain, odds }) => {
    requireKnobs(asked, ["components"]);
    requirePair(domain);
    const { components } = asked;
    const isSize = (size) => size === null || isWhole(size, 1, Number.MAX_SAFE_INTEGER);
    demand(
      Array.isArray(components) &&
        components.every(
          (row) =>
            Array.isArray(row) &&
            row.length === 3 &&
            ["box", "blocks"].includes(row[0]) &&
            Array.isArray(row[1]) &&
            row[1].length === 2 &&
            row[1].every(isSize) &&
            isShare(row[2]),
        ),
      'the components must be ["box" or "blocks", [size or null, size or null], share]',
    );
    const total = components.reduce((sum, [, , share]) => sum + share, 0);
    const groups = groupsOf(derived, components.length);
    const blocks = components.map(([kind, pair]) =>
      kind === "blocks" ? cellBlocks(domain, pair) : null,
    );
    const made = groups.map((group, i) => {
      if (blocks[i]) return setPart(group, blocks[i].cells, odds, BITS_OF_CELLS, MOST_ELEMENTS);
      checkPart(group, "box-wave", domain.size);
      return new BoxWave(group.derived, odds, domain, components[i][1]);
    });
    return mixture(
      derived,
      domain,
      made,
      components.map(([, , share]) => share / total),
      blocks.map((one) => one?.cellOf),
    );
  },

  hierarchical: ({ asked, derived, domain, odds }) => {
    requireKnobs(asked, ["branching"]);
    requireOrder(domain, true);
    const { branching } = asked;
    demand(
      isWhole(branching, 2, Number.MAX_SAFE_INTEGER),
      "branching must be a whole number of at least 2",
    );
    const levels = [];
    for (let nodes = branching; nodes < domain.size; nodes *= branching) levels.push(nodes);
    levels.push(domain.size);
    const groups = groupsOf(derived, levels.length);
    const made = levels.map((cells, i) =>
      odds.favorsOneSymbol(cells)
        ? part(groups[i], "randomized-response", cells, RandomizedResponse, odds)
        : part(groups[i], "optimized-unary-encoding", cells, UnaryEncoding, odds, true),
    );
    return mixture(derived, domain, made, equal(levels.length));
  },

  "haar-hadamard": ({ asked, derived, domain, odds }) => {
    requireKnobs(asked, []);
    requireOrder(domain, true);
    const levels = domain.size < 2 ? 0 : (domain.size - 1).toString(2).length;
    const groups = groupsOf(derived, levels);
    const made = groups.map((group, level) =>
      part(group, "signed-hadamard", Math.min(2 ** (level + 1), domain.size), SignedHadamard, odds),
    );
    return mixture(derived, domain, made, equal(levels));
  },

  wavelet: ({ asked, derived, domain, odds }) => {
    requireKnobs(asked, ["levels", "users", "allocation"]);
    requireOrder(domain, true);
    const { levels, users, allocation } = asked;
    const most = Math.min(domain.size.toString(2).length - 1, 21);
    demand(isWhole(levels, 1, most), `levels must be a whole number in 1..${most}`);
    demand(
      users === null || isWhole(users, levels, Number.MAX_SAFE_INTEGER),
      "users must be null or at least the levels",
    );
    demand(["optimal", "uniform"].includes(allocation), "allocation must be optimal or uniform");
    demand(
      !domain.hasMissing || 2 ** levels === domain.size,
      "a missing symbol needs a cell of its own",
    );
    const members = Array.from({ length: levels }, (_, level) => odds.signedMembers(2 ** level));
    const groups = groupsOf(derived, levels);
    const made = groups.map((group, level) => {
      checkPart(group, "signed-subset-selection", 2 ** (level + 1));
      return new SignedSubsetSelection(group.derived, odds, 2 ** level, members[level]);
    });
    return mixture(
      derived,
      domain,
      made,
      sizes.levelShares(members, approximate(odds), allocation),
    );
  },

  "prefix-hashing": ({ asked, derived, domain, odds }) => {
    requireKnobs(asked, ["prefixes", "hash_bits"]);
    requireOrder(domain, false);
    const keyBits = (domain.size - 1).toString(2).length;
    demand(
      domain.size === 2 ** keyBits && keyBits >= 2,
      "prefix hashing needs 2^L values, L in 2..40",
    );
    const lengths = asked.prefixes ?? defaultPrefixes(keyBits);
    demand(
      Array.isArray(lengths) &&
        lengths.at(-1) === keyBits &&
        isWhole(lengths[0], 1, 24) &&
        lengths.every((bits, i) => Number.isInteger(bits) && (i === 0 || lengths[i - 1] < bits)),
      "prefixes must be increasing lengths in bits, the first at most 24, the last the whole value",
    );
    const groups = groupsOf(derived, lengths.length);
    const made = groups.map((group, i) => {
      checkPart(group, "linear-hashing", 2 ** lengths[i]);
      return linearHashing(asked, group.derived, 2 ** lengths[i], odds);
    });
    return mixture(derived, domain, made, equal(lengths.length));
  },
});

function unary(optimized) {
  return ({ asked, derived, domain, odds }) => {
    requireKnobs(asked, []);
    demand(domain.size <= MOST_BITS, "unary encoding takes at most 2^24 symbols");
    return { made: new UnaryEncoding(derived, odds, domain.size, optimized) };
  };
}

function linearHashing(asked, derived, symbols, odds) {
  demand(symbols <= 2 ** 40, "linear hashing takes at most 2^40 values");
  const epsilon = approximate(odds);
  const bits = oneOf(
    knob(asked, "hash_bits", 1, 8, () => sizes.hashBits(epsilon)),
    derived.hash_bits,
    "hash_bits",
  );
  const near = oneOf(sizes.nearHashes(bits, epsilon), derived.near, "near");
  return new LinearHashing(derived, odds, symbols, near, bits);
}

/** Return a part of a multiscale wave: a wave, a set of cells, or one cell. */
function component(group, [kind, scale], symbols, odds) {
  const epsilon = approximate(odds);
  if (kind === "wave") {
    checkPart(group, "square-wave", symbols);
    const half = oneOf(
      sizes.waveWindows(symbols, epsilon, scale),
      (sizeIn(group.derived, "near") - 1) / 2,
      "near",
    );
    return new LineWave(group.derived, odds, symbols, half);
  }
  const cells = kind === "cells" ? scale.length : scale;
  const bits = { affine: 0, cells: BITS_OF_CELLS, subset: Infinity }[kind];
  return setPart(group, cells, odds, bits);
}

/** Return a part that reports one cell or a set of cells: by name where it has more than `bits`. */
function setPart(group, cells, odds, bits, mostNamed = Infinity) {
  demand(cells >= 2, "a part must have at least two cells");
  const epsilon = approximate(odds);
  const found = sizes.setSizes(cells, epsilon);
  if (group.randomizer === "randomized-response") {
    oneOf(found, 1, "randomizer");
    return part(group, group.randomizer, cells, RandomizedResponse, odds);
  }
  if (cells > bits && cells <= mostNamed) {
    checkPart(group, "affine-subset-selection", cells);
    const members = oneOf(
      sizes.setSizes(fieldSize(cells), epsilon),
      group.derived.members,
      "members",
    );
    return new AffineSubsetSelection(group.derived, odds, cells, members);
  }
  checkPart(group, "subset-selection", cells);
  const members = oneOf(
    found.filter((size) => size > 1),
    group.derived.members,
    "members",
  );
  return new SubsetSelection(group.derived, odds, cells, members);
}

/** Sets of own cells are sent as bits up to this number of cells. */
const BITS_OF_CELLS = 16;

/** Largest number of own cells. */
const MOST_CELLS = 4096;

/** Return whether these are the first bins of cells: whole numbers that increase from 0. */
const areStarts = (starts, symbols) =>
  Array.isArray(starts) &&
  starts.length >= 2 &&
  starts.length <= MOST_CELLS &&
  starts[0] === 0 &&
  starts.every((start, i) => i === 0 || isWhole(start, starts[i - 1] + 1, symbols - 1));

/** Return the size of the smallest field of 2^k elements with at least this many. */
const fieldSize = (symbols) => 2 ** (symbols - 1).toString(2).length;

function checkPart(group, name, cells) {
  oneOf([name], group.randomizer, "groups");
  oneOf([cells], group.cells, "cells");
  demand(
    group.derived !== null && typeof group.derived === "object" && !Array.isArray(group.derived),
    "what a group derives must be a JSON object",
  );
}

function part(group, name, cells, Made, odds, ...more) {
  checkPart(group, name, cells);
  return new Made(group.derived, odds, cells, ...more);
}

/** Return a function to the last cell that begins at a symbol or before it. */
const cellFrom = (starts) => (symbol) => starts.filter((start) => start <= symbol).length - 1;

function mixture(derived, domain, made, shares, cellFunctions = []) {
  const whole = derived.groups.map(({ share }) => share);
  demand(
    sizes.areShares(whole, shares),
    "the shares of the groups do not follow from the components",
  );
  const parts = made.map((one, i) => ({
    made: one,
    cells: derived.groups[i].cells,
    cell: cellFunctions[i],
    share: whole[i],
  }));
  return { made: new Mixture(derived, domain.size, parts) };
}

const equal = (count) => new Array(count).fill(1 / count);

function defaultPrefixes(keyBits) {
  const lengths = [];
  for (let bits = Math.min(24, keyBits); bits < keyBits; bits += 8) lengths.push(bits);
  return [...lengths, keyBits];
}
