// One replica as its owner shares it with readers. `publish` announces every memory that is new since the last version, and then stores
// the version: a reader that sees the version finds everything that belongs to it.
import type { SharedBytes } from '../memory/chunks.ts'
import type { PagesShape } from '../memory/hash-pages.ts'
import type { HashSeed } from '../memory/id-hash.ts'
import type { SharedTerms } from '../memory/term-table.ts'
import type { CalibrationTable } from '../model/calibration.ts'
import type { CollectionSchema } from '../model/schema.ts'
import type { ReaderSlots } from '../vector/threads/reader-slots.ts'
import type { ReaderNews, SharedField, SharedReplicaFacts } from './messages.ts'
import { type VersionFacts, VersionHeader } from './version-header.ts'

/** What a replica shows to readers, as of now. */
export interface Shareable {
  readonly definition: CollectionSchema
  /** By number of the list. */
  readonly chunks: readonly (readonly SharedBytes[])[]
  readonly fields: readonly SharedField[]
  readonly idSeed: HashSeed
  readonly idShape: PagesShape
  /** Undefined in a collection without text fields. */
  readonly terms: SharedTerms | undefined
  readonly lsnCreated: number
}

/** Where announcements go. */
export interface NewsHost {
  readonly slots: ReaderSlots
  /** Sends to every reader, and counts the announcement. */
  announce(news: ReaderNews): void
}

let lastHeader = 0

export class SharedReplica {
  readonly header = ++lastHeader
  readonly #host: NewsHost
  readonly #words: VersionHeader
  readonly #view: () => Shareable
  readonly #collectionId: number
  /** What readers know. */
  readonly #chunks: SharedBytes[][]
  #idShape: PagesShape
  #terms: SharedTerms | undefined
  #fields: SharedField[]
  #definition: CollectionSchema
  #memoryBytes: number[] = []
  #calibration: CalibrationTable | undefined

  constructor(host: NewsHost, collectionId: number, view: () => Shareable, version: VersionFacts) {
    this.#host = host
    this.#collectionId = collectionId
    this.#view = view
    this.#words = new VersionHeader(version.rows.length)
    const { chunks, fields, idShape, terms, definition } = view()
    this.#definition = definition
    this.#chunks = chunks.map((list) => [...list])
    this.#idShape = idShape
    this.#terms = terms
    this.#fields = [...fields]
    this.#memoryBytes = memoryBytes(fields)
    this.#words.publish(version)
  }

  /** Readers find the replica from now on. */
  serve(calibration?: CalibrationTable): void {
    this.#calibration = calibration
    this.#words.serve()
    this.#host.announce({ kind: 'serve', replica: this.facts })
  }

  /** Readers choose ef from the table from now on. */
  calibrate(table: CalibrationTable): void {
    this.#calibration = table
    this.#host.announce({ kind: 'calibration', header: this.header, table })
  }

  /** For a reader that attaches now. */
  get facts(): SharedReplicaFacts {
    const { definition, idSeed, lsnCreated } = this.#view()
    return {
      header: this.header,
      words: this.#words.words,
      collectionId: this.#collectionId,
      definition,
      fields: this.#fields,
      chunks: this.#chunks,
      idSeed,
      idShape: this.#idShape,
      terms: this.#terms,
      lsnCreated,
      calibration: this.#calibration,
    }
  }

  /** Called in the turn in which the owner's own searches begin to see the version. */
  publish(version: VersionFacts): void {
    const { chunks, fields, idShape, terms, definition } = this.#view()
    if (definition !== this.#definition) {
      this.#definition = definition
      this.#host.announce({ kind: 'definition', header: this.header, definition })
    }
    for (const [list, shared] of chunks.entries()) this.#announceChunks(list, shared)
    if (idShape !== this.#idShape) {
      this.#idShape = idShape
      this.#host.announce({ kind: 'ids', header: this.header, shape: idShape })
    }
    if (terms !== this.#terms) {
      this.#terms = terms
      this.#host.announce({ kind: 'terms', header: this.header, terms })
    }
    for (const [field, shared] of fields.entries()) {
      this.#announceSegments(field, shared)
      this.#announceLists(field, shared)
    }
    this.#announceGrowth(fields)
    this.#words.publish(version)
    this.#host.slots.turn()
  }

  /** Filters are about to be replaced, or were: then the version that has them is already published. */
  turnFilterEpoch(): void {
    this.#words.turnFilterEpoch()
  }

  /** Ids are about to change, or did: then the version that has the change is already published. */
  turnIdEpoch(): void {
    this.#words.turnIdEpoch()
  }

  /** No reading begins from now on. */
  withdraw(): void {
    this.#words.withdraw()
    this.#host.slots.turn()
    this.#host.announce({ kind: 'withdraw', header: this.header })
  }

  /** Resolves when every search of a reader that runs now has ended. */
  untilLeft(): Promise<void> {
    return this.#host.slots.untilLeft(this.header)
  }

  /** No reader reads an earlier version, now or later: one that begins now finds the newest version. */
  get oldestRead(): number {
    return Math.min(this.#words.version, this.#host.slots.oldestVersion(this.header))
  }

  /** Resolves when no reader reads a version below `version`. */
  until(version: number): Promise<void> {
    return this.#host.slots.untilVersion(this.header, version)
  }

  /** A full chunk never moves. Only the first one is replaced, while it is small. */
  #announceChunks(list: number, chunks: readonly SharedBytes[]): void {
    const known = this.#chunks[list] ?? []
    this.#chunks[list] = known
    const from = known[0] === chunks[0] ? known.length : 0
    if (from === chunks.length) return
    const added = chunks.slice(from)
    this.#host.announce({ kind: 'chunks', header: this.header, list, from, chunks: added })
    known.splice(from, known.length, ...added)
  }

  #announceSegments(field: number, shared: SharedField): void {
    const known = this.#fields[field]?.segments ?? []
    const isSame =
      known.length === shared.segments.length &&
      known.every(({ arena, isCutOff }, i) => {
        const segment = shared.segments[i]
        return segment?.arena === arena && segment.isCutOff === isCutOff
      })
    if (isSame) return
    this.#fields[field] = shared
    this.#host.announce({ kind: 'segments', header: this.header, field, segments: shared.segments })
  }

  #announceLists(field: number, shared: SharedField): void {
    if (this.#fields[field]?.lists === shared.lists) return
    this.#fields[field] = shared
    this.#host.announce({ kind: 'lists', header: this.header, field, lists: shared.lists })
  }

  /** V8 tells other threads of the new size of a memory some time later. */
  #announceGrowth(fields: readonly SharedField[]): void {
    const bytes = memoryBytes(fields)
    if (bytes.every((size, i) => size === this.#memoryBytes[i])) return
    this.#memoryBytes = bytes
    this.#host.announce({ kind: 'grown', header: this.header })
  }
}

function memoryBytes(fields: readonly SharedField[]): number[] {
  return fields.flatMap(({ segments, lists }) =>
    [...segments.map(({ arena }) => arena.memory), ...(lists ? [lists.handle.memory] : [])].map(
      ({ buffer }) => buffer.byteLength,
    ),
  )
}
