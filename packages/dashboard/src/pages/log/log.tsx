// The log as a way through time: how much happened when, what exactly, and how to have any of it back.
import { useRef, useState } from 'preact/hooks'
import { type Activity, type LogEvent, logActivity, logEvents } from '../../api/log.ts'
import { type Loaded, useLoad, useRested } from '../../load.ts'
import { SelectField } from '../../parts/form.tsx'
import { Bar, PageHead, Panel } from '../../parts/panel.tsx'
import { Empty, Failure, Loading, Show } from '../../parts/states.tsx'
import { route } from '../../route.ts'
import { count } from '../../show.ts'
import { collections } from '../../watch.ts'
import { ActivityChart } from './activity-chart.tsx'
import { EventDetail, Events } from './events.tsx'
import { HistoryBegins } from './history-begins.tsx'
import { RestoreHere } from './restore-here.tsx'
import { When } from './when.tsx'

const everyMs = 5_000
/** While the log is being read, each answer has read a step more. */
const readingMs = 50
const aroundIt = 12
const all = ''

export function Log() {
  const { query } = route.value
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
      <Show of={activity}>
        {(found) =>
          found.complete ? (
            <Past key={collection} of={found} collection={only} from={numberOf(query.get('at'))} />
          ) : (
            <Reading of={found} />
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
        options={[[all, 'All of the database'], ...[...names, ...gone].map((name) => [name, name] as const)]}
        onInput={props.onInput}
      />
    </div>
  )
}

function Past(props: {
  readonly of: Activity
  readonly collection: string | undefined
  readonly from: number | undefined
}) {
  const { buckets } = props.of
  const [picked, setPicked] = useState(props.from)
  const [restoring, setRestoring] = useState(false)
  // Nothing picked: the end, and with it whatever comes.
  const at = picked ?? buckets.at(-1)?.lsn_last ?? 0
  // While the slider is pulled the last answer stays until the next one is there.
  const held = useRef<readonly LogEvent[]>([])
  const around = useAround(useRested(at), props.collection)
  if (buckets.length === 0) {
    return (
      <div class="panel">
        <Empty title="Nothing has happened yet">
          <p>Every write is an event in the log. They appear here, and each is a moment that can be restored.</p>
        </Empty>
      </div>
    )
  }
  const events = around.kind === 'ready' ? around.value : held.current
  held.current = events
  const newest = events.findLast(({ lsn }) => lsn <= at)
  return (
    <div class="stack">
      <ActivityChart of={props.of} at={at} onPick={setPicked} />
      <When of={props.of} collection={props.collection} at={at} onPick={setPicked} />
      <div class="split">
        <EventDetail of={newest} at={at} onRestore={() => setRestoring(true)} />
        {around.kind === 'failed' ? (
          <Failure error={around.error} retry={around.again} />
        ) : around.kind === 'loading' && events.length === 0 ? (
          <Loading />
        ) : (
          <Events of={events} at={newest?.lsn ?? at} onPick={setPicked} />
        )}
      </div>
      <HistoryBegins of={props.of} />
      {restoring && (
        <RestoreHere collection={props.collection ?? newest?.collection} at={at} onClose={() => setRestoring(false)} />
      )}
    </div>
  )
}

/** The newest events up to a place and the next ones after it, oldest first. */
function useAround(at: number, collection: string | undefined): Loaded<readonly LogEvent[]> & { again: () => void } {
  return useLoad(
    async (signal) => {
      const [before, after] = await Promise.all([
        logEvents({ before: at + 1, limit: aroundIt, collection }, { signal }),
        logEvents({ from: at + 1, limit: aroundIt, collection }, { signal }),
      ])
      return [...before.events, ...after.events]
    },
    [at, collection],
  )
}

function Reading({ of }: { readonly of: Activity }) {
  return (
    <Panel>
      <div class="stack tight" role="status">
        <span>
          The log is being read: {count(of.segments_read)} of {count(of.segments)} segments.
        </span>
        <Bar share={of.segments_read / Math.max(1, of.segments)} label="Progress of reading the log" />
      </div>
    </Panel>
  )
}

function numberOf(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}
