// Carries scheduled backups off the machine: of each collection the newest, once, and no more of them are kept there than wanted.
import type { BackupInfo, Database } from '@annal/engine'
import type { Bucket } from './bucket.ts'

export interface CarrierOptions {
  /** A folder in it for each database. */
  readonly bucket: Bucket
  /** Scheduled backups kept there of each collection; others are never touched. */
  readonly keep: number
  /** Reads back what was carried. */
  readonly check: boolean
}

const prefix = 'auto-'
/** What the name of a scheduled backup ends with. */
const stampForm = /^\d{8}T\d{9}$/

export class Carrier {
  readonly #options: CarrierOptions
  #closed = false

  constructor(options: CarrierOptions) {
    this.#options = options
  }

  /** Says what could not be carried, which the next call tries again. Never rejects. */
  async carry(database: Database): Promise<string[]> {
    const faults: string[] = []
    const folder = this.#options.bucket.within(database.name)
    const reportFailure = async (what: string, act: () => Promise<void>): Promise<void> => {
      try {
        if (!this.#closed) await act()
      } catch (error) {
        // What the end cut off is done in the next life.
        if (!this.#closed) faults.push(`${what} failed: ${(error as Error).message}`)
      }
    }
    await reportFailure(`listing the backups of "${database.name}" in the bucket`, async () => {
      const there = (await folder.list()).map(({ name }) => name)
      for (const newest of newestOfEach(database.backups.list()))
        await reportFailure(`copying backup "${newest.name}" of "${database.name}" to the bucket`, () =>
          this.#carryOne(database, newest, folder, there),
        )
    })
    return faults
  }

  /** Ends what is under way. */
  close(): void {
    this.#closed = true
    this.#options.bucket.close()
  }

  async #carryOne(
    { backups }: Database,
    { name, collection }: BackupInfo,
    folder: Bucket,
    there: readonly string[],
  ): Promise<void> {
    const { keep, check } = this.#options
    const names = there.filter((one) => isScheduled(one, collection))
    if (!names.includes(name)) {
      const { bytes, stream } = backups.download(name)
      await folder.put(name, stream, { bytesAbout: bytes, check })
      names.push(name)
    }
    // Names end with their time.
    for (const old of names.sort().slice(0, -keep)) await folder.delete(old)
  }
}

/** Of each collection the newest that a schedule made. */
function newestOfEach(infos: readonly BackupInfo[]): Iterable<BackupInfo> {
  const scheduled = infos.filter(({ name, collection }) => isScheduled(name, collection))
  return new Map(scheduled.map((info) => [info.collection, info])).values()
}

function isScheduled(name: string, collection: string): boolean {
  const start = `${prefix}${collection}-`
  return name.startsWith(start) && stampForm.test(name.slice(start.length))
}
