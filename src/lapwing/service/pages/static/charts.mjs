// Draws the charts of a page from the numbers that stand in it; colors come from the style sheet.

const DAY = 86_400;
const MARGIN = 1.05;

/** Return what a unit's numbers are on the axis, and what a density is per. */
const UNITS = {
  number: { scale: 1, per: 1, perName: "unit", time: false },
  date: { scale: DAY, per: 1, perName: "day", time: true },
  datetime: { scale: 1, per: DAY, perName: "day", time: true },
  "time-of-day": { scale: 1, per: 3600, perName: "hour", time: false },
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
  const { series, columns, bands = [], yLabel, yRange, percent, singles } = makers[place.dataset.chart](
    entry.data,
  );
  entry.chart = new globalThis.uPlot(
    {
      width: place.clientWidth,
      height: heightOf(place),
      pxAlign: 0,
      tzDate: (seconds) => globalThis.uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      scales: { x: xScale(entry.data), y: { range: yRange }, ...(singles ? { singles: { range: fromZero } } : {}) },
      axes: [xAxis(entry.data), yAxis(yLabel, percent), ...(singles ? [singlesAxis()] : [])],
      series: [{ label: "value", value: (_, x) => xText(x, entry.data.unit) }, ...series],
      bands,
      cursor: { drag: { x: true, y: false }, points: { size: 6 } },
      legend: { live: true },
    },
    columns,
    place,
  );
  place.dataset.drawn = String(columns[0].length);
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
  const look = axisLook();
  if (UNITS[unit].time) return look;
  if (unit === "time-of-day") {
    const incrs = [60, 300, 900, 1800, 3600, 7200, 10_800, 21_600];
    return { ...look, incrs, values: (_, ticks) => ticks.map((x) => clock(x)) };
  }
  return look;
}

function yAxis(label, percent) {
  const values = percent ? (_, ticks) => ticks.map((y) => `${round(100 * y)} %`) : (_, ticks) => ticks.map(heightText);
  return { ...axisLook(), label, labelSize: 20, size: 68, values };
}

/** Single values have a scale of their own, at the right, in the color of their dots. */
function singlesAxis() {
  return {
    ...yAxis("share of single values", true),
    scale: "singles",
    side: 1,
    stroke: color("second"),
    grid: { show: false },
  };
}

const fromZero = (_, low, high) => [0, (high || 1) * MARGIN];

const round = (number) => Number(number.toPrecision(6));

/** Densities may be tiny: 0.00002, not 0. */
const heightText = (y) => (y !== 0 && Math.abs(y) < 1e-4 ? y.toExponential() : String(round(y)));

const pad = (number) => String(number).padStart(2, "0");

const clock = (seconds) => `${pad(Math.floor(seconds / 3600))}:${pad(Math.floor(seconds / 60) % 60)}`;

function xText(x, unit) {
  if (x === null || x === undefined) return "";
  if (unit === "time-of-day") return clock(x);
  if (!UNITS[unit].time) return round(x).toLocaleString("en");
  const text = new Date(x * 1000).toISOString();
  return unit === "date" ? text.slice(0, 10) : text.slice(0, 16);
}

const percentText = (_, y) => (y === null || y === undefined ? "" : `${(100 * y).toFixed(2)} %`);

const numberText = (_, y) => (y === null || y === undefined ? "" : y.toPrecision(3));

/** Whole numbers and lone values step; bins have a slope. */
const isWhole = ({ columns: { left, right } }) => left.every((end, row) => end === right[row]);

