// What an engine does with the store that the nodes of a cluster share: images are stored before a record names them, fetched and verified
// before their record is applied, and removed when no record in the log names them.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type Log, makeDurableDirectory, sizeOf, type Vfs } from '@annal/wal'
import type { Catalog } from '../catalog/catalog.ts'
import type { RestoredFrom } from '../catalog/catalog-state.ts'
import { EngineError } from '../errors.ts'
import { filesOf, imageManifestName, readImage } from './image/image.ts'
import { verifyImage } from './image/verify-image.ts'
import type { SharedFiles } from './shared-files.ts'

interface SharedSide {
  readonly vfs: Vfs
  readonly dataDir: string
  catalog(): Catalog
  log(): Log
}

/** What a record says of its image. */
type NamedImage = Pick<RestoredFrom, 'importId' | 'imageSha256'>

/** Downloads an image into `imports`. Rejects with snapshot_damaged, and as the store does; then nothing is left. */
export async function downloadImage(
  { vfs, dataDir }: Pick<SharedSide, 'vfs' | 'dataDir'>,
  files: SharedFiles,
  { importId, imageSha256 }: NamedImage,
): Promise<void> {
  const dir = join(dataDir, 'imports')
  const temporary = join(dir, `tmp-${randomBytes(16).toString('hex')}`)
  await makeDurableDirectory(vfs, temporary, dataDir)
  try {
    await files.getImage(importId, temporary)
    const stored = await readImage(vfs, temporary)
    const faults = await verifyImage(vfs, stored)
    if (stored.sha256 !== imageSha256) faults.push('it is not the image that the record names')
    if (faults.length > 0) throw new EngineError('snapshot_damaged', faults.join('; '))
    await vfs.rename(temporary, join(dir, importId))
    await vfs.syncDirectory(dir)
  } catch (error) {
    await vfs.removeTree(temporary)
    throw error
  }
}

/** The images of one engine in the store. */
export class SharedImages {
  readonly #side: SharedSide
  readonly #files: SharedFiles
  /** Images of this engine whose record is not applied yet. */
  readonly #coming = new Set<string>()

  constructor(side: SharedSide, files: SharedFiles) {
    this.#side = side
    this.#files = files
  }

  /** Stores an image while `commit` appends the record that names it. */
  async naming<T>(id: string, commit: () => Promise<T>): Promise<T> {
    const { vfs, dataDir } = this.#side
    const { dir, image } = await readImage(vfs, join(dataDir, 'imports', id))
    const files = filesOf(image).map(({ name, bytes }) => ({ name, bytes }))
    const bytes = await sizeOf(vfs, join(dir, imageManifestName))
    this.#coming.add(id)
    try {
      await this.#files.putImage(id, dir, [...files, { name: imageManifestName, bytes }])
      return await commit()
    } finally {
      this.#coming.delete(id)
    }
  }

  /** Makes the files of an image be in `imports`. Waits for the store; rejects with `closed` if the node closes. */
  async fetch(restored: NamedImage): Promise<void> {
    const { vfs, dataDir } = this.#side
    if (await vfs.exists(join(dataDir, 'imports', restored.importId, imageManifestName))) return
    await this.#files.patiently(`the image ${restored.importId}`, () =>
      downloadImage(this.#side, this.#files, restored),
    )
  }

  /** Whether the record with this LSN is in the log, so that an engine that is behind needs its image. */
  isInLog(lsn: number): boolean {
    return lsn >= this.#side.log().state().lsnFirst
  }

  /** Removes images that no record in the log names. `confirm` proves that this engine leads, after the list was read. */
  async collect(confirm: () => Promise<unknown>): Promise<void> {
    const ids = await this.#files.imageIds()
    // Every record that names one of these is applied here, or this engine does not lead: no other engine can have stored them since.
    await confirm()
    const named = new Set(this.#side.catalog().imports.map(({ id }) => id))
    for (const id of ids) if (!named.has(id) && !this.#coming.has(id)) await this.#files.removeImage(id)
  }
}
