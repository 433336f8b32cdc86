// Draws the charts of a page from the numbers that stand in it; colors come from the style sheet.

const DAY = 86_400;
const MARGIN = 1.05;

/** What a unit's numbers are on the axis, and what a density is per; numbers choose that themselves. */
const UNITS = {
  number: { scale: 1, time: false },
  date: { scale: DAY, per: 1, perName: "day", time: true },
  datetime: { scale: 1, per: DAY, perName: "day", time: true },
  "time-of-day": { scale: 1, per: 3600, perName: "hour", time: false },
  duration: { scale: 1, time: false },
};

const drawn = new Map();

/** Draw every chart in an element that has none yet. */
export function drawAll(root) {
  for (const place of root.querySelectorAll("[data-chart]")) {
    if (drawn.has(place)) continue;
    const section = place.closest("section");
    const data = JSON.parse(section.querySelector("[data-columns]").textContent);
    drawn.set(place, { data, chart: null });
    redraw(place);
    sizes.observe(place);
  }
  globalThis.requestAnimationFrame(() => {
    if (root.querySelector("[data-chart]")) performance.mark("lapwing-drawn");
  });
}

const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const { chart } = drawn.get(target) ?? {};
    if (chart && Math.abs(chart.width - target.clientWidth) > 1) {
      chart.setSize({ width: target.clientWidth, height: heightOf(target) });
    }
  }
});

globalThis.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const place of drawn.keys()) redraw(place);
});

function redraw(place) {
  const entry = drawn.get(place);
  entry.chart?.destroy();
  const makers = { density, cdf, difference };
  const { series, columns, bands = [], yLabel, yRange, ySign = "%", looks, readout } = makers[place.dataset.chart](entry.data);
  const { data } = entry;
  const singles = place.dataset.chart === "density" && hasSingles(data);
  const hint = "Point at the chart to read its numbers.";
  const said = text("p", "readout", hint);
  const canvas = document.createElement("div");
  const names = text("p", "axis-names", "");
  names.append(text("span", "", yLabel));
  if (singles) names.append(text("span", "single", "share of a single value"));
  const legend = text("p", "legend", "");
  for (const [look, label] of looks) legend.append(text("span", look, label));
  place.replaceChildren(names, canvas, text("p", "axis-names across", data.name), legend, said);
  const reads = (chart) => {
    const { left } = chart.cursor;
    said.textContent = left === null || left < 0 ? hint : readout(chart.posToVal(left, "x"), chart.cursor.idx);
  };
  entry.chart = new globalThis.uPlot(
    {
      width: place.clientWidth,
      height: heightOf(place),
      pxAlign: 0,
      // The plots of a page end at the same place, with or without an axis at the right.
      padding: [null, singles ? 0 : hasSingles(data) ? SIDE : EDGE, null, 0],
      tzDate: (seconds) => globalThis.uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      scales: { x: xScale(data), y: { range: yRange }, ...(singles ? { singles: { range: fromZero } } : {}) },
      axes: [xAxis(data), yAxis(ySign), ...(singles ? [singlesAxis()] : [])],
      series: [{}, ...series],
      bands,
      cursor: { y: false, drag: { x: true, y: false }, points: { show: false }, sync: { key: "lapwing", scales: ["x", null] } },
      legend: { show: false },
      hooks: { setCursor: [reads] },
    },
    columns,
    canvas,
  );
  place.dataset.drawn = String(columns[0].length);
  place.dataset.range = [columns[0][0], columns[0].at(-1)].join(" ");
}

function text(tag, look, content) {
  const element = document.createElement(tag);
  if (look) element.className = look;
  element.textContent = content;
  return element;
}

const heightOf = (place) => (place.clientWidth < 500 ? 220 : 280);

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function xScale({ unit, log }) {
  if (log) return { time: false, distr: 3, log: 10 };
  return { time: UNITS[unit].time };
}

function axisLook() {
  return {
    stroke: color("ink"),
    grid: { stroke: color("grid"), width: 1 },
    ticks: { stroke: color("rule"), width: 1 },
  };
}

