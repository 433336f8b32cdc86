// Boxes of cells, for pairs of attributes: which outputs of an axis see each of its symbols, and
// the two-level design on their product, as in the report format.

import { demand, isWhole } from "./documents.mjs";
import { TwoLevel } from "./randomizers.mjs";

const MOST_SETS = 5000; // of labels, that a report may name
const MOST_PLACES = 2 ** 20; // labels times sets of several labels

/** Return the place of a symbol among those that are not bins: outside the range, or missing. */
const placeApart = (axis, symbol) => symbol - (symbol < axis.first ? 0 : axis.inside);

const isBin = (axis, symbol) => axis.first <= symbol && symbol < axis.first + axis.inside;

/** An axis that a report says nothing about. */
const NOT_ASKED = { outputs: 1, near: 1, locate: () => 0 };

/** Windows of neighboring bins, which reach over both ends of a line, and wrap on a circle. */
class BinWindows {
  constructor(axis, near) {
    this.axis = axis;
    this.near = near;
    this.grid = axis.inside + (axis.circular ? 0 : near - 1);
    this.outputs = this.grid + near * (axis.size - axis.inside);
  }

  locate(symbol, place) {
    const { axis, grid, outputs } = this;
    const start = isBin(axis, symbol)
      ? symbol - axis.first
      : grid + this.near * placeApart(axis, symbol);
    if (!axis.circular || start >= grid) return (start + place) % outputs;
    return place < grid ? (start + place) % grid : place;
  }
}

/** All sets of a given number of labels, in lexicographic order; a label's own sets come first. */
class LabelSets {
  constructor(labels, members, outputs) {
    this.labels = labels;
    this.members = members;
    this.outputs = outputs;
    this.near = (outputs * members) / labels;
  }

  locate(label, place) {
    if (this.members === 1) return place === 0 ? label : place - Number(place <= label);
    const holding = place < this.near;
    let left = holding ? place : place - this.near;
    const set = Array.from({ length: this.members }, (_, i) => i);
    let number = 0; // of the set, in lexicographic order; they are not listed, which takes memory
    while (set.includes(label) !== holding || left-- > 0) {
      let last = this.members - 1;
      while (set[last] === this.labels - this.members + last) last -= 1;
      set[last] += 1;
      for (let i = last + 1; i < this.members; i++) set[i] = set[i - 1] + 1;
      number += 1;
    }
    return number;
  }
}

/** Return the number of sets. It is exact where it is legal. */
function numberOfSets(labels, members) {
  let sets = 1;
  for (let i = 0; i < Math.min(members, labels - members) && sets <= 2 ** 40; i++) {
    sets = (sets * (labels - i)) / (i + 1);
  }
  return sets;
}

function windowsOf(axis, width) {
  if (width === null) return NOT_ASKED;
  const most = axis.ordered ? axis.inside : axis.size - 1;
  demand(isWhole(width, 1, most), `a width must be null or a whole number in 1..${most}`);
  if (axis.ordered) return new BinWindows(axis, width);
  const sets = numberOfSets(axis.size, width);
  demand(
    sets <= MOST_SETS && (width === 1 || axis.size * sets <= MOST_PLACES),
    `there must be at most ${MOST_SETS} sets of labels`,
  );
  return new LabelSets(axis.size, width, sets);
}

/** A box of cells, more likely one that holds the pair. */
export class BoxWave extends TwoLevel {
  constructor(derived, odds, domain, widths) {
    demand(
      Array.isArray(widths) && widths.length === 2 && widths.some((width) => width !== null),
      "widths must be a pair, with a number for at least one axis",
    );
    const sides = domain.axes.map(({ domain: axis }, i) => windowsOf(axis, widths[i]));
    const [first, second] = sides;
    super("a box wave", derived, odds, {
      points: domain.size,
      near: first.near * second.near,
      outputs: first.outputs * second.outputs,
    });
    this.sides = sides;
    this.columns = domain.axes[1].domain.size;
  }

  /** Return the code: places count outputs of an axis with those that see the symbol first. */
  locate(point, near, offset) {
    const [first, second] = this.sides;
    let row = Math.floor(offset / second.near);
    let column = offset % second.near;
    if (!near) {
      const beyond = (first.outputs - first.near) * second.outputs;
      const rest = second.outputs - second.near;
      if (offset < beyond) {
        row = first.near + Math.floor(offset / second.outputs);
        column = offset % second.outputs;
      } else {
        row = Math.floor((offset - beyond) / rest);
        column = second.near + ((offset - beyond) % rest);
      }
    }
    const down = first.locate(Math.floor(point / this.columns), row);
    return down * second.outputs + second.locate(point % this.columns, column);
  }
}

/** Return how many blocks of bins an axis has, and the block of a symbol. */
function blocksOf(axis, size) {
  if (size === null) return { number: 1, of: () => 0 };
  const blocks = Math.ceil(axis.inside / size);
  return {
    number: blocks + axis.size - axis.inside,
    of: (symbol) =>
      isBin(axis, symbol)
        ? Math.floor((symbol - axis.first) / size)
        : blocks + placeApart(axis, symbol),
  };
}

/** Return how many blocks of cells a pair has, and the block of a cell. */
export function cellBlocks(domain, sizes) {
  const [first, second] = domain.axes.map(({ domain: axis }, i) => blocksOf(axis, sizes[i]));
  const columns = domain.axes[1].domain.size;
  return {
    cells: first.number * second.number,
    cellOf: (cell) =>
      first.of(Math.floor(cell / columns)) * second.number + second.of(cell % columns),
  };
}
