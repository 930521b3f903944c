// The results of replays as one HTML page that needs no network or other file. uPlot, its style and the script of the page are in it.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Comparison, compareResults } from './compare.ts'
import type { ReplayResult } from './replay.ts'
import { escaped, figure, formats, linesOf, type Measure, text } from './report-chart.ts'

const measures: readonly Measure[] = [
  { title: 'Objects per second', measureOf: ({ objectsPerSecond }) => objectsPerSecond, format: formats.count },
  { title: 'Recall against exact search', measureOf: ({ recall }) => recall, format: formats.share },
  { title: 'Acknowledgement, median', measureOf: ({ acknowledged }) => acknowledged.p50, format: formats.milliseconds },
  {
    title: 'Acknowledgement, 99 of 100',
    measureOf: ({ acknowledged }) => acknowledged.p99,
    format: formats.milliseconds,
  },
  {
    title: 'Search, median',
    measureOf: ({ searched }) => (searched.count > 0 ? searched.p50 : undefined),
    format: formats.milliseconds,
  },
  {
    title: 'Search, 99 of 100',
    measureOf: ({ searched }) => (searched.count > 0 ? searched.p99 : undefined),
    format: formats.milliseconds,
  },
  { title: 'Memory of the process', measureOf: ({ memoryBytes }) => memoryBytes, format: formats.bytes },
  { title: 'Checkpoints running', measureOf: ({ checkpointMs }) => checkpointMs, format: formats.milliseconds },
]

/** One or more replays of the same trace; with several, the others are compared with the first. */
export function reportOf(results: readonly ReplayResult[]): string {
  const [first, ...others] = results
  if (first === undefined) throw new Error('broken invariant: a report is about at least one replay')
  const charts = measures.map((measure) => ({ format: measure.format, lines: linesOf(results, measure) }))
  const figures = measures.map((measure, i) => figure(i, measure, charts[i]!.lines))
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Annal: replay of ${escaped(first.trace.description)}</title><style>${fileText('uplot/dist/uPlot.min.css')}${style}</style></head><body>
<h1>Replay of ${escaped(first.trace.description)}</h1>
<p>${text(first.trace.events, formats.count)} events, ${text(first.trace.queries, formats.count)} searches${first.trace.anonymised ? ', anonymized' : ''}.
${escaped(first.machine.cpu)}, ${first.machine.cores} cores, Node ${escaped(first.machine.node)}.</p>
${totals(results)}
<main>${figures.join('')}</main>
${others.map((other) => comparisonTable(first, other)).join('')}
<p class="none">The horizontal axis of each chart is the position in the log: 0 % is the first event, 100 % the last.</p>
<script type="application/json" id="report">${JSON.stringify({ charts }).replaceAll('<', '\\u003c')}</script>
<script>${fileText('uplot/dist/uPlot.iife.min.js')}</script>
<script type="module">${pageScript()}</script>
</body></html>
`
}

/** A file of an installed package. */
function fileText(name: string): string {
  return readFileSync(createRequire(import.meta.url).resolve(name), 'utf8')
}

/** The same path from src/ and from dist/. */
function pageScript(): string {
  return readFileSync(new URL('../page/charts.js', import.meta.url), 'utf8')
}

function totals(results: readonly ReplayResult[]): string {
  const rows = results.map(
    ({ target, objects, objectsPerSecond, recall, restartMs }) =>
      `<tr><th>${escaped(target)}</th><td>${text(objects, formats.count)}</td><td>${text(objectsPerSecond, formats.count)}</td>` +
      `<td>${recall === undefined ? '' : recall.toFixed(4)}</td><td>${restartMs === undefined ? '' : text(restartMs, formats.milliseconds)}</td></tr>`,
  )
  return `<table><thead><tr><td></td><th>objects</th><th>objects per second</th><th>recall</th><th>start</th></tr></thead>
<tbody>${rows.join('')}</tbody></table>`
}

function comparisonTable(a: ReplayResult, b: ReplayResult): string {
  const rows = compareResults(a, b).map(
    ({ measure, ratio, quarter, threeQuarters, verdict }: Comparison) =>
      `<tr><th>${measure}</th><td>${ratio.toFixed(3)}</td><td>${quarter.toFixed(3)} to ${threeQuarters.toFixed(3)}</td>` +
      `<td class="${verdict}">${verdict}</td></tr>`,
  )
  return `<h2>${escaped(b.target)} against ${escaped(a.target)}</h2>
<table><thead><tr><td></td><th>median ratio</th><th>half of the stretches</th><th>verdict</th></tr></thead>
<tbody>${rows.join('')}</tbody></table>`
}

const style = `
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #5b6070; --grid: #d9dce1; --page: #fff; --better: #1a7f37; --worse: #c62828 }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --soft: #a0a6b4; --grid: #3a3f46; --page: #17191c; --better: #4ac26b; --worse: #ff8080 } }
body { margin: 2rem auto; max-width: 76rem; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page) }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
main { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: 1.5rem }
figure { margin: 0 } figcaption { font-weight: 600; margin-bottom: .3rem }
figure { min-width: 0 } .chart { contain: inline-size; overflow: hidden } .u-legend { font-size: 12px } details { font-size: 12px } summary { color: var(--soft); cursor: pointer }
table { border-collapse: collapse } th, td { text-align: right; padding: .25rem .9rem; border-bottom: 1px solid var(--grid) } th:first-child { text-align: left }
th { overflow-wrap: anywhere } @media (max-width: 40rem) { th, td { padding: .25rem .3rem } table { font-size: 12px } }
.none { color: var(--soft) } .better { color: var(--better) } .worse { color: var(--worse) }
`
