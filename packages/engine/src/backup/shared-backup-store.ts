// The backups of a cluster. Their files are in a store that every node can read; a node has them on its own disk only while it makes or
// reads one.
import { join } from 'node:path'
import { sizeOf, type Vfs } from '@annal/wal'
import type { Catalog } from '../catalog/catalog.ts'
import { EngineError } from '../errors.ts'
import { BackupStore, folderOf, type OpenBackup } from './backup-store.ts'
import {
  filesOf,
  type Image,
  imageManifestName,
  imageText,
  parseImageText,
  readImage,
  type StoredImage,
  writeImageManifest,
} from './image/image.ts'
import { parseImage } from './image/parse-image.ts'
import type { SharedBackup, SharedBackups } from './shared-files.ts'

interface Listed {
  readonly backup: SharedBackup
  readonly stored: StoredImage
}

export class SharedBackupStore extends BackupStore {
  readonly #shared: SharedBackups
  readonly #catalog: () => Catalog
  /** Manifests that were parsed, by the id of the backup. */
  #parsed = new Map<string, Listed>()

  constructor(vfs: Vfs, dir: string, parts: { readonly shared: SharedBackups; readonly catalog: () => Catalog }) {
    super(vfs, dir)
    this.#shared = parts.shared
    this.#catalog = parts.catalog
  }

  async open(): Promise<string[]> {
    const { vfs, dir } = this
    if (!(await vfs.exists(dir))) return []
    for (const name of await vfs.list(dir)) if (name.startsWith('tmp-')) await vfs.removeTree(join(dir, name))
    return []
  }

  all(): StoredImage[] {
    return this.#listed()
      .map(({ stored }) => stored)
      .sort((a, b) => a.image.takenAtMs - b.image.takenAtMs)
  }

  find(database: string, name: string): StoredImage | undefined {
    return this.list(database).find(({ image }) => image.name === name)
  }

  async files(stored: StoredImage): Promise<OpenBackup> {
    const { vfs } = this
    const listed = this.#listedOf(stored)
    const temporary = await this.begin()
    try {
      await this.#shared.get(listed.backup, temporary)
      const found = await readImage(vfs, temporary)
      if (found.sha256 !== listed.stored.sha256)
        throw new EngineError('backup_damaged', `the store has another manifest of backup "${stored.image.name}"`)
      return { stored: { ...found, image: stored.image }, close: () => vfs.removeTree(temporary) }
    } catch (error) {
      await vfs.removeTree(temporary)
      throw error
    }
  }

  async add(temporary: string, image: Image): Promise<StoredImage> {
    const { vfs } = this
    const id = folderOf(temporary)
    const databaseId = this.#catalog().database(image.database)?.id
    if (databaseId === undefined)
      throw new EngineError('database_not_found', `the database "${image.database}" was deleted meanwhile`)
    const named = { ...image, folder: id }
    await writeImageManifest(vfs, temporary, named)
    const files = filesOf(image).map(({ name, bytes }) => ({ name, bytes }))
    const bytes = await sizeOf(vfs, join(temporary, imageManifestName))
    const backup = { id, databaseId, name: image.name, manifest: imageText(named) }
    await this.#shared.add(backup, temporary, [...files, { name: imageManifestName, bytes }])
    await vfs.removeTree(temporary)
    return this.#parse(backup).stored
  }

  async remove(database: string, name: string): Promise<void> {
    await this.#shared.remove(this.#listedOf(this.get(database, name)).backup)
  }

  /** The node that leads removes them later (`collectShared`). */
  forget(): Promise<void> {
    return Promise.resolve()
  }

  /** Removes the backups of databases that were deleted. */
  async removeDeleted(): Promise<void> {
    for (const backup of this.#shared.known)
      if (this.#catalog().databaseById(backup.databaseId) === undefined) await this.#shared.remove(backup)
  }

  #listed(): Listed[] {
    const known = this.#shared.known
    const parsed = known.map((backup) => this.#parsed.get(backup.id) ?? this.#parse(backup))
    this.#parsed = new Map(parsed.map((listed) => [listed.backup.id, listed]))
    const catalog = this.#catalog()
    // A later database of the same name is a different one.
    return parsed.filter(({ backup, stored }) => catalog.database(stored.image.database)?.id === backup.databaseId)
  }

  #listedOf(stored: StoredImage): Listed {
    const listed = this.#parsed.get(stored.image.folder ?? '')
    if (listed !== undefined) return listed
    throw new EngineError('backup_not_found', `there is no backup "${stored.image.name}"`, { field: 'backup' })
  }

  #parse(backup: SharedBackup): Listed {
    const { value, sum: sha256 } = parseImageText(backup.manifest, `the manifest of backup "${backup.name}"`)
    const image = { ...parseImage(value), name: backup.name, folder: backup.id }
    return { backup, stored: { dir: join(this.dir, backup.id), image, sha256 } }
  }
}
