// Where history begins, why, and which settings change it.
import type { Activity } from '../../api/log.ts'
import { count, dateTime, duration } from '../../show.ts'

type Begins = NonNullable<Activity['history']>['begins']

const reasons: { readonly [B in Begins]: (hours: number) => string } = {
  first_record: () => 'No history has been removed.',
  age: (hours) => `The server keeps history for ${duration(hours * 3_600)}.`,
  size: () => 'Older history did not fit into NDD_ARCHIVE_MAX_GB or a tenth of the free disk.',
  disk: () => 'Older history was removed because the disk was nearly full.',
  start: () => 'No older history has been kept.',
}

export function HistoryBegins({ activity: { history, restorable_from: from } }: { readonly activity: Activity }) {
  if (history === null || from === null)
    return (
      <p class="muted small">
        History is off: only times since the last checkpoint can be restored. Set <code>NDD_ARCHIVE_HOURS=24</code> and
        restart the server to turn it on.
      </p>
    )
  const begin = from.lsn === 0 ? 'the first record' : `LSN ${count(from.lsn)}, ${dateTime(Date.parse(from.time))}`
  return (
    <p class="muted small">
      Any time from {begin} can be restored. {reasons[history.begins](history.hours)} To keep more or less, change{' '}
      <code>NDD_ARCHIVE_HOURS={history.hours}</code> and <code>NDD_ARCHIVE_MAX_GB</code>, and restart the server.
    </p>
  )
}

/** The second at which history begins, if a chart can show it. */
export function beginOfHistory({ restorable_from: from }: Activity): number | undefined {
  return from === null || from.lsn === 0 ? undefined : Date.parse(from.time) / 1_000
}
