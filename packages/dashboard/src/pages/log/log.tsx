// The log as a timeline: activity over time, the events, and restoring any past state.
import { useRef, useState } from 'preact/hooks'
import { parameters } from '../../address.ts'
import { type Activity, type LogEvent, logActivity, logEvents } from '../../api/log.ts'
import { type Loaded, useLoad, useRested } from '../../load.ts'
import { SelectField } from '../../parts/form.tsx'
import { Bar, PageHead, Panel } from '../../parts/panel.tsx'
import { Empty, Failure, Loading, Show } from '../../parts/states.tsx'
import { count } from '../../show.ts'
import { collections } from '../../watch.ts'
import { ActivityChart } from './activity-chart.tsx'
import { EventDetail, Events } from './events.tsx'
import { HistoryBegins } from './history-begins.tsx'
import { LogSlider } from './log-slider.tsx'
import { RestoreHere } from './restore-here.tsx'

const everyMs = 5_000
/** While the server reads the log, each reply has read one more step. */
const readingMs = 50
const aroundIt = 12
const all = ''

export function Log() {
  const query = parameters.value
  const [collection, setCollection] = useState(query.get('collection') ?? all)
  const only = collection === all ? undefined : collection
  const [complete, setComplete] = useState(false)
  const activity = useLoad(
    async (signal) => {
      const found = await logActivity(only, { signal })
      setComplete(found.complete)
      return found
    },
    [collection],
    { everyMs: complete ? everyMs : readingMs },
  )
  return (
    <>
      <PageHead title="Log and time" actions={<ChooseCollection value={collection} onInput={setCollection} />} />
      <Show source={activity}>
        {(found) =>
          found.complete ? (
            <Past key={collection} activity={found} collection={only} from={numberOf(query.get('at'))} />
          ) : (
            <Reading activity={found} />
          )
        }
      </Show>
    </>
  )
}

function ChooseCollection(props: { readonly value: string; readonly onInput: (name: string) => void }) {
  const names = (collections.value ?? []).map(({ name }) => name)
  const gone = props.value === all || names.includes(props.value) ? [] : [props.value]
  return (
    <div class="choice">
      <SelectField
        label="Collection"
        value={props.value}
        options={[[all, 'Whole database'], ...[...names, ...gone].map((name) => [name, name] as const)]}
        onInput={props.onInput}
      />
    </div>
  )
}

function Past(props: {
  readonly activity: Activity
  readonly collection: string | undefined
  readonly from: number | undefined
}) {
  const { buckets } = props.activity
  const [picked, setPicked] = useState(props.from)
  const [restoring, setRestoring] = useState(false)
  // Without a selection the position is the end of the log and follows new events.
  const lsn = picked ?? buckets.at(-1)?.lsn_last ?? 0
  // While the slider moves, the last events stay until the next reply arrives.
  const held = useRef<readonly LogEvent[]>([])
  const around = useAround(useRested(lsn), props.collection)
  if (buckets.length === 0) {
    return (
      <div class="panel">
        <Empty title="No events yet">
          <p>
            Every write is an event in the log. Events appear here, and the state after each of them can be restored.
          </p>
        </Empty>
      </div>
    )
  }
  const events = around.kind === 'ready' ? around.value : held.current
  held.current = events
  const newest = events.findLast((event) => event.lsn <= lsn)
  return (
    <div class="stack">
      <ActivityChart activity={props.activity} lsn={lsn} onPick={setPicked} />
      <LogSlider activity={props.activity} collection={props.collection} lsn={lsn} onPick={setPicked} />
      <div class="split">
        <EventDetail event={newest} lsn={lsn} onRestore={() => setRestoring(true)} />
        {around.kind === 'failed' ? (
          <Failure error={around.error} retry={around.again} />
        ) : around.kind === 'loading' && events.length === 0 ? (
          <Loading />
        ) : (
          <Events events={events} lsn={newest?.lsn ?? lsn} onPick={setPicked} />
        )}
      </div>
      <HistoryBegins activity={props.activity} />
      {restoring && (
        <RestoreHere
          collection={props.collection ?? newest?.collection}
          lsn={lsn}
          onClose={() => setRestoring(false)}
        />
      )}
    </div>
  )
}

/** The newest events up to a position and the events after it, oldest first. */
function useAround(lsn: number, collection: string | undefined): Loaded<readonly LogEvent[]> & { again: () => void } {
  return useLoad(
    async (signal) => {
      const [before, after] = await Promise.all([
        logEvents({ before: lsn + 1, limit: aroundIt, collection }, { signal }),
        logEvents({ from: lsn + 1, limit: aroundIt, collection }, { signal }),
      ])
      return [...before.events, ...after.events]
    },
    [lsn, collection],
  )
}

function Reading({ activity }: { readonly activity: Activity }) {
  return (
    <Panel>
      <div class="stack tight" role="status">
        <span>
          Reading the log: {count(activity.segments_read)} of {count(activity.segments)} segments.
        </span>
        <Bar share={activity.segments_read / Math.max(1, activity.segments)} label="Log reading progress" />
      </div>
    </Panel>
  )
}

function numberOf(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}
