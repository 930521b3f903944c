// Puts checkpoints of this node into the shared store as snapshots. A snapshot counts when all its files were read back, and is then added to
// the list. Files that did not change since the node's last snapshot are not stored again.
import path from 'node:path'
import { checkCheckpoints, type Engine, type HeldCheckpoint, holdCheckpoint } from '@annal/engine'
import { makeDurableDirectory, nodeVfs } from '@annal/wal'
import { ServerError } from '../../errors.ts'
import { sha256 } from '../file-parts.ts'
import { type FileListing, putFileSet, readListing } from '../file-sets.ts'
import type { SharedStore } from '../shared-store.ts'
import { snapshotsFolder } from './load-snapshot.ts'
import { type Snapshot, type SnapshotIndex, type SnapshotList, withSnapshot } from './snapshot-index.ts'

/** What a writer works with. */
export interface SnapshotWriterParts {
  readonly dataDir: string
  /** The uuid of the cluster. */
  readonly uuid: string
  readonly node: string
  readonly engine: Pick<Engine, 'checkpoint'>
  readonly index: SnapshotIndex
  readonly shared: SharedStore
  readonly retentionMs: number
  /** Throws when a snapshot is no longer wanted. */
  readonly checkWanted: () => void
}

/** How many snapshots are kept. */
const keep = 2

/** Writes the snapshots of one node, one at a time. */
export class SnapshotWriter {
  readonly #parts: SnapshotWriterParts
  /** The files of this node's snapshots that are in the list, by name. */
  readonly #listings = new Map<string, FileListing>()
  #hasCleaned = false
  #bytesPut = 0
  /** What was in the list when folders were last collected. */
  #collected: string | undefined

  constructor(parts: SnapshotWriterParts) {
    this.#parts = parts
  }

  /** Bytes that were stored since the node started. */
  get bytesPut(): number {
    return this.#bytesPut
  }

  /** Takes a checkpoint and makes it a snapshot. Resolves to the list with it. */
  async put(list: SnapshotList, loading: ReadonlySet<string>): Promise<SnapshotList> {
    const { dataDir, uuid, node, engine, retentionMs, index } = this.#parts
    const vfs = nodeVfs()
    const uploads = path.join(dataDir, 'uploads')
    // What a process left that ended meanwhile.
    if (!this.#hasCleaned) await vfs.removeTree(uploads)
    this.#hasCleaned = true
    await engine.checkpoint()
    // Where checkCheckpoints finds it.
    const into = path.join(uploads, 'checkpoints')
    await makeDurableDirectory(vfs, into, dataDir)
    const held = await holdCheckpoint({ dataDir, identity: { uuid }, into })
    if (held === undefined || held.lsn <= (list.snapshots.at(-1)?.lsn ?? 0)) return list
    try {
      const isLogWhole = false
      const { faults } = await checkCheckpoints({ vfs, dataDir: uploads, directory: uuid, isDeep: true, isLogWhole })
      const [fault] = faults
      if (fault !== undefined) throw new Error(`a checkpoint of this node is damaged: ${fault.file}: ${fault.what}`)
      const listing = await this.#upload(held, list)
      const { name, lsn, lsnReached, files } = held
      const snapshot: Snapshot = { lsn, lsnReached, node, name, bytes: bytesOf(files), timeMs: Date.now() }
      this.#listings.set(name, listing)
      return await index.change((before) => withSnapshot(before, snapshot, { keep, loading, retentionMs }))
    } finally {
      await vfs.removeTree(held.dir)
    }
  }

  async #upload({ name, dir, files }: HeldCheckpoint, list: SnapshotList): Promise<FileListing> {
    const { node, shared, checkWanted } = this.#parts
    const folder = snapshotsFolder(node)
    const before = await this.#listed(list)
    const verified = new Set(before.flatMap(partsOf))
    const isStored = (file: { readonly name: string; readonly bytes: number }) =>
      before.some((listing) => listing.files.some((each) => each.name === file.name && each.bytes === file.bytes))
    const onBytes = (bytes: number) => {
      this.#bytesPut += bytes
    }
    const bytesNew = bytesOf(files.filter((file) => !isStored(file)))
    const options = { known: new Set(verified), onBytes, checkWanted, bytesNew }
    const listing = await putFileSet({ store: shared, folder, name }, { vfs: nodeVfs(), dir, files }, options)
    for (const sum of new Set(partsOf(listing))) if (!verified.has(sum)) await this.#verify(`${folder}${sum}`, sum)
    return listing
  }

  /**
   * The files of this node's snapshots in the list. They were read back when it was added, perhaps before this process began. A node that
   * cannot load a snapshot removes it from the list; then nothing of it is trusted any more.
   */
  async #listed({ snapshots }: SnapshotList): Promise<readonly FileListing[]> {
    const { node, shared } = this.#parts
    const names = snapshots.filter((snapshot) => snapshot.node === node).map(({ name }) => name)
    for (const name of this.#listings.keys()) if (!names.includes(name)) this.#listings.delete(name)
    for (const name of names) {
      if (this.#listings.has(name)) continue
      const listing = await readListing({ store: shared, folder: snapshotsFolder(node), name })
      if (listing !== undefined) this.#listings.set(name, listing)
    }
    return [...this.#listings.values()]
  }

  /** A part that cannot be read back is removed, so that the next attempt stores it again. */
  async #verify(key: string, sum: string): Promise<void> {
    const { shared, checkWanted } = this.#parts
    checkWanted()
    const bytes = await shared.get(key)
    if (bytes !== undefined && sha256(bytes) === sum) return
    await shared.delete([key])
    throw new ServerError('shared_file_damaged', `${key} in ${shared.at} could not be read back`)
  }

  /** Removes what no snapshot in the list needs, from this node's folder and from those of nodes that were removed. */
  async collect({ snapshots }: SnapshotList, removed: readonly string[]): Promise<void> {
    const folders = [this.#parts.node, ...removed]
    const wanted = snapshots.filter(({ node }) => folders.includes(node))
    const state = [...wanted.map(({ name }) => name), ...removed].join()
    if (state === this.#collected) return
    for (const node of folders) {
      const names = wanted.filter((snapshot) => snapshot.node === node).map(({ name }) => name)
      await this.#collectFolder(snapshotsFolder(node), names)
    }
    this.#collected = state
  }

  async #collectFolder(folder: string, names: readonly string[]): Promise<void> {
    const { shared: store } = this.#parts
    const needed = new Set<string>()
    for (const name of names) {
      const listing = await readListing({ store, folder, name })
      for (const key of [name, ...partsOf(listing)]) needed.add(`${folder}${key}`)
    }
    await store.delete((await store.list(folder)).filter((key) => !needed.has(key)))
  }
}

function bytesOf(files: readonly { readonly bytes: number }[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0)
}

function partsOf(listing: FileListing | undefined): readonly string[] {
  return listing?.files.flatMap(({ parts }) => parts) ?? []
}
