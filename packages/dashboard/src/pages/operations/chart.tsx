// A line chart over time, with the values under the pointer, or the newest, as text.
import { useMemo, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import { colored, lonePoints, TimePlot } from '../../parts/time-plot.tsx'
import { dateTime, type Unit } from '../../show.ts'

export interface Line {
  readonly name: string
  /** A CSS custom property. */
  readonly color: string
  readonly values: readonly (number | undefined)[]
}

const height = 140

export function Chart(props: {
  readonly title: string
  /** Milliseconds since 1970. */
  readonly times: readonly number[]
  readonly lines: readonly Line[]
  readonly unit: Unit
}) {
  const { times, lines, unit } = props
  const show = unit.one
  const [pointed, setPointed] = useState<number>()
  const last = times.length - 1
  const i = Math.min(pointed ?? last, last)
  const data = useMemo<uPlot.AlignedData>(
    () => [times.map((ms) => ms / 1_000), ...lines.map(({ values }) => values.map((value) => value ?? null))],
    [times],
  )
  const newest = lines.map(({ name, values }) => `${name} ${textOf(values[last], show)}`).join(', ')
  return (
    <figure class="panel chart">
      <figcaption>
        <h2>{props.title}</h2>
        <span class="muted num small">{pointed === undefined ? '' : dateTime(times[i]!).slice(11)}</span>
      </figcaption>
      <ul class="chart-now num">
        {lines.map(({ name, color, values }) => (
          <li key={name}>
            <span class="key" style={{ background: `var(${color})` }} /> <span class="muted">{name}</span>{' '}
            <strong>{textOf(values[i], show)}</strong>
          </li>
        ))}
      </ul>
      <TimePlot
        label={`${props.title}: now ${newest}`}
        height={height}
        data={data}
        series={lines.map(({ name, color }) => ({
          label: name,
          stroke: colored(color),
          width: 1.6,
          points: lonePoints,
        }))}
        unit={unit}
        syncKey="operations"
        onPoint={setPointed}
      />
    </figure>
  )
}

function textOf(value: number | undefined, show: (value: number) => string): string {
  return value === undefined ? '–' : show(value)
}
