// The events around a position in the log, and the details of the selected one.

import { href } from '../../address.ts'
import type { LogEvent } from '../../api/log.ts'
import { Facts, Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/states.tsx'
import { Name, Said } from '../../parts/stored.tsx'
import { bytes, count, dateTime } from '../../show.ts'
import { collections } from '../../watch.ts'
import { describeEvent, toneOf } from './describe-event.ts'

export function Events(props: {
  readonly events: readonly LogEvent[]
  readonly lsn: number
  readonly onPick: (lsn: number) => void
}) {
  return (
    <Panel title="Nearby events" flush>
      {props.events.length === 0 ? (
        <Empty title="No events here" />
      ) : (
        <ol class="events">
          {props.events.map((event) => (
            <li key={event.lsn} class={event.lsn > props.lsn ? 'later' : ''}>
              <button
                type="button"
                class="plain"
                aria-current={event.lsn === props.lsn ? 'true' : undefined}
                onClick={() => props.onPick(event.lsn)}
              >
                <span class="num lsn">{count(event.lsn)}</span>
                <span class={`key tone tone-${toneOf(event)}`} />
                <span class="grow">
                  {event.collection && (
                    <strong>
                      <Name text={event.collection} />
                    </strong>
                  )}{' '}
                  <Said text={describeEvent(event)} />
                </span>
                <span class="num muted time">{dateTime(Date.parse(event.time))}</span>
              </button>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  )
}

export function EventDetail(props: {
  readonly event: LogEvent | undefined
  readonly lsn: number
  readonly onRestore: () => void
}) {
  const event = props.event
  const isHere = event?.collection !== undefined && isKnown(event.collection)
  return (
    <Panel
      title={`As of LSN ${count(props.lsn)}`}
      actions={
        <>
          {isHere && (
            <a class="button" href={href(['collections', event.collection, 'search'], { as_of: String(props.lsn) })}>
              Search as of here
            </a>
          )}
          <button type="button" class="primary" onClick={props.onRestore}>
            Restore to here…
          </button>
        </>
      }
    >
      {event === undefined ? (
        <p class="muted">No events before this position.</p>
      ) : (
        <Facts
          facts={[
            ['Newest event', `LSN ${count(event.lsn)}, ${dateTime(Date.parse(event.time))}`],
            ...(event.collection === undefined ? [] : ([['Collection', <Name text={event.collection} />]] as const)),
            ['Change', <Said text={describeEvent(event)} />],
            ...(event.ids === undefined ? [] : ([['Objects', <Ids event={event} />]] as const)),
            ['Size in the log', bytes(event.bytes)],
          ]}
        />
      )}
    </Panel>
  )
}

function Ids({ event: { ids = [], objects = 0, collection, type } }: { readonly event: LogEvent }) {
  const there = type !== 'objects-deleted' && collection !== undefined && isKnown(collection)
  return (
    <ul class="ids">
      {ids.map((id) => (
        <li key={id}>
          {there ? (
            <a href={href(['collections', collection, 'objects'], { id })}>
              <Name text={id} />
            </a>
          ) : (
            <Name text={id} />
          )}
        </li>
      ))}
      {objects > ids.length && <li class="muted">and {count(objects - ids.length)} more</li>}
    </ul>
  )
}

function isKnown(collection: string): boolean {
  return collections.value?.some(({ name }) => name === collection) === true
}
