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

export interface Replaced {
  /** Searches of lower versions see the records. */
  readonly version: number
  readonly records: ReadonlyMap<number, EarlierRecord>
}

/** The replaced records of one collection. */
export class EarlierRecords {
  /** Ordered by version. */
  #replaced: Replaced[] = []
  /** Records from before this version are kept although no search reads it. */
  #keptFrom = Number.POSITIVE_INFINITY

  /**
   * Keeps the records that ordinals had before `version`; records may be added while the version is published. The returned function must
   * be called when no new search can read an earlier version. It drops the records once no search reads one.
   */
  keep(replaced: Replaced): (pins: Pins) => void {
    this.#replaced.push(replaced)
    return (pins) =>
      void pins.until(replaced.version).then(() => {
        if (replaced.version <= this.#keptFrom) this.#replaced = this.#replaced.filter((one) => one !== replaced)
      })
  }

  /**
   * Keeps what searches as of this version and later ones see, and drops what was kept for earlier ones when no search reads them. With
   * `isLast`, later records are kept as long as searches run, as at first.
   */
  keepFrom(version: number, pins: Pins, { isLast }: { readonly isLast: boolean }): void {
    this.#keptFrom = isLast ? Number.POSITIVE_INFINITY : version
    void pins.until(version).then(() => {
      this.#replaced = this.#replaced.filter((one) => one.version > version)
    })
  }

  /** What was replaced after a version, ordered by version. */
  since(version: number): readonly Replaced[] {
    let from = this.#replaced.length
    while (from > 0 && (this.#replaced[from - 1] as Replaced).version > version) from--
    return from === this.#replaced.length ? none : this.#replaced.slice(from)
  }

  /** The record of an ordinal as of a version; undefined if it was not replaced since. Its meta may be undefined, see `metaAt`. */
  recordAt(ordinal: number, version: number): EarlierRecord | undefined {
    for (const { records } of this.since(version)) {
      const record = records.get(ordinal)
      if (record !== undefined) return record
    }
    return undefined
  }

  /** The meta of an ordinal as of a version; undefined if it was not replaced since. */
  metaAt(ordinal: number, version: number): Uint8Array | undefined {
    for (const { records } of this.since(version)) {
      const meta = records.get(ordinal)?.meta
      if (meta !== undefined) return meta
    }
    return undefined
  }
}

const none: readonly Replaced[] = []
