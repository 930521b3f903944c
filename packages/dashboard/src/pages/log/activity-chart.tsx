// A bar chart of events per time interval. Clicking a bar selects its first event; keyboard users move the slider below the chart.
import { useCallback, useMemo, useState } from 'preact/hooks'
import uPlot from 'uplot'
import type { Activity, Bucket } from '../../api/log.ts'
import { Segmented } from '../../parts/form.tsx'
import { Panel } from '../../parts/panel.tsx'
import { colored, TimePlot } from '../../parts/time-plot.tsx'
import { byteUnit, compact, count, dateTime, duration, type Unit } from '../../show.ts'
import { themeColor } from '../../theme.ts'
import { beginOfHistory } from './history-begins.tsx'

type Measure = 'objects' | 'events' | 'bytes'

interface Part {
  /** A CSS custom property. */
  readonly color: string
  readonly name: string
  readonly valueOf: (bucket: Bucket) => number
}

/** From the bottom of a bar to its top. */
const parts: { readonly [M in Measure]: readonly Part[] } = {
  objects: [
    { color: '--c1', name: 'written', valueOf: ({ written }) => written },
    { color: '--c5', name: 'filters updated', valueOf: ({ refiltered }) => refiltered },
    { color: '--c7', name: 'deleted', valueOf: ({ deleted }) => deleted },
  ],
  events: [
    { color: '--c1', name: 'objects', valueOf: ({ records, changes }) => records - changes },
    { color: '--c3', name: 'collections, tokens, databases', valueOf: ({ changes }) => changes },
  ],
  bytes: [{ color: '--c1', name: 'in the log', valueOf: (bucket) => bucket.bytes }],
}

const height = 190
/** When there is little history, the bars are aligned to the right. */
const slotsMin = 60
/** The least share of the height, so that one event among millions is visible. */
const shareMin = 1 / 70
/** The share of an interval that its bar fills. */
const barShare = 0.86

export function ActivityChart(props: {
  readonly activity: Activity
  readonly lsn: number
  readonly onPick: (lsn: number) => void
}) {
  const { buckets, bucket_seconds: seconds } = props.activity
  const [measure, setMeasure] = useState<Measure>('objects')
  const [pointed, setPointed] = useState<number>()
  const starts = useMemo(() => buckets.map(({ time }) => Date.parse(time) / 1_000), [buckets])
  const end = (starts.at(-1) ?? 0) + seconds
  const slots = Math.max(slotsMin, Math.round((end - (starts[0] ?? 0)) / seconds))
  const begin = end - slots * seconds
  const history = beginOfHistory(props.activity)
  const here = buckets.findLastIndex(({ lsn_first: first }) => first <= props.lsn)
  const data = useMemo(() => stacked(buckets, starts, seconds, parts[measure]), [buckets, starts, seconds, measure])
  const behind = useCallback(
    (plot: uPlot) => {
      if (history !== undefined && history > begin) fillBehind(plot, '--hover', begin, Math.min(history, end))
      const start = starts[here]
      if (start !== undefined) fillBehind(plot, '--accent-soft', start, start + seconds)
      if (history !== undefined && history > begin && history < end) fillBehind(plot, '--accent', history)
    },
    [history, begin, end, starts, here, seconds],
  )
  const shown = buckets[pointed ?? here]
  const unit: Unit = measure === 'bytes' ? byteUnit : { one: compact }
  const show = unit.one
  const total = (part: Part) => buckets.reduce((sum, bucket) => sum + part.valueOf(bucket), 0)
  const sentence = parts[measure].map((part) => `${show(total(part))} ${part.name}`).join(', ')
  return (
    <Panel
      title="Activity"
      actions={
        <Segmented
          label="Unit of the bars"
          value={measure}
          options={[
            ['objects', 'Objects'],
            ['events', 'Events'],
            ['bytes', 'Bytes'],
          ]}
          onInput={setMeasure}
        />
      }
    >
      <ul class="chart-now num">
        {parts[measure].map((part) => (
          <li key={part.color}>
            <span class="key" style={{ background: `var(${part.color})` }} /> <span class="muted">{part.name}</span>{' '}
            <strong>{shown === undefined ? '–' : show(part.valueOf(shown))}</strong>
            {shown !== undefined && <span class="muted"> {rate(part.valueOf(shown) / seconds, show)}</span>}
          </li>
        ))}
        <li class="muted">
          {shown !== undefined && `in ${duration(seconds)} from ${dateTime(Date.parse(shown.time))}`}
        </li>
      </ul>
      <TimePlot
        // The bars of one plot have one width.
        key={`${measure} ${seconds}`}
        label={`Activity from ${dateTime((starts[0] ?? 0) * 1_000)} to ${dateTime(end * 1_000)}: ${sentence}`}
        height={height}
        data={data}
        series={[...parts[measure]].reverse().map((part) => barsOf(part, seconds * barShare))}
        range={[begin, end]}
        unit={unit}
        onPoint={setPointed}
        onPick={(index) => {
          const bucket = buckets[index]
          if (bucket !== undefined) props.onPick(bucket.lsn_first)
        }}
        behind={behind}
      />
      <div class="row spread muted small num axis">
        <span>{dateTime(begin * 1_000)}</span>
        <span>{count(buckets.reduce((sum, { records }) => sum + records, 0))} events</span>
        <span>{dateTime(end * 1_000)}</span>
      </div>
    </Panel>
  )
}

/** The middles of the intervals, then the height up to the end of each part: the highest first, so that the others are drawn over it. */
function stacked(
  buckets: readonly Bucket[],
  starts: readonly number[],
  seconds: number,
  parts: readonly Part[],
): uPlot.AlignedData {
  const most = Math.max(...buckets.map((bucket) => parts.reduce((sum, part) => sum + part.valueOf(bucket), 0)))
  const heights = buckets.map((bucket) => {
    let sum = 0
    return parts.map((part) => {
      const value = part.valueOf(bucket)
      sum += value === 0 ? 0 : Math.max(value, most * shareMin)
      return sum
    })
  })
  const rows = parts.map((_, i) => heights.map((sums) => sums[i]!)).reverse()
  return [starts.map((start) => start + seconds / 2), ...rows]
}

function barsOf({ name, color }: Part, wide: number): uPlot.Series {
  const paths = uPlot.paths.bars!({
    disp: {
      x0: { unit: 1, values: ({ data: [middles] }) => Array.from(middles, (middle) => middle - wide / 2) },
      size: { unit: 1, values: () => [wide] },
    },
  })
  return { label: name, fill: colored(color), width: 0, paths, points: { show: false } }
}

/** Fills from one time to another; without an end it draws a dashed line. */
function fillBehind(plot: uPlot, color: string, from: number, to?: number): void {
  const { ctx, bbox } = plot
  const x = plot.valToPos(from, 'x', true)
  ctx.save()
  if (to !== undefined) {
    ctx.fillStyle = themeColor(plot.root, color)
    ctx.fillRect(x, bbox.top, plot.valToPos(to, 'x', true) - x, bbox.height)
  } else {
    ctx.strokeStyle = themeColor(plot.root, color)
    ctx.setLineDash([4 * uPlot.pxRatio, 3 * uPlot.pxRatio])
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
  }
  ctx.restore()
}

function rate(perSecond: number, show: (value: number) => string): string {
  if (perSecond === 0) return ''
  return perSecond >= 1 ? `${show(Math.round(perSecond))}/s` : `${show(Math.round(perSecond * 3_600))}/h`
}
