// The events around a place in the log, and the one that is looked at in full.
import type { LogEvent } from '../../api/log.ts'
import { Facts, Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/states.tsx'
import { href } from '../../route.ts'
import { bytes, count, dateTime } from '../../show.ts'
import { collections } from '../../watch.ts'
import { told, toneOf } from './told.ts'

export function Events(props: {
  readonly of: readonly LogEvent[]
  readonly at: number
  readonly onPick: (lsn: number) => void
}) {
  return (
    <Panel title="Events around it" flush>
      {props.of.length === 0 ? (
        <Empty title="Nothing happened here" />
      ) : (
        <ol class="events">
          {props.of.map((event) => (
            <li key={event.lsn} class={event.lsn > props.at ? 'later' : ''}>
              <button
                type="button"
                class="plain"
                aria-current={event.lsn === props.at ? 'true' : undefined}
                onClick={() => props.onPick(event.lsn)}
              >
                <span class="num lsn">{count(event.lsn)}</span>
                <span class={`key tone tone-${toneOf(event)}`} />
                <span class="grow">
                  {event.collection && <strong>{event.collection}</strong>} {told(event)}
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
  readonly of: LogEvent | undefined
  readonly at: number
  readonly onRestore: () => void
}) {
  const event = props.of
  return (
    <Panel
      title={`As of LSN ${count(props.at)}`}
      actions={
        <button type="button" class="primary" onClick={props.onRestore}>
          Restore to here…
        </button>
      }
    >
      {event === undefined ? (
        <p class="muted">Nothing had happened yet.</p>
      ) : (
        <Facts
          of={[
            ['Newest event', `LSN ${count(event.lsn)}, ${dateTime(Date.parse(event.time))}`],
            ...(event.collection === undefined ? [] : ([['Collection', event.collection]] as const)),
            ['What', told(event)],
            ...(event.ids === undefined ? [] : ([['Objects', <Ids of={event} />]] as const)),
            ['Size in the log', bytes(event.bytes)],
          ]}
        />
      )}
    </Panel>
  )
}

function Ids({ of: { ids = [], objects = 0, collection, type } }: { readonly of: LogEvent }) {
  const there = type !== 'objects-deleted' && collections.value?.some(({ name }) => name === collection)
  return (
    <ul class="ids">
      {ids.map((id) => (
        <li key={id}>
          {there && collection !== undefined ? (
            <a href={href(['collections', collection, 'objects'], { id })}>{id}</a>
          ) : (
            <span>{id}</span>
          )}
        </li>
      ))}
      {objects > ids.length && <li class="muted">and {count(objects - ids.length)} more</li>}
    </ul>
  )
}
