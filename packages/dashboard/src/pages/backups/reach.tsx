// How safe the data is: the age of the newest backup, the schedule, and how far back a restore can reach.

import { stats } from '../../api/server.ts'
import { backupsVersion } from '../../backups-version.ts'
import { useLoad } from '../../load.ts'
import { Facts, Panel } from '../../parts/panel.tsx'
import { bytes, count, dateTime, duration } from '../../show.ts'

const everyMs = 5_000

/** Undefined for a database token, which may not read it. */
export function useSafety() {
  const loaded = useLoad(async (signal) => (await stats({ signal })).backups, ['safety'], {
    everyMs,
    version: backupsVersion.value,
  })
  return loaded.kind === 'ready' ? loaded.value : undefined
}

export function Reach() {
  const safety = useSafety()
  if (safety === undefined) return null
  const { newest_age_seconds: age, restorable_from: from, restorable_to: to, archive } = safety
  return (
    <Panel title="Data safety">
      <Facts
        facts={[
          ['Newest backup', age === undefined ? 'none yet' : `${duration(age)} ago`],
          [
            'Point-in-time restore',
            from === undefined
              ? 'Point-in-time restore is off. Set NDD_ARCHIVE_HOURS to turn it on.'
              : to === undefined
                ? 'nothing has been written yet'
                : `from ${from.lsn === 0 ? 'the first record' : `${dateTime(Date.parse(from.time))} (LSN ${count(from.lsn)})`} to ${dateTime(Date.parse(to.time))}`,
          ],
          [
            'Disk',
            `${bytes(safety.bytes)} in backups${archive === undefined ? '' : `, ${bytes(archive.bytes)} in the archive of the log`}`,
          ],
        ]}
      />
    </Panel>
  )
}
