// The existing backups. On a single server they are folders `<data>/backups/<id>` with one image each, created under a temporary name and
// renamed when everything in them is durable. Names are stored in the manifests; folder names are numbers only.
import { randomBytes } from 'node:crypto'
import { dirname, join } from 'node:path'
import { makeDurableDirectory, type Vfs } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { nameInKey, printed } from '../model/ids.ts'
import { type Image, readImage, type StoredImage, writeImageManifest } from './image/image.ts'

const folderForm = /^[0-9a-f]{32}$/

/** A backup whose files are on this disk until it is closed. */
export interface OpenBackup {
  readonly stored: StoredImage
  close(): Promise<void>
}

/** Where backups are. */
export abstract class BackupStore {
  readonly vfs: Vfs
  readonly dir: string

  constructor(vfs: Vfs, dir: string) {
    this.vfs = vfs
    this.dir = dir
  }

  /** Removes unfinished backups that a crash left. Returns the faults of backups that cannot be read. */
  abstract open(): Promise<string[]>

  /** Oldest first. */
  abstract all(): StoredImage[]

  abstract find(database: string, name: string): StoredImage | undefined

  /** Makes the files of a backup readable. */
  abstract files(stored: StoredImage): Promise<OpenBackup>

  /** Writes the manifest of a folder that holds everything else, which makes it a backup. */
  abstract add(temporary: string, image: Image): Promise<StoredImage>

  abstract remove(database: string, name: string): Promise<void>

  /** Removes the backups of a deleted database. */
  abstract forget(database: string): Promise<void>

  list(database: string): StoredImage[] {
    return this.all().filter(({ image }) => image.database === database)
  }

  /** Throws backup_not_found. */
  get(database: string, name: string): StoredImage {
    const found = this.find(database, name)
    if (found) return found
    throw notFound(name)
  }

  /** Reads a backup that may be removed in the meantime: then it throws backup_not_found, whatever `read` did. */
  async reading<T>(database: string, name: string, read: (stored: StoredImage) => Promise<T>): Promise<T> {
    const stored = this.get(database, name)
    const refuseRemoved = (cause?: unknown) => {
      if (this.find(database, name)?.sha256 !== stored.sha256) throw notFound(name, cause)
    }
    try {
      const opened = await this.files(stored)
      const result = await read(opened.stored).finally(() => opened.close())
      refuseRemoved()
      return result
    } catch (error) {
      refuseRemoved(error)
      throw error
    }
  }

  /** Yields what `read` yields from the files of a backup. */
  async *streaming(
    stored: StoredImage,
    read: (stored: StoredImage) => AsyncIterable<Uint8Array>,
  ): AsyncGenerator<Uint8Array> {
    const opened = await this.files(stored)
    try {
      yield* read(opened.stored)
    } finally {
      await opened.close()
    }
  }

  /** Creates a folder to fill; `add` turns it into a backup. */
  async begin(): Promise<string> {
    const { vfs, dir } = this
    const temporary = join(dir, `tmp-${randomBytes(16).toString('hex')}`)
    await makeDurableDirectory(vfs, temporary, dirname(dir))
    return temporary
  }

  /** Abandons an unfinished folder. */
  async abandon(temporary: string): Promise<void> {
    await this.vfs.removeTree(temporary)
  }
}

/** The backups of a single server. */
export class BackupFolders extends BackupStore {
  readonly #held = new Map<string, StoredImage>()

  async open(): Promise<string[]> {
    const { vfs, dir } = this
    if (!(await vfs.exists(dir))) return []
    const troubles: string[] = []
    for (const name of await vfs.list(dir)) {
      if (name.startsWith('tmp-')) await vfs.removeTree(join(dir, name))
      if (!folderForm.test(name)) continue
      try {
        const stored = await readImage(vfs, join(dir, name))
        const { folder = name } = stored.image
        if (folder !== name) troubles.push(`backup folder ${name} has the manifest of folder ${folder} and is not used`)
        else this.#keep(stored)
      } catch (error) {
        troubles.push(`backup folder ${name}: ${(error as Error).message}`)
      }
    }
    return troubles
  }

  all(): StoredImage[] {
    return [...this.#held.values()].sort((a, b) => a.image.takenAtMs - b.image.takenAtMs)
  }

  find(database: string, name: string): StoredImage | undefined {
    return this.#held.get(keyOf(database, name))
  }

  async files(stored: StoredImage): Promise<OpenBackup> {
    return { stored, close: async () => undefined }
  }

  async add(temporary: string, image: Image): Promise<StoredImage> {
    const { vfs, dir } = this
    const folder = folderOf(temporary)
    await writeImageManifest(vfs, temporary, { ...image, folder })
    await vfs.syncDirectory(temporary)
    const path = join(dir, folder)
    await vfs.rename(temporary, path)
    await vfs.syncDirectory(dir)
    const stored = await readImage(vfs, path)
    this.#keep(stored)
    return stored
  }

  async remove(database: string, name: string): Promise<void> {
    const stored = this.get(database, name)
    this.#held.delete(keyOf(database, name))
    // The folder is renamed first: after a crash there must be no manifest whose files are gone.
    if (!(await this.vfs.exists(stored.dir))) return
    const leaving = join(this.dir, `tmp-${randomBytes(16).toString('hex')}`)
    await this.vfs.rename(stored.dir, leaving)
    await this.vfs.syncDirectory(this.dir)
    await this.vfs.removeTree(leaving)
  }

  async forget(database: string): Promise<void> {
    for (const { image } of this.list(database)) await this.remove(database, image.name)
  }

  #keep(stored: StoredImage): void {
    this.#held.set(keyOf(stored.image.database, stored.image.name), stored)
  }
}

/** The name that the folder of a backup gets: 32 hexadecimal digits. */
export function folderOf(temporary: string): string {
  return temporary.slice(temporary.lastIndexOf('tmp-') + 'tmp-'.length)
}

function notFound(name: string, cause?: unknown): EngineError {
  return new EngineError(
    'backup_not_found',
    `there is no backup ${printed(name)}`,
    { field: 'backup', value: name },
    { cause },
  )
}

/** Neither part contains a "/", so the key is unambiguous. */
function keyOf(database: string, name: string): string {
  return `${database}/${nameInKey(name)}`
}
