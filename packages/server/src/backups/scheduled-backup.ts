// One scheduled backup of a collection: skipped if nothing changed, verified if requested, and followed by the deletion of the
// oldest ones.
import type { BackupInfo, Database } from '@annal/engine'

const prefix = 'auto-'
/** Retries while another backup of the database is running. */
const attempts = 5
const nameLengthMax = 200

/** How many scheduled backups are kept, and whether they are verified. */
export interface Keeping {
  /** Number of scheduled backups kept for each collection. Other backups are never deleted. */
  readonly keep: number
  /** Verifies each backup with a test restore. */
  readonly check: boolean
}

/** The scheduled backups of a collection, oldest first. */
export function scheduledBackups({ backups }: Database, collection: string): readonly BackupInfo[] {
  return backups.list().filter((info) => info.collection === collection && info.name.startsWith(prefix))
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
  for (const { name: old } of scheduledBackups(database, collection).slice(0, -keep)) await backups.remove(old)
}

async function begin(database: Database, collection: string): Promise<{ readonly name: string }> {
  const timeText = new Date().toISOString().replaceAll(/[-:.Z]/g, '')
  const name = `${prefix}${collection}-${timeText}`.slice(0, nameLengthMax)
  for (let attempt = 1; ; attempt++) {
    try {
      return await database.backups.create(collection, name)
    } catch (error) {
      if (attempt === attempts || (error as { code?: unknown }).code !== 'backup_running') throw error
      await database.backups.settled()
    }
  }
}
