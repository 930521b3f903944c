// One chart of a report: its measure, its values by position in the log, and its figure with the same values as text. The page draws it
// with uPlot (page/charts.js).
import type { Stretch } from './measure.ts'
import type { ReplayResult } from './replay.ts'

export interface Measure {
  readonly title: string
  readonly measureOf: (stretch: Stretch) => number | undefined
  readonly format: Format
}

/** How numbers are written, on the page and in the chart. */
export interface Format {
  readonly options: Intl.NumberFormatOptions
  /** Multiplies a value before it is written. */
  readonly scale?: number
}

interface Line {
  readonly name: string
  /** Shares of the log, from 0 to 1, and the values there. */
  readonly points: readonly (readonly [share: number, value: number])[]
}

export const formats = {
  count: { options: { maximumFractionDigits: 0 } },
  share: { options: { minimumFractionDigits: 3, maximumFractionDigits: 3 } },
  milliseconds: { options: { style: 'unit', unit: 'millisecond', maximumSignificantDigits: 3 } },
  bytes: { options: { style: 'unit', unit: 'megabyte', maximumSignificantDigits: 4 }, scale: 1e-6 },
} as const satisfies { readonly [name: string]: Format }

export function text(value: number, { options, scale = 1 }: Format): string {
  return new Intl.NumberFormat('en-US', options).format(value * scale)
}

export function linesOf(results: readonly ReplayResult[], { measureOf }: Measure): readonly Line[] {
  return results.map(({ target, stretches, trace }) => ({
    name: target,
    points: stretches.flatMap((stretch) => {
      const value = measureOf(stretch)
      return value === undefined || !Number.isFinite(value) ? [] : [[stretch.events / trace.events, value] as const]
    }),
  }))
}

/** The page finds the place of the chart by its number. */
export function figure(number: number, { title, format }: Measure, lines: readonly Line[]): string {
  const known = lines.filter(({ points }) => points.length > 0)
  const caption = `<figcaption>${title}</figcaption>`
  if (known.length === 0) return `<figure>${caption}<p class="none">nothing measured</p></figure>`
  const ends = known.map(({ name, points }) => `${name} ends at ${text(points.at(-1)![1], format)}`).join(', ')
  return (
    `<figure>${caption}<div class="chart" data-chart="${number}" role="img" aria-label="${escaped(`${title}: ${ends}`)}"></div>` +
    `<details><summary>Values</summary>${table(known, format)}</details></figure>`
  )
}

function table(lines: readonly Line[], format: Format): string {
  const rows = lines.flatMap(({ name, points }) =>
    points.map(
      ([share, value]) =>
        `<tr><th>${escaped(name)}</th><td>${(share * 100).toFixed(1)} %</td><td>${text(value, format)}</td></tr>`,
    ),
  )
  return `<table><thead><tr><td></td><th>position</th><th>value</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
}

export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`)
}
