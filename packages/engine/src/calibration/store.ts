// Keeps the measurements of collections over restarts: `calibrations/collection-<id>.json`, one sealed value for each collection, which
// names its directory, its collection, and the generation of the replica. They are derived, so a file that is missing, damaged, or of another
// directory only means that the field is measured again.
import { join } from 'node:path'
import { makeDurableDirectory, type Vfs } from '@annal/wal'
import { readSealed, writeSealed } from '../snapshot/sealed-json.ts'
import type { ShareCurve } from './shares.ts'
import type { Witness } from './witnesses.ts'

const seal = { format: 1, key: 'calibrations' } as const
const nameForm = /^collection-(\d+)\.json$/

export interface CalibrationPlace {
  readonly vfs: Vfs
  readonly dataDir: string
  /** The uuid of the data directory. */
  directory(): string
  /** Nothing is written. */
  readonly isReadOnly: boolean
  /** Reports a file that could not be read or written. */
  readonly onTrouble: (sentence: string) => void
}

/** The newest measurement of one kind of search. */
export interface Measurement {
  readonly curves: readonly ShareCurve[]
  /** Measured with queries made of rows, while few were received. */
  readonly rowCurves?: readonly ShareCurve[]
  /** Of the replica that was measured. */
  readonly generation: number
  /** Rows of the field when it was measured. */
  readonly rows: number
  readonly queries: number
  /** `received`: queries that the field received; `rows`: made of its rows. */
  readonly source: 'received' | 'rows'
  /** Milliseconds since 1970. */
  readonly measuredAt: number
  readonly tookMs: number
  readonly witnesses: readonly Witness[]
}

/** A measurement as it is on disk. */
export interface KeptMeasurement extends Measurement {
  readonly fieldIndex: number
  readonly limit: number
  readonly rescore: boolean
}

interface Kept {
  readonly directory: string
  readonly collectionId: number
  readonly measurements: readonly KeptMeasurement[]
}

export class CalibrationStore {
  readonly #place: CalibrationPlace

  constructor(place: CalibrationPlace) {
    this.#place = place
  }

  /** Empty if there are none that belong to this collection of this directory. */
  async read(collectionId: number): Promise<readonly KeptMeasurement[]> {
    const { vfs, directory, onTrouble } = this.#place
    const path = this.#path(collectionId)
    try {
      if (!(await vfs.exists(path))) return []
      // Its checksum says that this code wrote it.
      const kept = (await readSealed(vfs, path, seal)).value as Kept
      if (kept.directory === directory() && kept.collectionId === collectionId) return kept.measurements
      onTrouble(`${path} is not used: it belongs to another directory or collection`)
    } catch (error) {
      onTrouble(`${path} is not used, and its collection is calibrated again: ${(error as Error).message}`)
    }
    return []
  }

  async write(collectionId: number, measurements: readonly KeptMeasurement[]): Promise<void> {
    const { vfs, dataDir, directory, isReadOnly, onTrouble } = this.#place
    if (isReadOnly) return
    const path = this.#path(collectionId)
    try {
      await makeDurableDirectory(vfs, this.#dir, dataDir)
      const value: Kept = { directory: directory(), collectionId, measurements }
      await writeSealed(vfs, path, { ...seal, value })
    } catch (error) {
      // A full disk is no reason to search without them.
      onTrouble(`${path} could not be written: ${(error as Error).message}`)
    }
  }

  async remove(collectionId: number): Promise<void> {
    const { vfs, isReadOnly } = this.#place
    const path = this.#path(collectionId)
    if (!isReadOnly && (await vfs.exists(path))) await vfs.remove(path)
  }

  /** Removes the files of deleted collections, and those that a crash left unfinished. */
  async sweep(isKept: (collectionId: number) => boolean): Promise<void> {
    const { vfs, isReadOnly } = this.#place
    if (isReadOnly || !(await vfs.exists(this.#dir))) return
    for (const name of await vfs.list(this.#dir))
      if (!isKept(Number(nameForm.exec(name)?.[1] ?? 0))) await vfs.remove(join(this.#dir, name))
  }

  get #dir(): string {
    return join(this.#place.dataDir, 'calibrations')
  }

  #path(collectionId: number): string {
    return join(this.#dir, `collection-${collectionId}.json`)
  }
}
