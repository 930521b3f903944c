// Files that several engines of a test share, in memory. Each engine has its own view, which can lose the store, as a node can.
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EngineError, type HeldCheckpoint } from '@annal/engine'
import type { FolderFile, SharedBackup, SharedCheckpoint, SharedFiles } from '@annal/engine/replicated'

type Folder = ReadonlyMap<string, Uint8Array>

/** The store. */
export class SharedMemory {
  readonly images = new Map<string, Folder>()
  readonly backups = new Map<string, { readonly backup: SharedBackup; readonly folder: Folder }>()

  readonly checkpoints = new Map<SharedCheckpoint, Folder>()

  /** Stores the checkpoint in a folder. */
  async putCheckpoint({ name, dir, files, lsn }: HeldCheckpoint): Promise<void> {
    this.checkpoints.set({ lsn, name, folder: 'snapshots/' }, await readFolder(dir, files))
  }

  /** Changes one byte of a file of an image. */
  damageImage(id: string, name: string): void {
    const folder = new Map(this.images.get(id))
    const bytes = Buffer.from(folder.get(name) ?? [])
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
    this.images.set(id, folder.set(name, bytes))
  }
}

/** The store, as one engine reaches it. */
export class SharedView implements SharedFiles {
  isAway = false
  /** What the engine waits for. */
  waiting: string | undefined
  readonly #memory: SharedMemory
  #isClosed = false

  constructor(memory: SharedMemory) {
    this.#memory = memory
  }

  close(): void {
    this.#isClosed = true
  }

  async putImage(id: string, dir: string, files: readonly FolderFile[]): Promise<void> {
    this.#check()
    this.#memory.images.set(id, await readFolder(dir, files))
  }

  async getImage(id: string, dir: string): Promise<void> {
    this.#check()
    await writeFolder(dir, this.#memory.images.get(id))
  }

  async imageIds(): Promise<readonly string[]> {
    this.#check()
    return [...this.#memory.images.keys()]
  }

  async removeImage(id: string): Promise<void> {
    this.#check()
    this.#memory.images.delete(id)
  }

  readonly backups = this.#backupsOf()

  async checkpoints(): Promise<readonly SharedCheckpoint[]> {
    this.#check()
    return [...this.#memory.checkpoints.keys()]
  }

  async getCheckpoint(checkpoint: SharedCheckpoint, dir: string, isWanted: (name: string) => boolean): Promise<void> {
    this.#check()
    const files = [...(this.#memory.checkpoints.get(checkpoint) ?? [])].filter(([name]) => isWanted(name))
    await writeFolder(dir, new Map(files))
  }

  async patiently(what: string, attempt: () => Promise<void>): Promise<void> {
    while (!this.#isClosed) {
      try {
        await attempt()
        this.waiting = undefined
        return
      } catch (error) {
        this.waiting = `${what}: ${(error as Error).message}`
      }
      await sleep(5)
    }
    throw new EngineError('closed', 'the node was closed')
  }

  #backupsOf() {
    const view = this
    return {
      get known(): readonly SharedBackup[] {
        return [...view.#memory.backups.values()].map(({ backup }) => backup)
      },
      async add(backup: SharedBackup, dir: string, files: readonly FolderFile[]): Promise<void> {
        view.#check()
        const key = `${backup.databaseId}/${backup.name}`
        if (view.#memory.backups.has(key)) throw new EngineError('backup_exists', 'it exists')
        view.#memory.backups.set(key, { backup, folder: await readFolder(dir, files) })
      },
      async get({ databaseId, name }: SharedBackup, dir: string): Promise<void> {
        view.#check()
        await writeFolder(dir, view.#memory.backups.get(`${databaseId}/${name}`)?.folder)
      },
      async remove({ databaseId, name }: SharedBackup): Promise<void> {
        view.#check()
        view.#memory.backups.delete(`${databaseId}/${name}`)
      },
    }
  }

  #check(): void {
    if (this.isAway) throw new Error('the store is away')
  }
}

async function readFolder(dir: string, files: readonly FolderFile[]): Promise<Folder> {
  const folder = new Map<string, Uint8Array>()
  for (const { name, bytes } of files) folder.set(name, (await readFile(path.join(dir, name))).subarray(0, bytes))
  return folder
}

async function writeFolder(dir: string, folder: Folder | undefined): Promise<void> {
  if (folder === undefined) throw new Error('it is missing')
  for (const [name, bytes] of folder) await writeFile(path.join(dir, name), bytes)
}
