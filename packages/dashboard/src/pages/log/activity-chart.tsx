// A bar chart of events per time interval. Clicking a bar selects its first event; keyboard users move the slider below the chart.
import { useRef, useState } from 'preact/hooks'
import type { Activity, Bucket } from '../../api/log.ts'
import { Segmented } from '../../parts/form.tsx'
import { Panel } from '../../parts/panel.tsx'
import { bytes, compact, count, dateTime, duration } from '../../show.ts'
import { niceTop } from '../operations/chart.tsx'
import type { Tone } from './describe-event.ts'
import { beginOfHistory } from './history-begins.tsx'

type Measure = 'objects' | 'events' | 'bytes'

interface Part {
  readonly tone: Tone
  readonly name: string
  readonly valueOf: (bucket: Bucket) => number
}

const parts: { readonly [M in Measure]: readonly Part[] } = {
  objects: [
    { tone: 'written', name: 'written', valueOf: ({ written }) => written },
    { tone: 'refiltered', name: 'filters updated:', valueOf: ({ refiltered }) => refiltered },
    { tone: 'deleted', name: 'deleted', valueOf: ({ deleted }) => deleted },
  ],
  events: [
    { tone: 'written', name: 'objects', valueOf: ({ records, changes }) => records - changes },
    { tone: 'changes', name: 'collections, tokens, databases', valueOf: ({ changes }) => changes },
  ],
  bytes: [{ tone: 'written', name: 'in the log', valueOf: (bucket) => bucket.bytes }],
}

const width = 960
const height = 150
/** When there is little history, the bars are aligned to the right. */
const slotsMin = 60
/** The minimum height, so that one event among millions is visible. */
const barMin = 2

export function ActivityChart(props: {
  readonly activity: Activity
  readonly lsn: number
  readonly onPick: (lsn: number) => void
}) {
  const { buckets, bucket_seconds: seconds } = props.activity
  const [measure, setMeasure] = useState<Measure>('objects')
  const [over, setOver] = useState<number>()
  const box = useRef<SVGSVGElement>(null)
  const starts = buckets.map(({ time }) => Date.parse(time) / 1_000)
  const end = (starts.at(-1) ?? 0) + seconds
  const slots = Math.max(slotsMin, Math.round((end - (starts[0] ?? 0)) / seconds))
  const begin = end - slots * seconds
  const history = beginOfHistory(props.activity)
  const slotOf = (i: number) => Math.round(((starts[i] ?? 0) - begin) / seconds)
  const heights = buckets.map((bucket) => parts[measure].reduce((sum, part) => sum + part.valueOf(bucket), 0))
  const top = niceTop(Math.max(...heights))
  const here = buckets.findLastIndex(({ lsn_first: first }) => first <= props.lsn)
  const shown = buckets[over ?? here]
  const indexAt = (event: PointerEvent): number | undefined => {
    const area = box.current?.getBoundingClientRect()
    if (area === undefined) return undefined
    const slot = ((event.clientX - area.left) / area.width) * slots
    const near = buckets.map((_, i) => Math.abs(slotOf(i) + 0.5 - slot))
    return near.indexOf(Math.min(...near))
  }
  const show = measure === 'bytes' ? bytes : compact
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
          <li key={part.tone}>
            <span class={`key tone tone-${part.tone}`} /> <span class="muted">{part.name}</span>{' '}
            <strong>{shown === undefined ? '–' : show(part.valueOf(shown))}</strong>
            {shown !== undefined && <span class="muted"> {rate(part.valueOf(shown) / seconds, show)}</span>}
          </li>
        ))}
        <li class="muted">
          {shown !== undefined && `in ${duration(seconds)} from ${dateTime(Date.parse(shown.time))}`}
        </li>
      </ul>
      <div class="chart-area">
        <svg
          ref={box}
          class="activity"
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`Activity from ${dateTime((starts[0] ?? 0) * 1_000)} to ${dateTime(end * 1_000)}: ${sentence}`}
          onPointerMove={(event) => setOver(indexAt(event))}
          onPointerLeave={() => setOver(undefined)}
          onPointerUp={(event) => {
            const bucket = buckets[indexAt(event) ?? -1]
            if (bucket !== undefined) props.onPick(bucket.lsn_first)
          }}
        >
          {[0, 0.5, 1].map((share) => (
            <line key={share} class="chart-grid" x1={0} x2={width} y1={height * share} y2={height * share} />
          ))}
          {history !== undefined && history > begin && history < end && (
            <>
              <rect class="before" x={0} y={0} width={((history - begin) / (end - begin)) * width} height={height} />
              <line
                class="begin"
                x1={((history - begin) / (end - begin)) * width}
                x2={((history - begin) / (end - begin)) * width}
                y1={0}
                y2={height}
              >
                <title>{`History begins at ${dateTime(history * 1_000)}`}</title>
              </line>
            </>
          )}
          {buckets.map((bucket, i) => (
            <Bar
              key={bucket.time}
              x={(slotOf(i) / slots) * width}
              wide={width / slots}
              values={parts[measure].map((part) => [part.tone, part.valueOf(bucket)])}
              top={top}
              here={i === here}
              over={i === over}
            />
          ))}
        </svg>
        <span class="chart-scale top num">{show(top)}</span>
      </div>
      <div class="row spread muted small num axis">
        <span>{dateTime(begin * 1_000)}</span>
        <span>{count(buckets.reduce((sum, { records }) => sum + records, 0))} events</span>
        <span>{dateTime(end * 1_000)}</span>
      </div>
    </Panel>
  )
}

function Bar(props: {
  readonly x: number
  readonly wide: number
  readonly values: readonly (readonly [Tone, number])[]
  readonly top: number
  readonly here: boolean
  readonly over: boolean
}) {
  const gap = Math.min(2, props.wide * 0.15)
  let y = height
  return (
    <g>
      {(props.here || props.over) && (
        <rect class={props.here ? 'here' : 'over'} x={props.x} y={0} width={props.wide} height={height} />
      )}
      {props.values.map(([tone, value]) => {
        const tall = value === 0 ? 0 : Math.max(barMin, (value / props.top) * (height - 4))
        y -= tall
        return (
          <rect
            key={tone}
            class={`tone tone-${tone}`}
            x={props.x + gap}
            y={y}
            width={props.wide - 2 * gap}
            height={tall}
          />
        )
      })}
    </g>
  )
}

function rate(perSecond: number, show: (value: number) => string): string {
  if (perSecond === 0) return ''
  return perSecond >= 1 ? `${show(Math.round(perSecond))}/s` : `${show(Math.round(perSecond * 3_600))}/h`
}