function xAxis({ unit }) {
  const look = { ...axisLook(), size: UNITS[unit].time ? 50 : 32 };
  if (UNITS[unit].time) return look;
  if (unit === "time-of-day") {
    const incrs = [60, 300, 900, 1800, 3600, 7200, 10_800, 21_600];
    return { ...look, incrs, values: (_, ticks) => ticks.map((x) => clock(x)) };
  }
  if (unit === "duration") {
    const incrs = [0.01, 0.1, 1, 5, 15, 60, 300, 900, 3600, 10_800, 43_200, DAY, 5 * DAY, 25 * DAY];
    return { ...look, incrs, values: (_, ticks) => ticks.map((x) => durationText(x)) };
  }
  return look;
}

const SIDE = 56;

/** Room for half of a tick's text, where no axis is at the right. */
const EDGE = 36;

function yAxis(sign) {
  return { ...axisLook(), size: SIDE, values: (_, ticks) => ticks.map((y) => `${round(100 * y)}${sign}`) };
}

/** Single values have a scale of their own, at the right, in the color of their dots. */
function singlesAxis() {
  return { ...yAxis("%"), scale: "singles", side: 1, stroke: color("second"), grid: { show: false } };
}

const fromZero = (_, low, high) => [0, (high || 1) * MARGIN];

const round = (number) => Number(number.toPrecision(6));

const pad = (number) => String(number).padStart(2, "0");

const clock = (seconds) => `${pad(Math.floor(seconds / 3600))}:${pad(Math.floor(seconds / 60) % 60)}`;

/** Hours, minutes and seconds, with hundredths of a second where there are any. */
function durationText(seconds) {
  const ticks = Math.round(100 * Math.abs(seconds));
  const whole = Math.floor(ticks / 100);
  const text = `${Math.floor(whole / 3600)}:${pad(Math.floor(whole / 60) % 60)}:${pad(whole % 60)}`;
  const sign = seconds < 0 && ticks > 0 ? "-" : "";
  return sign + text + (ticks % 100 ? `.${pad(ticks % 100)}` : "");
}

/** A place on the axis, to a thousandth of its length. */
function xText(x, { unit, log, columns: { left, right } }) {
  if (unit === "time-of-day") return clock(x);
  if (unit === "duration") return durationText(x);
  if (!UNITS[unit].time) {
    const digits = Math.ceil(3 - Math.log10(right.at(-1) - (left ?? right)[0]));
    const rounded = log ? x.toPrecision(4) : x.toFixed(Math.min(Math.max(digits, 0), 100));
    return Number(rounded).toLocaleString("en", { maximumFractionDigits: 20 });
  }
  const written = new Date(x * 1000).toISOString();
  return unit === "date" ? written.slice(0, 10) : written.slice(0, 16).replace("T", " ");
}

/** An estimate with its limits; without limits, the estimate alone. */
function withLimits(numbers, sign) {
  // An interval that is read holds all that the interval holds.
  const ways = [Math.round, Math.floor, Math.ceil];
  const [value, low, high] = numbers.map((number, place) => `${(ways[place](1e4 * number) / 100).toFixed(2)}${sign}`);
  return low === undefined ? value : `${value} (${low} to ${high})`;
}

/** Whole numbers and lone values step; bins have a slope. */
const isWhole = ({ columns: { left, right } }) => left.every((end, row) => end === right[row]);

const hasSingles = (data) =>
  Boolean(data.atoms) && !isWhole(data) && (data.atoms.length > 0 || data.columns.left.some((end, row) => end === data.columns.right[row]));

