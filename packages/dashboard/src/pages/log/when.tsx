// Where in the past one looks: a slider over events or over time, and the same as numbers.
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Activity, logEvents } from '../../api/log.ts'
import { useAction } from '../../load.ts'
import { NumberField, Segmented } from '../../parts/form.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Failure } from '../../parts/states.tsx'
import { count, dateTime } from '../../show.ts'

/** A slider that is being pulled asks when it rests. */
const restMs = 150

export function When(props: {
  readonly of: Activity
  readonly collection: string | undefined
  readonly at: number
  readonly onPick: (lsn: number) => void
}) {
  const { buckets } = props.of
  const [kind, setKind] = useState<'event' | 'time'>('event')
  const first = buckets[0]?.lsn_first ?? 0
  const last = buckets.at(-1)?.lsn_last ?? 0
  return (
    <Panel
      title="Go to"
      actions={
        <Segmented
          label="What the slider moves over"
          value={kind}
          options={[
            ['event', 'Events'],
            ['time', 'Time'],
          ]}
          onInput={setKind}
        />
      }
    >
      {kind === 'event' ? (
        <div class="when">
          <input
            type="range"
            aria-label="Event (LSN)"
            min={first}
            max={last}
            value={props.at}
            aria-valuetext={`LSN ${props.at}`}
            onInput={({ currentTarget }) => props.onPick(Number(currentTarget.value))}
          />
          <NumberField
            label="LSN"
            value={props.at}
            min={first}
            max={last}
            onInput={(lsn) => lsn !== undefined && props.onPick(Math.max(first, Math.min(last, lsn)))}
            hint={`${count(first)} to ${count(last)}`}
          />
        </div>
      ) : (
        <Time {...props} last={last} />
      )}
    </Panel>
  )
}

function Time(props: {
  readonly of: Activity
  readonly collection: string | undefined
  readonly last: number
  readonly onPick: (lsn: number) => void
}) {
  const { buckets, bucket_seconds: wide } = props.of
  const begin = Math.floor(Date.parse(buckets[0]?.time ?? '') / 1_000)
  const end = Math.floor(Date.parse(buckets.at(-1)?.time ?? '') / 1_000) + wide
  const [second, setSecond] = useState(end)
  const { error, run } = useAction()
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const pick = (wanted: number): void => {
    const at = Math.max(begin, Math.min(end, wanted))
    setSecond(at)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      void run(async () => {
        const since = new Date((at + 1) * 1_000).toISOString()
        const { events } = await logEvents({ since, limit: 1, collection: props.collection })
        // As of the end of that second: just before whatever came next.
        props.onPick(events[0] === undefined ? props.last : events[0].lsn - 1)
      })
    }, restMs)
  }
  return (
    <div class="when">
      <input
        type="range"
        aria-label="Time"
        min={begin}
        max={end}
        value={second}
        aria-valuetext={dateTime(second * 1_000)}
        onInput={({ currentTarget }) => pick(Number(currentTarget.value))}
      />
      <div class="field">
        <label for="log-second">Second, in your time zone</label>
        <input
          id="log-second"
          type="datetime-local"
          step={1}
          value={dateTime(second * 1_000).replace(' ', 'T')}
          onInput={({ currentTarget }) => {
            const wanted = new Date(currentTarget.value).getTime()
            if (!Number.isNaN(wanted)) pick(Math.floor(wanted / 1_000))
          }}
        />
      </div>
      {error && <Failure error={error} />}
    </div>
  )
}
