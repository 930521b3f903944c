// The existing backups: folders `<data>/backups/<id>` with one image each, created under a temporary name and renamed
// when everything in them is durable. Names are stored in the manifests; folder names are numbers only.
import { randomBytes } from 'node:crypto'
import { dirname, join } from 'node:path'
import { makeDurableDirectory, type Vfs } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { printed } from '../model/ids.ts'
import { type Image, readImage, type StoredImage, writeImageManifest } from './image.ts'

const folderForm = /^[0-9a-f]{32}$/

export class BackupStore {
  readonly vfs: Vfs
  readonly dir: string
  readonly #held = new Map<string, StoredImage>()

  constructor(vfs: Vfs, dir: string) {
    this.vfs = vfs
    this.dir = dir
  }

  /**
   * Reads the existing backups and removes unfinished ones that a crash left. Returns the faults of folders that cannot
   * be read.
   */
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

  /** Oldest first. */
  all(): StoredImage[] {
    return [...this.#held.values()].sort((a, b) => a.image.takenAtMs - b.image.takenAtMs)
  }

  list(database: string): StoredImage[] {
    return this.all().filter(({ image }) => image.database === database)
  }

  find(database: string, name: string): StoredImage | undefined {
    return this.#held.get(keyOf(database, name))
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
      if (this.find(database, name) !== stored) throw notFound(name, cause)
    }
    const result = await read(stored).catch((error: unknown) => {
      refuseRemoved(error)
      throw error
    })
    refuseRemoved()
    return result
  }

  /** Creates a folder to fill; `add` turns it into a backup. */
  async begin(): Promise<string> {
    const { vfs, dir } = this
    const temporary = join(dir, `tmp-${randomBytes(16).toString('hex')}`)
    await makeDurableDirectory(vfs, temporary, dirname(dir))
    return temporary
  }

  /** Writes the manifest of a folder that holds everything else, which makes it a backup. */
  async add(temporary: string, image: Image): Promise<StoredImage> {
    const { vfs, dir } = this
    const folder = temporary.slice(temporary.lastIndexOf('tmp-') + 'tmp-'.length)
    await writeImageManifest(vfs, temporary, { ...image, folder })
    await vfs.syncDirectory(temporary)
    const path = join(dir, folder)
    await vfs.rename(temporary, path)
    await vfs.syncDirectory(dir)
    const stored = await readImage(vfs, path)
    this.#keep(stored)
    return stored
  }

  /** Abandons an unfinished folder. */
  async abandon(temporary: string): Promise<void> {
    await this.vfs.removeTree(temporary)
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

  #keep(stored: StoredImage): void {
    this.#held.set(keyOf(stored.image.database, stored.image.name), stored)
  }
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
  return `${database}/${name}`
}
