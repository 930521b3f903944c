// What objects had before their records were replaced while searches of earlier versions run. These searches still see it.
import type { Pins } from './pins.ts'

/** The content of an object before a write that kept its ordinal. */
export interface EarlierRecord {
  readonly filter: string
  /** The LSN of the record that had written the object, 0 if that is unknown. */
  readonly lsn: number
  /** Undefined if the write kept the meta. */
  readonly meta: Uint8Array | undefined
}

interface Replaced {
  /** Searches of lower versions see the records. */
  readonly version: number
  readonly records: ReadonlyMap<number, EarlierRecord>
}

/** The replaced records of one collection. */
export class EarlierRecords {
  /** Ordered by version. */
  readonly #replaced = new Set<Replaced>()

  /**
   * Keeps the records that ordinals had before `version`; records may be added while the version is published. The returned function must
   * be called when no new search can read an earlier version. It drops the records once no search reads one.
   */
  keep(replaced: Replaced): (pins: Pins) => void {
    this.#replaced.add(replaced)
    return (pins) => void pins.until(replaced.version).then(() => this.#replaced.delete(replaced))
  }

  /** The record of an ordinal as of a version; undefined if it was not replaced since. Its meta may be undefined, see `metaAt`. */
  recordAt(ordinal: number, version: number): EarlierRecord | undefined {
    for (const replaced of this.#replaced) {
      const record = version < replaced.version ? replaced.records.get(ordinal) : undefined
      if (record !== undefined) return record
    }
    return undefined
  }

  /** The meta of an ordinal as of a version; undefined if it was not replaced since. */
  metaAt(ordinal: number, version: number): Uint8Array | undefined {
    for (const replaced of this.#replaced) {
      const meta = version < replaced.version ? replaced.records.get(ordinal)?.meta : undefined
      if (meta !== undefined) return meta
    }
    return undefined
  }
}
