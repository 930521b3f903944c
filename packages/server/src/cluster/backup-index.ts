// The backups of a cluster: which exist, in the control bucket, and their files, in the shared store. Each change of the index is a
// compare-and-set. An entry exists before its files are uploaded and after they are removed, so whatever a node leaves behind is found
// without a list of the store.
import { EngineError } from '@annal/engine'
import type { FolderFile, SharedBackup, SharedBackups } from '@annal/engine/replicated'
import { nodeVfs } from '@annal/wal'
import { ServerError } from '../errors.ts'
import type { ControlBucket, ControlEntry } from './control-bucket.ts'
import { getFileSet, putFileSet, removeFileSet, type SetPlace } from './file-sets.ts'
import { listingName } from './shared-images.ts'
import type { SharedStore } from './shared-store.ts'
import { whileAvailable } from './shared-trouble.ts'

/** An entry of the index. `uploading` and `removing` are not backups yet, or no more. */
interface Entry extends SharedBackup {
  readonly state: 'uploading' | 'complete' | 'removing'
  /** The process that uploads it. */
  readonly instance: string
}

/** What an index is made of. */
export interface BackupIndexParts {
  readonly bucket: ControlBucket
  readonly store: SharedStore
  readonly instance: string
}

const prefix = 'backup'
/** How long the key of a removed backup stays. */
const removedTtl = '1h'
/** A NATS server may be behind. What this node wrote stays known for so long. */
const ownMs = 10_000

interface Known {
  readonly entry: Entry | undefined
  readonly revision: number
  /** When this node wrote it. */
  readonly writtenAt: number | undefined
}

/** The backups that the nodes of a cluster share. */
export class BackupIndex implements SharedBackups {
  readonly #parts: BackupIndexParts
  #known = new Map<string, Known>()

  constructor(parts: BackupIndexParts) {
    this.#parts = parts
  }

  get known(): readonly SharedBackup[] {
    return [...this.#known.values()].flatMap(({ entry }) => (entry?.state === 'complete' ? [entry] : []))
  }

  /** Reads the index. Rejects if nobody answers. */
  async refresh(): Promise<void> {
    const found = new Map<string, Known>()
    const listed = await this.#answered(() => this.#parts.bucket.list(prefix))
    for (const { key, value, revision } of listed)
      found.set(key, { entry: (value as Entry | null) ?? undefined, revision, writtenAt: undefined })
    for (const [key, known] of this.#known) {
      const isNewer = known.revision > (found.get(key)?.revision ?? 0)
      if (isNewer && known.writtenAt !== undefined && performance.now() - known.writtenAt < ownMs) found.set(key, known)
    }
    this.#known = found
  }

  async add(backup: SharedBackup, dir: string, files: readonly FolderFile[]): Promise<void> {
    const key = keyOf(backup)
    const there = await this.#answered(() => this.#parts.bucket.get(key))
    if (there !== undefined && there.value !== null) throw taken(backup)
    const entry: Entry = { ...backup, state: 'uploading', instance: this.#parts.instance }
    const revision = await this.#write(key, entry, there?.revision ?? 0)
    try {
      await whileAvailable(() => putFileSet(this.#placeOf(backup), { vfs: nodeVfs(), dir, files }))
      await this.#write(key, { ...entry, state: 'complete' }, revision)
    } catch (error) {
      // What this leaves behind is removed by the next leader.
      await this.#removeFrom(key, entry, revision).catch(() => undefined)
      throw error
    }
  }

  async get(backup: SharedBackup, dir: string): Promise<void> {
    await whileAvailable(() => getFileSet(this.#placeOf(backup), { vfs: nodeVfs(), dir }))
  }

  async remove(backup: SharedBackup): Promise<void> {
    const key = keyOf(backup)
    const there = await this.#answered(() => this.#parts.bucket.get(key))
    const entry = there?.value as Entry | null | undefined
    if (there === undefined || entry?.id !== backup.id) return
    await this.#removeFrom(key, entry, there.revision)
  }

  /** Finishes what other nodes began and did not finish. The node that leads calls it. */
  async sweep(): Promise<void> {
    for (const { key, value, revision } of await this.#answered(() => this.#parts.bucket.list(prefix))) {
      const entry = value as Entry | null
      const isOver = entry?.state === 'removing' || entry?.state === 'uploading'
      if (entry !== null && isOver && entry.instance !== this.#parts.instance)
        await this.#removeFrom(key, entry, revision)
    }
  }

  async #removeFrom(key: string, entry: Entry, revision: number): Promise<void> {
    const { instance } = this.#parts
    const removing = await this.#write(key, { ...entry, state: 'removing', instance }, revision)
    await whileAvailable(() => removeFileSet(this.#placeOf(entry)))
    await this.#write(key, null, removing, removedTtl)
  }

  async #write(key: string, entry: Entry | null, expected: number, ttl?: string): Promise<number> {
    const { bucket } = this.#parts
    let revision = await bucket.put(key, entry, { expected, ...(ttl !== undefined && { ttl }) })
    if (revision === 'unknown') revision = await this.#outcomeOf(key, entry, expected)
    if (revision === 'conflict')
      throw new EngineError('cancelled', 'another node changed the list of backups at the same time; try again')
    this.#known.set(key, { entry: entry ?? undefined, revision, writtenAt: performance.now() })
    return revision
  }

  /** Finds out what became of a write that nobody confirmed. */
  async #outcomeOf(key: string, entry: Entry | null, expected: number): Promise<number | 'conflict'> {
    const found: ControlEntry | undefined = await this.#answered(() => this.#parts.bucket.get(key))
    if (found !== undefined && JSON.stringify(found.value) === JSON.stringify(entry)) return found.revision
    if ((found?.revision ?? 0) !== expected) return 'conflict'
    throw new ServerError('shared_store_unavailable', 'NATS did not confirm a change of the list of backups')
  }

  async #answered<T>(act: () => Promise<T>): Promise<T> {
    try {
      return await act()
    } catch (error) {
      const message = `NATS does not answer: ${(error as Error).message}`
      throw new ServerError('shared_store_unavailable', message, {}, { cause: error })
    }
  }

  #placeOf({ id }: SharedBackup): SetPlace {
    return { store: this.#parts.store, folder: `backups/${id}/`, name: listingName }
  }
}

/** Names of backups have letters, digits, hyphens, and underscores only. */
function keyOf({ databaseId, name }: SharedBackup): string {
  return `${prefix}.${databaseId}.${name}`
}

function taken({ name }: SharedBackup): EngineError {
  return new EngineError('backup_exists', `a backup "${name}" already exists`, { field: 'name', value: name })
}
