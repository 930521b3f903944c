// The object `index` of a bucket archive: which bases and images it has. It is replaced under the condition that it is unchanged, so it
// never depends on a list of the bucket. Each base and image has a listing of its files, an object named by its SHA-256.
import { StoreUnavailable } from '@annal/wal/replicated'
import { type FileInParts, sha256 } from '../cluster/file-parts.ts'
import type { FoundObject, Objects } from '../cluster/objects.ts'
import { ArchiveError } from './archive-error.ts'
import { partKey } from './archive-parts.ts'

/** A checkpoint in an archive: a restore begins with it. */
export interface Base {
  /** Name of the folder of the checkpoint. */
  readonly name: string
  /** The log continues after this record. */
  readonly lsn: number
  /** The newest record that any part of it reflects. */
  readonly lsnReached: number
  readonly timeMs: number
  /** The message with which a restore begins to read. */
  readonly messageFirst: number
  /** Name of the listing of its files. */
  readonly listing: string
  /** The folder of the listing and the files; `files/` if it is not stated. */
  readonly folder?: string
  readonly bytes: number
}

/** The image of a collection that a record of the log names. */
export interface ImageEntry {
  readonly id: string
  /** LSN of that record. */
  readonly lsn: number
  readonly listing: string
  readonly folder?: string
}

/** The content of the index. Bases and images are in the order of their LSNs. */
export interface ArchiveIndex {
  readonly uuid: string
  /** The number of the message with which its writer took over; 0 or absent for the first writer. */
  readonly owner?: number
  readonly bases: readonly Base[]
  readonly images: readonly ImageEntry[]
}

const indexKey = 'index'
const format = 1
const attemptsMax = 5

/** The index of one archive, as this process read or wrote it last. */
export class IndexObject {
  readonly #objects: Objects
  readonly #at: string
  #found: FoundObject | undefined
  #value: ArchiveIndex
  readonly #owner: number

  private constructor(
    objects: Objects,
    at: string,
    { found, value, owner }: { found: FoundObject | undefined; value: ArchiveIndex; owner: number },
  ) {
    this.#objects = objects
    this.#at = at
    this.#found = found
    this.#value = value
    this.#owner = owner
  }

  /**
   * Reads the index; an archive without one has no bases. A writer states itself, and becomes the owner if it took over. Throws
   * archive_damaged, archive_in_use, archive_taken_over.
   */
  static async open(
    objects: Objects,
    at: string,
    writer?: { readonly uuid: string; readonly owner: number },
  ): Promise<IndexObject> {
    const found = await objects.get(indexKey)
    const value = found === undefined ? { uuid: writer?.uuid ?? '', bases: [], images: [] } : parse(found.bytes, at)
    if (writer !== undefined && value.uuid !== writer.uuid) throw inUse(at, value.uuid, writer.uuid)
    const index = new IndexObject(objects, at, { found, value, owner: writer?.owner ?? 0 })
    if (writer === undefined) return index
    index.#refuseOlder(value)
    // From now on, what an older writer wants to change is refused.
    if ((value.owner ?? 0) < writer.owner) await index.change((before) => ({ ...before, owner: writer.owner }))
    return index
  }

  get value(): ArchiveIndex {
    return this.#value
  }

  /**
   * Changes the index. If it was replaced meanwhile, perhaps by an earlier attempt that arrived late, `change` is applied to what is there.
   * Throws archive_in_use if the archive is now one of another directory.
   */
  async change(change: (index: ArchiveIndex) => ArchiveIndex): Promise<void> {
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      const value = change(this.#value)
      const bytes = Buffer.from(`${JSON.stringify({ format, ...seal(value) })}\n`)
      await this.#objects.put(indexKey, bytes, this.#found ? { etag: this.#found.etag } : 'absent')
      // Whatever the outcome was: the object has this content, or it has not.
      const found = await this.#objects.get(indexKey)
      const isDone = found !== undefined && bytes.equals(found.bytes)
      if (found !== undefined) this.#take(found)
      if (isDone) return
    }
    throw this.#objects.putTrouble ?? new StoreUnavailable(`the index of ${this.#at} could not be replaced`)
  }

  #take(found: FoundObject): void {
    const value = parse(found.bytes, this.#at)
    if (value.uuid !== this.#value.uuid) throw inUse(this.#at, value.uuid, this.#value.uuid)
    this.#refuseOlder(value)
    this.#found = found
    this.#value = value
  }

  #refuseOlder({ owner = 0 }: ArchiveIndex): void {
    if (owner <= this.#owner) return
    const message = `another server took over ${this.#at} with message ${owner}`
    throw new ArchiveError('archive_taken_over', message)
  }

  /** Reads a listing of files. Throws archive_damaged. */
  async listing({ listing, folder }: Pick<Base, 'listing' | 'folder'>): Promise<readonly FileInParts[]> {
    const key = partKey(listing, folder)
    const found = await this.#objects.get(key)
    if (found === undefined || sha256(found.bytes) !== listing)
      throw new ArchiveError('archive_damaged', `the object ${key} of ${this.#at} is missing or damaged`)
    return JSON.parse(Buffer.from(found.bytes).toString()) as FileInParts[]
  }
}

function inUse(at: string, uuid: string, own: string): ArchiveError {
  return new ArchiveError('archive_in_use', `${at} contains the archive of data directory ${uuid}, not of ${own}`)
}

function seal(value: ArchiveIndex) {
  const text = JSON.stringify(value)
  return { sha256: sha256(Buffer.from(text)), index: value }
}

function parse(bytes: Uint8Array, at: string): ArchiveIndex {
  try {
    const read = JSON.parse(Buffer.from(bytes).toString()) as { format: number; sha256: string; index: ArchiveIndex }
    if (read.format === format && seal(read.index).sha256 === read.sha256) return read.index
  } catch {
    // Reported below.
  }
  throw new ArchiveError('archive_damaged', `the index of ${at} is damaged, or a newer version wrote it`)
}
