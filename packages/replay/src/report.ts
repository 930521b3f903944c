// The results of replays as one HTML page that needs no network, script or other file.
import { chart, escaped, type Line } from './chart.ts'
import { type Comparison, compareResults } from './compare.ts'
import type { Stretch } from './measure.ts'
import type { ReplayResult } from './replay.ts'

const charts: readonly {
  readonly title: string
  readonly measureOf: (stretch: Stretch) => number | undefined
  readonly shown: (value: number) => string
}[] = [
  { title: 'Objects per second', measureOf: (stretch) => stretch.objectsPerSecond, shown: amount },
  { title: 'Recall against exact search', measureOf: ({ recall }) => recall, shown: (value) => value.toFixed(3) },
  { title: 'Acknowledgement, median', measureOf: ({ acknowledged }) => acknowledged.p50, shown: milliseconds },
  { title: 'Acknowledgement, 99 of 100', measureOf: ({ acknowledged }) => acknowledged.p99, shown: milliseconds },
  {
    title: 'Search, median',
    measureOf: ({ searched }) => (searched.count > 0 ? searched.p50 : undefined),
    shown: milliseconds,
  },
  {
    title: 'Search, 99 of 100',
    measureOf: ({ searched }) => (searched.count > 0 ? searched.p99 : undefined),
    shown: milliseconds,
  },
  { title: 'Memory of the process', measureOf: ({ memoryBytes }) => memoryBytes, shown: bytesShown },
  { title: 'Checkpoints running', measureOf: ({ checkpointMs }) => checkpointMs, shown: milliseconds },
]

/** One or more replays of the same trace; with several, the others are compared with the first. */
export function reportOf(results: readonly ReplayResult[]): string {
  const [first, ...others] = results
  if (first === undefined) throw new Error('broken invariant: a report is about at least one replay')
  const legend = results.map(({ target }, i) => `<li><span class="key line-${i % 6}"></span>${escaped(target)}</li>`)
  const drawn = charts.map(({ title, measureOf, shown }) => {
    const lines: Line[] = results.map(({ target, stretches, trace }) => ({
      name: target,
      points: stretches.flatMap((stretch) => {
        const value = measureOf(stretch)
        return value === undefined ? [] : [[stretch.events / trace.events, value] as const]
      }),
    }))
    return `<figure><figcaption>${title}</figcaption>${chart(lines, shown)}</figure>`
  })
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Annal: replay of ${escaped(first.trace.description)}</title><style>${style}</style></head><body>
<h1>Replay of ${escaped(first.trace.description)}</h1>
<p>${amount(first.trace.events)} events, ${amount(first.trace.queries)} searches${first.trace.anonymised ? ', anonymized' : ''}.
${escaped(first.machine.cpu)}, ${first.machine.cores} cores, Node ${escaped(first.machine.node)}.</p>
${totals(results)}
<ul class="legend">${legend.join('')}</ul>
<main>${drawn.join('')}</main>
${others.map((other) => comparisonTable(first, other)).join('')}
<p class="none">The horizontal axis of each chart is the position in the log: 0 % is the first event, 100 % the last.</p>
</body></html>
`
}

function totals(results: readonly ReplayResult[]): string {
  const rows = results.map(
    ({ target, objects, objectsPerSecond, recall, restartMs }) =>
      `<tr><th>${escaped(target)}</th><td>${amount(objects)}</td><td>${amount(objectsPerSecond)}</td>` +
      `<td>${recall === undefined ? '' : recall.toFixed(4)}</td><td>${restartMs === undefined ? '' : milliseconds(restartMs)}</td></tr>`,
  )
  return `<table><thead><tr><th></th><th>objects</th><th>objects per second</th><th>recall</th><th>start</th></tr></thead>
<tbody>${rows.join('')}</tbody></table>`
}

function comparisonTable(a: ReplayResult, b: ReplayResult): string {
  const rows = compareResults(a, b).map(
    ({ measure, ratio, quarter, threeQuarters, verdict }: Comparison) =>
      `<tr><th>${measure}</th><td>${ratio.toFixed(3)}</td><td>${quarter.toFixed(3)} to ${threeQuarters.toFixed(3)}</td>` +
      `<td class="${verdict}">${verdict}</td></tr>`,
  )
  return `<h2>${escaped(b.target)} against ${escaped(a.target)}</h2>
<table><thead><tr><th></th><th>median ratio</th><th>half of the stretches</th><th>verdict</th></tr></thead>
<tbody>${rows.join('')}</tbody></table>`
}

function amount(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

function milliseconds(value: number): string {
  if (value >= 1_000) return `${(value / 1_000).toFixed(2)} s`
  return `${value >= 10 ? value.toFixed(0) : value.toFixed(2)} ms`
}

function bytesShown(value: number): string {
  return value >= 2 ** 30 ? `${(value / 2 ** 30).toFixed(2)} GiB` : `${(value / 2 ** 20).toFixed(0)} MiB`
}

const style = `
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #667; --grid: #d9dce1; --page: #fff }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --soft: #99a; --grid: #3a3f46; --page: #17191c } }
body { margin: 2rem auto; max-width: 76rem; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page) }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
main { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: 1.5rem }
figure { margin: 0 } figcaption { font-weight: 600; margin-bottom: .3rem }
svg { width: 100%; height: auto } svg text { font-size: 11px; fill: var(--soft) }
.grid { stroke: var(--grid) } .line { fill: none; stroke-width: 2 }
table { border-collapse: collapse } th, td { text-align: right; padding: .25rem .9rem; border-bottom: 1px solid var(--grid) } th:first-child { text-align: left }
.legend { list-style: none; padding: 0; display: flex; gap: 1.5rem; flex-wrap: wrap } .key { display: inline-block; width: 1.2rem; height: 3px; margin-right: .5rem; vertical-align: middle }
.none { color: var(--soft) } .better { color: #1a7f37 } .worse { color: #c62828 }
.line-0 { stroke: #2563eb } .line-1 { stroke: #d97706 } .line-2 { stroke: #059669 } .line-3 { stroke: #c026d3 } .line-4 { stroke: #dc2626 } .line-5 { stroke: #64748b }
.key.line-0 { background: #2563eb } .key.line-1 { background: #d97706 } .key.line-2 { background: #059669 } .key.line-3 { background: #c026d3 } .key.line-4 { background: #dc2626 } .key.line-5 { background: #64748b }
`