/** Return what a density is per, and its name: for numbers a power of ten, of which 10 to 100 fit. */
function perOf(data) {
  const { unit, log, steps } = data;
  if (log) return { perName: "factor of 10" };
  if (isWhole(data)) return { per: 1, perName: "value" };
  const { per, perName } = UNITS[unit];
  if (per) return { per, perName };
  const span = steps.right.at(-1) - steps.left[0];
  if (unit === "duration") {
    if (span >= 7200) return { per: 3600, perName: "hour" };
    return span >= 120 ? { per: 60, perName: "minute" } : { per: 1, perName: "second" };
  }
  const chosen = 10 ** Math.floor(Math.log10(span / 10));
  return { per: chosen, perName: chosen === 1 ? "unit" : round(chosen).toLocaleString("en") };
}

/** The density in steps that the reports tell apart, and its band, which holds at all steps at once. */
function density(data) {
  const { columns, unit, log, atoms, steps } = data;
  const { scale } = UNITS[unit];
  const { left, right, share } = columns;
  const whole = isWhole(data);
  const { per, perName } = perOf(data);
  const length = (row) =>
    log ? Math.log10(steps.right[row] / steps.left[row]) : (steps.right[row] - steps.left[row]) / per;
  const rows = steps.left.map((_, row) => row).filter((row) => !log || steps.left[row] > 0);
  const ended = (values) => [...values, values.at(-1)];
  const xs = [...rows.map((row) => steps.left[row] * scale), steps.right[rows.at(-1)] * scale];
  const own = ["share", "low", "high"].filter((name) => name in steps);
  const heights = own.map((name) => ended(rows.map((row) => steps[name][row] / length(row))));
  const singles = new Map();
  if (hasSingles(data)) {
    left.forEach((end, row) => {
      if (right[row] === end) singles.set(end * scale, share[row]);
    });
    for (const { at, share: held } of atoms) singles.set(at * scale, held);
  }
  const shown = [...singles].filter(([x]) => !log || x > 0);
  const paths = globalThis.uPlot.paths.stepped({ align: 1 });
  const banded = own.length > 1;
  const drawings = {
    share: { ...estimate(paths), ...(banded ? {} : { fill: color("tint") }) },
    low: limit(null, paths),
    high: limit(null, paths),
  };
  const series = own.map((name) => drawings[name]);
  if (shown.length > 0) {
    series.push({
      scale: "singles",
      stroke: color("second"),
      paths: () => null,
      points: { show: true, size: 8, stroke: color("second"), fill: color("second") },
    });
  }
  const number = (name) => own.indexOf(name) + 1;
  return {
    columns: shown.length > 0 ? merged(xs, heights, shown) : [xs, ...heights],
    series,
    bands: banded ? [{ series: [number("high"), number("low")], fill: color("tint") }] : [],
    yLabel: `share of people per ${perName}`,
    yRange: fromZero,
    looks: [
      ["line", "estimate"],
      ...(banded ? [["band", "simultaneous band"]] : []),
      ...(shown.length > 0 ? [["dot", "single value (right axis)"]] : []),
    ],
    readout: (x) => {
      const row = Math.max(0, xs.findLastIndex((start, at) => start <= x && at < xs.length - 1));
      // The steps of whole numbers end between them.
      const inner = whole ? 0.5 : 0;
      const ends = [xs[row] + inner, xs[row + 1] - inner].map((end) => xText(end, data));
      const place = ends[0] === ends[1] ? ends[0] : ends.join(" to ");
      return `${place}: ${withLimits(heights.map((column) => column[row]), "%")} per ${perName}`;
    },
  };
}

/** Put single values among the steps, on one axis; a step goes on below them. */
function merged(xs, heights, singles) {
  const at = [...new Set([...xs, ...singles.map(([x]) => x)])].sort((a, b) => a - b);
  const place = new Map(xs.map((x, row) => [x, row]));
  const single = new Map(singles);
  let row = null;
  const steps = heights.map(() => []);
  const points = [];
  for (const x of at) {
    row = place.get(x) ?? row;
    heights.forEach((column, number) => steps[number].push(row === null ? null : column[row]));
    points.push(single.get(x) ?? null);
  }
  return [at, ...steps, points];
}

