// Selects a position in the log: a slider over events or over time, and the same value as a number. log.tsx feeds it with the activity of
// /api/v2/log/activity; a position in time is looked up in /api/v2/log/events.
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Activity, logEvents } from '../../api/log.ts'
import { useAction } from '../../load.ts'
import { NumberField, Segmented } from '../../parts/form.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Failure } from '../../parts/states.tsx'
import { count, dateTime } from '../../show.ts'

/** A moving slider sends its request when it stops. */
const restMs = 150

export function LogSlider(props: {
  readonly activity: Activity
  readonly collection: string | undefined
  readonly lsn: number
  readonly onPick: (lsn: number) => void
}) {
  const { buckets } = props.activity
  const [kind, setKind] = useState<'event' | 'time'>('event')
  const first = buckets[0]?.lsn_first ?? 0
  const last = buckets.at(-1)?.lsn_last ?? 0
  return (
    <Panel
      title="Go to"
      actions={
        <Segmented
          label="Slider unit"
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
            value={props.lsn}
            aria-valuetext={`LSN ${props.lsn}`}
            onInput={({ currentTarget }) => props.onPick(Number(currentTarget.value))}
          />
          <NumberField
            label="LSN"
            value={props.lsn}
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
  readonly activity: Activity
  readonly collection: string | undefined
  readonly last: number
  readonly onPick: (lsn: number) => void
}) {
  const { buckets, bucket_seconds: wide } = props.activity
  const begin = Math.floor(Date.parse(buckets[0]?.time ?? '') / 1_000)
  const end = Math.floor(Date.parse(buckets.at(-1)?.time ?? '') / 1_000) + wide
  const [second, setSecond] = useState(end)
  const { error, run } = useAction()
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const pick = (wanted: number): void => {
    const second = Math.max(begin, Math.min(end, wanted))
    setSecond(second)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      void run(async () => {
        const since = new Date((second + 1) * 1_000).toISOString()
        const { events } = await logEvents({ since, limit: 1, collection: props.collection })
        // The end of that second: just before the next event.
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
        <label for="log-second">Time (local), to the second</label>
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
