// Copies scheduled backups to a bucket: the newest of each collection, once. In the bucket, it keeps the newest `keep` of each
// collection.
import type { BackupInfo, Database } from '@annal/engine'
import type { Bucket } from './bucket.ts'
import { byLog, timeOf } from './scheduled-backup.ts'

/** The bucket, and how many backups it keeps. */
export interface CarrierOptions {
  /** Each database has a folder in it. */
  readonly bucket: Bucket
  /** Number of scheduled backups kept in the bucket for each collection. Other backups are never deleted. */
  readonly keep: number
  /** Downloads each copy and compares it. */
  readonly check: boolean
}

/** Copies the scheduled backups of each database to a bucket. */
export class Carrier {
  readonly #options: CarrierOptions
  #closed = false

  constructor(options: CarrierOptions) {
    this.#options = options
  }

  /** Copies the newest backups of a database. Returns a sentence for each failure; the next call retries. Never rejects. */
  async carry(database: Database): Promise<string[]> {
    const faults: string[] = []
    const folder = this.#options.bucket.within(database.name)
    const reportFailure = async (what: string, act: () => Promise<void>): Promise<void> => {
      try {
        if (!this.#closed) await act()
      } catch (error) {
        // After `close`, failures are expected. The next start of the server copies what is missing.
        if (!this.#closed) faults.push(`${what} failed: ${(error as Error).message}`)
      }
    }
    await reportFailure(`listing the backups of "${database.name}" in the bucket`, async () => {
      const stored = (await folder.list()).map(({ name }) => name)
      for (const newest of newestOfEach(database.backups.list()))
        await reportFailure(`copying backup "${newest.name}" of "${database.name}" to the bucket`, () =>
          this.#carryOne(database, newest, folder, stored),
        )
    })
    return faults
  }

  /** Cancels the running transfer. */
  close(): void {
    this.#closed = true
    this.#options.bucket.close()
  }

  async #carryOne(
    { backups }: Database,
    { name, collection }: BackupInfo,
    folder: Bucket,
    stored: readonly string[],
  ): Promise<void> {
    const { keep, check } = this.#options
    const names = stored.filter((candidate) => timeOf(candidate, collection) !== undefined)
    if (!names.includes(name)) {
      const { bytes, stream } = backups.download(name)
      await folder.put(name, stream, { bytesAbout: bytes, check })
    }
    // Names end with a time, so sorting by name sorts by time. The newest one stays whatever its name is: a clock that was wrong made others.
    const others = names.filter((other) => other !== name).sort()
    for (const old of others.slice(0, Math.max(0, others.length + 1 - keep))) await folder.delete(old)
  }
}

/** The newest scheduled backup of each collection. */
function newestOfEach(infos: readonly BackupInfo[]): Iterable<BackupInfo> {
  const scheduled = infos.filter(({ name, collection }) => timeOf(name, collection) !== undefined)
  return new Map(scheduled.sort(byLog).map((info) => [info.collection, info])).values()
}