/** CDFs and their bands at the ends of bins, from where they start. */
function curve(data, names) {
  const { columns, unit, log } = data;
  const { scale } = UNITS[unit];
  const first = (columns.left ?? columns.right)[0] * scale;
  const start = log && first <= 0 ? [] : [first];
  const xs = [...start, ...columns.right.map((end) => end * scale)];
  const begun = data.start ?? {};
  const own = [];
  const columnsOut = [[]];
  // Where a single value stands at the start, the curve begins with its jump.
  const keep = xs.map((x, row) => row + 1 >= xs.length || xs[row + 1] !== x || row === 0);
  columnsOut[0] = xs.filter((_, row) => keep[row]);
  for (const name of names) {
    if (!(name in columns)) continue;
    own.push(name);
    // Whoever is below the range counts where the curve begins.
    const begins = start.map(() => begun[name] ?? 0);
    columnsOut.push([...begins, ...columns[name]].filter((_, row) => keep[row]));
  }
  for (let row = 1; row < columnsOut[0].length; row += 1) {
    if (columnsOut[0][row] <= columnsOut[0][row - 1]) {
      columnsOut[0][row] = columnsOut[0][row - 1] + Math.abs(columnsOut[0][row - 1]) * 1e-12 + 1e-12;
    }
  }
  if (data.steps) stretch(columnsOut, data.steps.left[0] * scale, data.steps.right.at(-1) * scale, own.map((name) => begun[name] ?? 0));
  return { own, columns: columnsOut };
}

/** Begin and end the columns of a CDF where the density begins and ends, which may be further out. */
function stretch(columns, low, high, begins) {
  const [xs, ...heights] = columns;
  if (low < xs[0]) {
    xs.unshift(low);
    heights.forEach((column, number) => column.unshift(begins[number]));
  }
  if (high > xs.at(-1)) {
    xs.push(high);
    for (const column of heights) column.push(column.at(-1));
  }
}

function estimate(paths) {
  return { stroke: color("estimate"), width: 2, points: { show: false }, ...(paths ? { paths } : {}) };
}

/** Either limit of a band: both have the color of the estimate. */
function limit(dash, paths) {
  return { ...estimate(paths), width: 1, ...(dash ? { dash } : {}) };
}

function banded(data, name, { yLabel, yRange, ySign = "%", readSign = ySign }) {
  const names = [name, "low", "high", "simultaneous_low", "simultaneous_high"];
  const { own, columns } = curve(data, names);
  const step = data.columns.left && isWhole(data);
  const paths = step ? globalThis.uPlot.paths.stepped({ align: 1 }) : null;
  const dashed = limit([4, 4], paths);
  const drawings = {
    [name]: estimate(paths),
    low: limit(null, paths),
    high: limit(null, paths),
    simultaneous_low: dashed,
    simultaneous_high: dashed,
  };
  const number = (key) => own.indexOf(key) + 1;
  const bands = own.includes("high")
    ? [{ series: [number("high"), number("low")], fill: color("tint") }]
    : [];
  return {
    columns,
    series: own.map((key) => drawings[key]),
    bands,
    yLabel,
    yRange,
    ySign,
    looks: [
      ["line", "estimate"],
      ...(own.includes("high") ? [["band", "pointwise band"]] : []),
      ...(own.includes("simultaneous_high") ? [["dashes", "simultaneous band"]] : []),
    ],
    readout: (_, row) => {
      if (row === null || row === undefined) return "";
      const values = own.slice(0, 3).map((key) => columns[number(key)][row]);
      return `up to ${xText(columns[0][row], data)}: ${withLimits(values, readSign)}`;
    },
  };
}

const cdf = (data) => banded(data, "cdf", { yLabel: "share of people", yRange: () => [0, 1] });

function difference(data) {
  const widest = (_, low, high) => {
    const most = Math.max(Math.abs(low ?? 0), Math.abs(high ?? 0)) || 0.01;
    return [-most * MARGIN, most * MARGIN];
  };
  return banded(data, "difference", {
    yLabel: "difference of the CDFs, in percentage points",
    yRange: widest,
    ySign: "",
    readSign: " points",
  });
}
