// Charts over time, by Chart.js. Without that library a note stands in place of the chart.
import { card, element } from './dom.js';
import { axisTime, compact } from './format.js';
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

function options(format) {
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
        ticks: { ...ticks, maxTicksLimit: 4, precision: 0, callback: compact },
      },
    },
    plugins: {
      legend: { display: false },
      tooltip: { callbacks: { label: (item) => ` ${item.dataset.label}: ${format(item.parsed.y)}` } },
    },
  };
}

/*
 * lines: { name, label, colour, fill }. name: the member of a course; format(n): the text of a value. The legend has the
 * last values. Returns { root, update(range, course) }.
 */
export function plot({ title, lines, format, signal }) {
  const canvas = element('canvas', { role: 'img', 'aria-label': title });
  const frame = element('div', { class: 'plot' }, canvas);
  const values = lines.map(() => element('strong', {}, '–'));
  const legend = lines.map((line, i) => element('li', { class: `key-${line.colour}` }, line.label, ' ', values[i]));
  const root = card(title, element('ul', { class: 'legend' }, legend), frame);
  let chart = null;
  let last = null;

  if (window.Chart === undefined) frame.replaceChildren(element('p', { class: 'empty' }, 'No library for charts.'));

  function create() {
    chart?.destroy();
    chart = new window.Chart(canvas, {
      type: 'line',
      data: { labels: [], datasets: lines.map(dataset) },
      options: options(format),
    });
  }

  function update(range, course) {
    const now = lines.map((line) => format(course[line.name].at(-1)));
    last = [range, course];
    values.forEach((node, i) => {
      node.textContent = now[i];
    });
    canvas.setAttribute('aria-label', `${title}, now: ${lines.map((line, i) => `${line.label} ${now[i]}`).join(', ')}`);
    if (window.Chart === undefined) return;
    if (chart === null) create();
    chart.data.labels = course.times.map((ms) => axisTime(ms, range));
    chart.data.datasets.forEach((set, i) => {
      set.data = course[lines[i].name];
    });
    chart.update('none');
  }

  onTheme(() => {
    if (chart === null) return;
    create();
    update(...last);
  }, signal);
  signal.addEventListener('abort', () => chart?.destroy());
  return { root, update };
}
