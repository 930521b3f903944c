// What a model run remembers: every collection with all versions of its objects, which collection each name led to at every moment, and the
// records of the database in order. From this list follow the past, the history, differences, undo, and the change feed.
import type { TestClock } from '../expiry/rig.ts'
import type { ModelCollection, ModelDatabase, ModelObject } from './model.ts'

/** What a record did to an object. A place for more kinds of writes. */
export type VersionKind =
  | 'created'
  | 'written'
  | 'filter-updated'
  | 'patched'
  | 'deleted'
  | 'expired'
  | 'restored'
  | 'branched'

export interface Version {
  readonly lsn: number
  readonly kind: VersionKind
  /** Undefined: it does not exist since then. */
  readonly object: ModelObject | undefined
  readonly actor: string | undefined
}

/** One record of the database. */
export interface Recorded {
  readonly lsn: number
  /** When it was written, in milliseconds since 1970. */
  readonly timeMs: number
  readonly kind: string
  /** Name of the collection just after the record; before it, if the record deletes the collection. */
  readonly collection: string
  readonly written?: readonly string[]
  readonly deleted?: readonly string[]
}

/** A record, and who says to have written it. */
export interface Written {
  readonly lsn: number
  readonly actor: string | undefined
}

/** A collection that knows its past. `objects` is what it has now. */
export class Life implements ModelCollection {
  readonly spaceType: ModelCollection['spaceType']
  readonly precision: string
  readonly lsnCreated: number
  /** What it is a branch of, with the LSN whose content it has. */
  readonly parent: { readonly life: Life; readonly lsn: number } | undefined
  readonly objects = new Map<string, ModelObject>()
  readonly versions = new Map<string, Version[]>()
  /** The default expiry since each record that changed it, in seconds. */
  readonly #ttls: { readonly lsn: number; readonly ttl: number | undefined }[]
  isDropped = false

  constructor(
    { spaceType, precision }: Pick<ModelCollection, 'spaceType' | 'precision'>,
    lsnCreated: number,
    { parent, ttl }: { readonly parent?: Life['parent']; readonly ttl?: number | undefined } = {},
  ) {
    this.spaceType = spaceType
    this.precision = precision
    this.lsnCreated = lsnCreated
    this.parent = parent
    this.#ttls = [{ lsn: lsnCreated, ttl: parent ? parent.life.ttlAt(parent.lsn) : ttl }]
    for (const [id, object] of parent?.life.contentAt(parent.lsn) ?? [])
      this.put(id, object, 'branched', { lsn: lsnCreated, actor: undefined })
  }

  put(id: string, object: ModelObject | undefined, kind: VersionKind, { lsn, actor }: Written): void {
    const before = this.versions.get(id)
    const version = { lsn, kind, object, actor }
    if (before) before.push(version)
    else this.versions.set(id, [version])
    if (object) this.objects.set(id, object)
    else this.objects.delete(id)
  }

  ttlAt(lsn: number): number | undefined {
    return this.#ttls.findLast((one) => one.lsn <= lsn)?.ttl
  }

  get ttl(): number | undefined {
    return this.#ttls.at(-1)?.ttl
  }

  setTtl(ttl: number | undefined, lsn: number): void {
    this.#ttls.push({ lsn, ttl })
  }

  /** The object with the default expiry. */
  withDefault({ expiresAt: _, ...object }: ModelObject, nowMs: number): ModelObject {
    return this.ttl === undefined ? object : { ...object, expiresAt: nowMs + this.ttl * 1_000 }
  }

  /** What has expired and is still stored. */
  expired(nowMs: number): string[] {
    return [...this.objects].filter(([, { expiresAt = Infinity }]) => expiresAt <= nowMs).map(([id]) => id)
  }

  /** LSN of the record that last wrote the object; 0 if it does not exist. */
  lsnOf(id: string): number {
    return this.objects.has(id) ? (this.versions.get(id)?.at(-1)?.lsn ?? 0) : 0
  }

  contentAt(lsn: number): Map<string, ModelObject> {
    const content = new Map<string, ModelObject>()
    for (const [id, versions] of this.versions) {
      const object = versions.findLast((version) => version.lsn <= lsn)?.object
      if (object) content.set(id, object)
    }
    return content
  }
}

/** The collections of the database `default` by name, and everything else. */
export class Model extends Map<string, Life> {
  readonly #clock: TestClock

  readonly databases = new Map<string, ModelDatabase>()
  readonly aliases = new Map<string, Life>()
  readonly records: Recorded[] = []
  /** Places of consumers by name. */
  readonly cursors = new Map<string, number>()
  /** An acknowledgement is not in the log yet. */
  hasWaitingCursor = false
  /** What was answered at a moment, by LSN and name. */
  readonly answers: { readonly lsn: number; readonly name: string; readonly text: string }[] = []
  readonly #names = new Map<string, { readonly lsn: number; readonly life: Life | undefined }[]>()
  #steps = 0

  constructor(clock: TestClock) {
    super()
    this.#clock = clock
  }

  /** The time of the next record: that of the clock, and not before the newest record. */
  get nowMs(): number {
    return Math.max(this.#clock.ms, this.records.at(-1)?.timeMs ?? 0)
  }

  /** The collection that a name or an alias leads to. */
  resolve(name: string): Life | undefined {
    return this.get(name) ?? this.aliases.get(name)
  }

  resolveAt(name: string, lsn: number): Life | undefined {
    return this.#names.get(name)?.findLast((naming) => naming.lsn <= lsn)?.life
  }

  nameOf(life: Life): string {
    return [...this].find(([, one]) => one === life)?.[0] ?? ''
  }

  aliasesOf(life: Life): string[] {
    return [...this.aliases].filter(([, one]) => one === life).map(([name]) => name)
  }

  /** Call it after the names changed. */
  record({ timeMs = this.nowMs, ...record }: Omit<Recorded, 'timeMs'> & { readonly timeMs?: number }): void {
    this.records.push({ ...record, timeMs })
    const now = new Map([...this, ...this.aliases])
    for (const name of new Set([...this.#names.keys(), ...now.keys()])) {
      const namings = this.#names.get(name) ?? []
      if (namings.at(-1)?.life !== now.get(name)) namings.push({ lsn: record.lsn, life: now.get(name) })
      this.#names.set(name, namings)
    }
  }

  /** Some writes have an actor. */
  actor(): string | undefined {
    return this.#steps++ % 3 === 0 ? `agent ${this.#steps % 5}` : undefined
  }
}
