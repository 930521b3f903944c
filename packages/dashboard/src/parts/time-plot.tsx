// A chart over time, drawn by uPlot on a canvas. To a screen reader it is an image with a label; the caller shows the values under the
// pointer as text.
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { dateTime, type Unit } from '../show.ts'
import { onColorScheme, themeColor } from '../theme.ts'

export interface TimePlotProps {
  readonly label: string
  readonly height: number
  /** A row of seconds since 1970, then a row for each series, with null where there is no value. */
  readonly data: uPlot.AlignedData
  /** Read once: a caller that changes the series changes the key of the plot. */
  readonly series: readonly uPlot.Series[]
  /** The shown time in seconds since 1970; by default that of the data. */
  readonly range?: readonly [begin: number, end: number]
  readonly unit: Unit
  /** Plots with the same key move their cursors together. */
  readonly syncKey?: string
  /** Reports the position in the data under the pointer. */
  readonly onPoint: (index: number | undefined) => void
  readonly onPick?: (index: number) => void
  /** Paints below the series. */
  readonly behind?: (plot: uPlot) => void
}

const font = '11px system-ui, sans-serif'
const valueWidth = 64
/** Space above the highest value. */
const headroom = 1.08
const daySeconds = 86_400

export function TimePlot(props: TimePlotProps) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const latest = useRef(props)
  latest.current = props
  const [begin, end] = props.range ?? []

  useEffect(() => {
    const element = box.current!
    const made = new uPlot(optionsOf(element, latest), props.data, element)
    plot.current = made
    made.over.addEventListener('click', () => {
      const { idx } = made.cursor
      if (idx != null) latest.current.onPick?.(idx)
    })
    const resized = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: latest.current.height }),
    )
    resized.observe(element)
    const stop = onColorScheme(() => made.redraw(false))
    return () => {
      stop()
      resized.disconnect()
      made.destroy()
    }
  }, [])
  useEffect(() => plot.current?.setData(props.data), [props.data, begin, end])
  useEffect(() => plot.current?.redraw(false), [props.behind])
  return (
    <div
      ref={box}
      class={props.onPick === undefined ? 'plotted' : 'plotted pick'}
      role="img"
      aria-label={props.label}
    />
  )
}

/** The color of a CSS custom property, in the current theme, for a series. */
export function colored(name: string) {
  return (plot: uPlot) => themeColor(plot.root, name)
}

/** A lone value between two gaps is drawn as a point, because it has no line. */
export const lonePoints: uPlot.Series.Points = {
  show: false,
  filter: (plot, index) => {
    const values = plot.data[index] ?? []
    return Array.from(values, (_, i) => i).filter(
      (i) => values[i] != null && values[i - 1] == null && values[i + 1] == null,
    )
  },
}

function optionsOf(element: HTMLElement, latest: { readonly current: TimePlotProps }): uPlot.Options {
  const { height, series, syncKey, unit, onPick } = latest.current
  const grid = { stroke: colored('--line'), width: 1 }
  const axis: uPlot.Axis = { font, stroke: colored('--muted'), grid, ticks: { show: false } }
  return {
    width: element.clientWidth,
    height,
    // Half of the last time is to the right of the plot.
    padding: [8, 28, 0, 0],
    legend: { show: false },
    select: { show: false, left: 0, top: 0, width: 0, height: 0 },
    // Bars, which are for choosing, have no points.
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { show: onPick === undefined },
      ...(syncKey !== undefined && { sync: { key: syncKey } }),
    },
    scales: {
      x: { range: (_plot, first, last) => [...(latest.current.range ?? [first, last])] },
      y: { range: (_plot, _least, most) => [0, most > 0 ? most * headroom : 1] },
    },
    axes: [
      {
        ...axis,
        size: 24,
        gap: 6,
        grid: { show: false },
        values: (_plot, splits, _axis, _space, step) => splits.map((at) => clock(at, step)),
      },
      {
        ...axis,
        size: valueWidth,
        space: 34,
        ...(unit.steps && { incrs: unit.steps }),
        values: (_plot, splits) => {
          const { one, axis } = latest.current.unit
          return splits.map(axis?.(splits) ?? one)
        },
      },
    ],
    series: [{}, ...series],
    hooks: {
      drawClear: [(made) => latest.current.behind?.(made)],
      setCursor: [({ cursor: { idx } }) => latest.current.onPoint(idx ?? undefined)],
    },
  }
}

/** A time in seconds, as exact as the step between two labels. */
function clock(seconds: number, stepSeconds: number): string {
  const [day = '', time = ''] = dateTime(seconds * 1_000).split(' ')
  if (stepSeconds >= daySeconds) return day.slice(5)
  return stepSeconds >= 60 ? time.slice(0, 5) : time
}
