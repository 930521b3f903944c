// The request keys that a checkpoint has. Keys are never changed, so a file has those of a range of LSNs, and the next checkpoint links it as
// long as it has a key that is kept. New keys are written to a new file together with those of small files before it, so that the number of
// files grows with the logarithm of the number of keys, and each key is written about as often.
import type { KeyTable } from '../requests/key-table.ts'
import type { Manifest, ManifestRequestKeys } from './manifest.ts'

/** A file is written again together with the new keys if it has at most this many times as many keys. */
const mergedShare = 2

/** The request keys of the moment in which it is made: those that the files of the previous checkpoint do not have are copied. */
export class RequestKeysCut {
  readonly #keys: KeyTable
  /** The newest record whose key it has. */
  readonly lsn: number
  /** Files of the previous checkpoint that have the keys before those in `rest`. */
  readonly linked: readonly ManifestRequestKeys[]
  readonly rest: KeysCopy | undefined

  constructor(keys: KeyTable, previous: Manifest | undefined) {
    this.#keys = keys
    this.lsn = keys.lsnLast
    const linked = (previous?.requestKeys ?? []).filter(({ lsn }) => lsn >= keys.lsnFirst)
    const lsnOf = () => linked.at(-1)?.lsn ?? 0
    while (linked.length > 0 && (linked.at(-1)?.count ?? 0) <= mergedShare * keys.countAfter(lsnOf())) linked.pop()
    this.linked = linked
    this.rest = this.#copyAfter(lsnOf())
  }

  /** All keys, for the case that a file is missing. Keys that were forgotten since are left out. */
  whole(): KeysCopy | undefined {
    return this.#copyAfter(0)
  }

  #copyAfter(lsn: number): KeysCopy | undefined {
    const count = this.#keys.countAfter(lsn) - this.#keys.countAfter(this.lsn)
    return count <= 0 ? undefined : { count, pieces: this.#keys.dump(lsn, this.lsn) }
  }
}

interface KeysCopy {
  readonly count: number
  readonly pieces: readonly Uint8Array[]
}
