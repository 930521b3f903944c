// One scheduled backup of a collection: skipped if nothing changed, verified if requested, and followed by the deletion of the
// oldest ones.
import type { BackupInfo, Database } from '@annal/engine'

const prefix = 'auto-'
/** Retries while another backup of the database is running. */
const attempts = 5
const nameLengthMax = 200
/** Form of the time at the end of a name. */
const stampForm = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(\d{3})$/

/** How many scheduled backups are kept, and whether they are verified. */
export interface Keeping {
  /** Number of scheduled backups kept for each collection. Other backups are never deleted. */
  readonly keep: number
  /** Verifies each backup with a test restore. */
  readonly check: boolean
}

/** The scheduled backups of a collection, oldest first. */
export function scheduledBackups({ backups }: Database, collection: string): readonly BackupInfo[] {
  return backups
    .list()
    .filter((info) => info.collection === collection && info.name.startsWith(prefix))
    .sort(byLog)
}

/** By the time of the log, which never runs backward: a clock that was set back would make the newest backup the oldest one. */
export function byLog(a: BackupInfo, b: BackupInfo): number {
  return a.timeMs - b.timeMs || a.lsn - b.lsn || a.takenAt - b.takenAt
}

/** Rejects if the backup cannot be made or is damaged; a damaged one is deleted. */
export async function backUpWhatChanged(
  database: Database,
  collection: string,
  { keep, check }: Keeping,
): Promise<void> {
  const { backups } = database
  // A collection without changes needs no new backup.
  if (scheduledBackups(database, collection).at(-1)?.lsn === database.collection(collection).describe().lsn) return
  const { name } = await begin(database, collection)
  await backups.settled()
  const { error } = backups.status()
  if (error !== undefined) throw new Error(error)
  const faults = check ? await backups.verify(name, { deep: true }) : []
  if (faults.length > 0) {
    await backups.remove(name)
    throw new Error(faults.join('; '))
  }
  const others = scheduledBackups(database, collection).filter((info) => info.name !== name)
  for (const { name: old } of others.slice(0, Math.max(0, others.length + 1 - keep))) await backups.remove(old)
}

async function begin(database: Database, collection: string): Promise<{ readonly name: string }> {
  const name = newName(database, collection)
  for (let attempt = 1; ; attempt++) {
    try {
      return await database.backups.create(collection, name)
    } catch (error) {
      if (attempt === attempts || (error as { code?: unknown }).code !== 'backup_running') throw error
      await database.backups.settled()
    }
  }
}

/** Ends with a time. It is later than that of every other one, also after the clock was set back: in a bucket, names show the order. */
function newName(database: Database, collection: string): string {
  let timeMs = Date.now()
  for (const { name } of scheduledBackups(database, collection))
    timeMs = Math.max(timeMs, (timeOf(name, collection) ?? 0) + 1)
  const timeText = new Date(timeMs).toISOString().replaceAll(/[-:.Z]/g, '')
  return `${prefix}${collection}-${timeText}`.slice(0, nameLengthMax)
}

/** The time in the name of a scheduled backup of a collection, in milliseconds since 1970; undefined for any other name. */
export function timeOf(name: string, collection: string): number | undefined {
  const start = `${prefix}${collection}-`
  const found = name.startsWith(start) ? stampForm.exec(name.slice(start.length)) : null
  if (found === null) return undefined
  const [, year, month, day, hour, minute, second, ms] = found
  const timeMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`)
  return Number.isNaN(timeMs) ? undefined : timeMs
}
