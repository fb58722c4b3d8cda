// Charts over time, by Chart.js. Without that library a note stands in place of the chart.
import { element } from './dom.js';
import { axisTime, compact, rate } from './format.js';
import { colour, onTheme } from './theme.js';

function dataset(line) {
  const tint = colour(line.colour);
  return {
    label: line.label,
    data: [],
    borderColor: tint,
    backgroundColor: tint + '1f',
    borderWidth: 1.75,
    pointRadius: 0,
    pointHitRadius: 8,
    tension: 0.25,
    fill: line.fill ?? false,
    spanGaps: false,
  };
}

function options(range, format) {
  const grid = { color: colour('line'), drawBorder: false, drawTicks: false };
  const ticks = { color: colour('muted'), font: { size: 11 }, padding: 6 };
  return {
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    interaction: { mode: 'index', intersect: false },
    scales: {
      x: {
        grid: { display: false, drawBorder: false },
        ticks: { ...ticks, maxRotation: 0, autoSkip: true, autoSkipPadding: 24 },
      },
      y: {
        beginAtZero: true,
        suggestedMax: 1,
        grid,
        ticks: { ...ticks, maxTicksLimit: 5, precision: 0, callback: compact },
      },
    },
    plugins: {
      legend: { display: false },
      tooltip: { callbacks: { label: (item) => ` ${item.dataset.label}: ${format(item.parsed.y)}` } },
    },
  };
}

function legend(lines) {
  return element(
    'ul',
    { class: 'legend' },
    lines.map((line) => element('li', { class: `key-${line.colour}` }, line.label)),
  );
}

/* lines: { label, colour, fill, kind }. A kind 'rate' is a number a second. */
export function plot({ title, lines, signal }) {
  const canvas = element('canvas', { role: 'img', 'aria-label': title });
  const frame = element('div', { class: 'plot' }, canvas);
  const root = element(
    'section',
    { class: 'card' },
    element('header', {}, element('h2', {}, title), legend(lines)),
    frame,
  );
  const format = lines[0].kind === 'rate' ? rate : compact;
  let chart = null;
  let last = null;

  if (window.Chart === undefined) frame.replaceChildren(element('p', { class: 'empty' }, 'No library for charts.'));

  function create(range) {
    chart?.destroy();
    chart = new window.Chart(canvas, {
      type: 'line',
      data: { labels: [], datasets: lines.map(dataset) },
      options: options(range, format),
    });
    chart.range = range;
  }

  // times: milliseconds; values: an array for each line.
  function update(range, times, values) {
    last = [range, times, values];
    const now = lines.map((line, i) => `${line.label} ${format(values[i][times.length - 1])}`).join(', ');
    canvas.setAttribute('aria-label', `${title}, now: ${now}`);
    if (window.Chart === undefined) return;
    if (chart === null || chart.range !== range) create(range);
    chart.data.labels = times.map((ms) => axisTime(ms, range));
    chart.data.datasets.forEach((set, i) => {
      set.data = values[i];
    });
    chart.update('none');
  }

  onTheme(() => {
    if (chart === null) return;
    create(last[0]);
    update(...last);
  }, signal);
  signal.addEventListener('abort', () => chart?.destroy());
  return { root, update };
}