/** The density in steps that the reports tell apart, and its band, which holds at all steps at once. */
function density(data) {
  const { columns, unit, log, atoms, steps } = data;
  const { scale, per, perName } = UNITS[unit];
  const { left, right, share } = columns;
  const length = (row) => (log ? Math.log10(steps.right[row] / steps.left[row]) : (steps.right[row] - steps.left[row]) / per);
  const rows = steps.left.map((_, row) => row).filter((row) => !log || steps.left[row] > 0);
  const ended = (values) => [...values, values.at(-1)];
  const xs = [...rows.map((row) => steps.left[row] * scale), steps.right[rows.at(-1)] * scale];
  const own = ["share", "low", "high"].filter((name) => name in steps);
  const heights = own.map((name) => ended(rows.map((row) => steps[name][row] / length(row))));
  const singles = new Map();
  if (!isWhole(data)) {
    left.forEach((end, row) => {
      if (right[row] === end) singles.set(end * scale, share[row]);
    });
  }
  for (const { at, share: held } of atoms) if (!isWhole(data)) singles.set(at * scale, held);
  const shown = [...singles].filter(([x]) => !log || x > 0);
  const paths = globalThis.uPlot.paths.stepped({ align: 1 });
  const whole = isWhole(data);
  const text = whole ? percentText : numberText;
  const label = `density per ${log ? "factor of 10" : perName}`;
  const looks = {
    share: {
      label: whole ? "share of a value" : label,
      stroke: color("estimate"),
      fill: own.length > 1 ? undefined : color("tint"),
      width: 1.5,
      paths,
      points: { show: false },
      value: text,
    },
    low: { ...edge("low", color("low"), null, paths), value: text },
    high: { ...edge("high", color("high"), null, paths), value: text },
  };
  const series = own.map((name) => looks[name]);
  if (shown.length > 0) {
    series.push({
      label: "single values, share",
      scale: "singles",
      stroke: color("second"),
      width: 2,
      paths: () => null,
      points: { show: true, size: 8, stroke: color("second"), fill: color("second") },
      value: percentText,
    });
  }
  const number = (name) => own.indexOf(name) + 1;
  return {
    columns: shown.length > 0 ? merged(xs, heights, shown) : [xs, ...heights],
    series,
    bands: own.includes("high") ? [{ series: [number("high"), number("low")], fill: color("tint") }] : [],
    yLabel: whole ? "share" : `density, per ${log ? "factor of 10" : perName}`,
    yRange: fromZero,
    percent: whole,
    singles: shown.length > 0,
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
  const start = log ? [] : [(columns.left ?? columns.right)[0] * scale];
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
  return { own, columns: columnsOut };
}

function edge(label, stroke, dash, paths) {
  return {
    label,
    stroke,
    width: 1,
    ...(dash ? { dash } : {}),
    points: { show: false },
    value: percentText,
    ...(paths ? { paths } : {}),
  };
}

function banded(data, name, label, yLabel, yRange) {
  const names = [name, "low", "high", "simultaneous_low", "simultaneous_high"];
  const { own, columns } = curve(data, names);
  const step = data.columns.left && isWhole(data);
  const paths = step ? globalThis.uPlot.paths.stepped({ align: 1 }) : null;
  const looks = {
    [name]: {
      label,
      stroke: color("estimate"),
      width: 2,
      points: { show: false },
      value: percentText,
      ...(paths ? { paths } : {}),
    },
    low: edge("low", color("low"), null, paths),
    high: edge("high", color("high"), null, paths),
    simultaneous_low: edge("low, simultaneous", color("low"), [4, 4], paths),
    simultaneous_high: edge("high, simultaneous", color("high"), [4, 4], paths),
  };
  const number = (key) => own.indexOf(key) + 1;
  const bands = own.includes("high")
    ? [{ series: [number("high"), number("low")], fill: color("tint") }]
    : [];
  return {
    columns,
    series: own.map((key) => looks[key]),
    bands,
    yLabel,
    yRange,
    percent: true,
  };
}

const cdf = (data) => banded(data, "cdf", "share up to here", "share of people", () => [0, 1]);

function difference(data) {
  const widest = (_, low, high) => {
    const most = Math.max(Math.abs(low ?? 0), Math.abs(high ?? 0)) || 0.01;
    return [-most * MARGIN, most * MARGIN];
  };
  return banded(data, "difference", "difference", "difference of shares", widest);
}
