// The script of a report page: draws each chart of the page's data with uPlot, in the colors of the current theme.
// It is inserted into the page as it is, after uPlot.

const colors = ['#2563eb', '#d97706', '#059669', '#c026d3', '#dc2626', '#64748b']
const height = 220
const valueWidth = 76
const { charts } = JSON.parse(document.getElementById('report').textContent)

const color = (name) => () => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

const draw = (box, { lines, format }) => {
  const { options, scale = 1 } = format
  const number = new Intl.NumberFormat('en-US', options)
  const shown = (value) => (value == null ? '–' : number.format(value * scale))
  const percent = (share) => `${Math.round(share * 1_000) / 10} %`
  const axis = { stroke: color('--soft'), grid: { stroke: color('--grid'), width: 1 }, ticks: { show: false } }
  const plot = new uPlot(
    {
      width: box.clientWidth,
      height,
      cursor: { y: false, drag: { x: false, y: false } },
      scales: {
        x: { time: false, range: [0, 1] },
        // Starts at zero unless that would flatten the line.
        y: { range: (_plot, least, most) => uPlot.rangeNum(least < (most - least) * 2 ? 0 : least, most, 0.1, true) },
      },
      axes: [
        { ...axis, values: (_plot, shares) => shares.map(percent) },
        { ...axis, size: valueWidth, values: (_plot, values) => values.map(shown) },
      ],
      series: [
        { label: 'position', value: (_plot, share) => (share == null ? '–' : percent(share)) },
        ...lines.map(({ name }, i) => ({
          label: name,
          stroke: colors[i % colors.length],
          width: 2,
          spanGaps: true,
          value: (_plot, value) => shown(value),
        })),
      ],
    },
    // The replays have been measured at different positions.
    uPlot.join(lines.map(({ points }) => [points.map(([share]) => share), points.map(([, value]) => value)])),
    box,
  )
  new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height })).observe(box)
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => plot.redraw(false))
}

for (const box of document.querySelectorAll('[data-chart]')) draw(box, charts[box.dataset.chart])
