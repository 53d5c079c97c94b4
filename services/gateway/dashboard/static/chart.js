// Stacked bars per UTC day: <div class="chart" data-chart="figures"> with a legend after it draws the table with this id.
// The first column has the days, each other one a series, in the colour of the legend's item of the same class.

const DAY_SECONDS = 86400;
const HEIGHT = 220;
const dayName = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });

/** Draw all charts of the page, and again when the theme or their width changes. */
function startCharts() {
  document.querySelectorAll("[data-chart]").forEach(follow);
}

function follow(place) {
  let plot = null;
  const draw = () => {
    plot?.destroy();
    const figures = readFigures(place);
    plot = new window.uPlot(optionsOf(place, figures), [figures.days, ...stack(figures.columns)], place);
  };
  document.addEventListener("theme:change", draw);
  new ResizeObserver(() => {
    if (plot?.width !== place.clientWidth) draw();
  }).observe(place);
}

function readFigures(place) {
  const table = document.getElementById(place.dataset.chart);
  const rows = [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
  const kinds = [...table.tHead.querySelectorAll("[data-series]")].map((cell) => cell.dataset.series);
  return {
    kinds,
    days: rows.map(([day]) => Date.parse(`${day}T00:00Z`) / 1000),
    columns: kinds.map((_, index) => rows.map((row) => Number(row[index + 1]))),
  };
}

/** Each column on top of those before it; the highest is drawn first, because the lower ones cover it. */
function stack(columns) {
  const sums = columns.map((_, index) => columns[0].map((_, day) => sum(columns.slice(0, index + 1), day)));
  return sums.reverse();
}

function sum(columns, day) {
  return columns.reduce((total, column) => total + column[day], 0);
}

function optionsOf(place, { kinds, days }) {
  const legend = place.nextElementSibling;
  const { color: ink } = getComputedStyle(legend);
  const { borderTopColor: line } = getComputedStyle(place);
  return {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: false } },
    tzDate: (seconds) => window.uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    scales: {
      x: { range: [days[0] - DAY_SECONDS / 2, days.at(-1) + DAY_SECONDS / 2] },
      y: { range: (_, __, most) => window.uPlot.rangeNum(0, Math.max(most, 4), 0.1, true) },
    },
    axes: [dayAxis(ink), countAxis(ink, line)],
    series: [{}, ...kinds.toReversed().map((kind) => bars(colourOf(legend, kind)))],
  };
}

function colourOf(legend, kind) {
  return getComputedStyle(legend.querySelector(`.${kind}`), "::before").backgroundColor;
}

function bars(fill) {
  return { fill, width: 0, points: { show: false }, paths: window.uPlot.paths.bars({ size: [0.7, 40] }) };
}

function dayAxis(stroke) {
  const values = (_, splits) => splits.map((seconds) => dayName.format(seconds * 1000));
  return { stroke, values, grid: { show: false }, ticks: { show: false }, size: 28, space: 64, incrs: [1, 2, 7, 14].map((days) => days * DAY_SECONDS) };
}

function countAxis(stroke, line) {
  const incrs = [1, 2, 5].flatMap((digit) => [0, 1, 2, 3, 4, 5, 6].map((power) => digit * 10 ** power)).sort((a, b) => a - b);
  return { stroke, incrs, grid: { stroke: line, width: 1 }, ticks: { show: false }, size: 48 };
}

startCharts();
