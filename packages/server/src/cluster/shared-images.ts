// The files that the engine of a node shares with the others: images, one folder of the store each, and backups. What cannot be fetched is
// fetched again until it is there, and the node is out of service meanwhile.
import { setTimeout as sleep } from 'node:timers/promises'
import { EngineError } from '@annal/engine'
import type { FolderFile, SharedBackups, SharedCheckpoint, SharedFiles } from '@annal/engine/replicated'
import { nodeVfs } from '@annal/wal'
import { getFileSet, putFileSet, removeFileSet, type SetPlace } from './file-sets.ts'
import type { SharedStore } from './shared-store.ts'
import { whileAvailable } from './shared-trouble.ts'
import { checkedName, snapshotsFolder } from './snapshots/load-snapshot.ts'
import type { SnapshotIndex } from './snapshots/snapshot-index.ts'

/** What the shared files of a node are made of. */
export interface SharedImagesParts {
  readonly store: SharedStore
  readonly backups: SharedBackups
  readonly snapshots: SnapshotIndex
  /** Aborted when the node closes. */
  readonly closing: AbortSignal
  /** Why the node cannot go on; undefined when it can again. */
  readonly onWaiting: (reason: string | undefined) => void
}

const imagesFolder = 'images/'
/** The name of the listing in the folder of an image or a backup. */
export const listingName = 'listing'
const retryMsMin = 250
const retryMsMax = 5_000

/** The seam between the engine of a node and the shared store. */
export class SharedImages implements SharedFiles {
  readonly backups: SharedBackups
  readonly #parts: SharedImagesParts

  constructor(parts: SharedImagesParts) {
    this.#parts = parts
    this.backups = parts.backups
  }

  async putImage(id: string, dir: string, files: readonly FolderFile[]): Promise<void> {
    try {
      await whileAvailable(() => putFileSet(this.#placeOf(id), { vfs: nodeVfs(), dir, files }))
    } catch (error) {
      await this.removeImage(id).catch(() => undefined)
      throw error
    }
  }

  async getImage(id: string, dir: string): Promise<void> {
    await getFileSet(this.#placeOf(id), { vfs: nodeVfs(), dir })
  }

  async imageIds(): Promise<readonly string[]> {
    const keys = await this.#parts.store.list(imagesFolder)
    return [...new Set(keys.map((key) => key.slice(imagesFolder.length).split('/')[0] ?? ''))]
  }

  async removeImage(id: string): Promise<void> {
    await removeFileSet(this.#placeOf(id))
  }

  async checkpoints(): Promise<readonly SharedCheckpoint[]> {
    const { snapshots } = await whileAvailable(() => this.#parts.snapshots.read())
    return snapshots.map(({ lsn, name, node }) => ({ lsn, name: checkedName(name), folder: snapshotsFolder(node) }))
  }

  async getCheckpoint(
    { folder, name }: SharedCheckpoint,
    dir: string,
    isWanted: (name: string) => boolean,
  ): Promise<void> {
    const place = { store: this.#parts.store, folder, name }
    await whileAvailable(() => getFileSet(place, { vfs: nodeVfs(), dir, isWanted }))
  }

  async patiently(what: string, attempt: () => Promise<void>): Promise<void> {
    const { closing, onWaiting } = this.#parts
    for (let retryMs = retryMsMin; ; retryMs = Math.min(2 * retryMs, retryMsMax)) {
      if (closing.aborted) throw new EngineError('closed', `the node was closed while it waited for ${what}`)
      try {
        await attempt()
        onWaiting(undefined)
        return
      } catch (error) {
        if (!closing.aborted) onWaiting(`it waits for ${what}: ${(error as Error).message}`)
      }
      await sleep(retryMs, undefined, { signal: closing }).catch(() => undefined)
    }
  }

  #placeOf(id: string): SetPlace {
    return { store: this.#parts.store, folder: `${imagesFolder}${id}/`, name: listingName }
  }
}
