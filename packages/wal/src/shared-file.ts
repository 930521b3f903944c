// One file whose descriptor may be closed and reopened. Its owner, `OpenFiles`, decides when, and documents the
// guarantees.
import type { OpenMode, Vfs, VfsFile } from './vfs.ts'

/** What a file needs from its owner, which counts descriptors. */
export interface DescriptorOwner {
  /** Counts a use, which makes the file the most recently used one. */
  countUse(): number
  /** Opens a descriptor for a file once one is available. */
  open<T>(file: SharedFile, openDescriptor: () => Promise<T>): Promise<T>
  /** The file is about to close its descriptor; call `done` when it is closed. */
  beginClose(file: SharedFile): { readonly done: () => void }
  /** Closes idle descriptors beyond the limit. */
  trim(): Promise<void>
}

/** A file of OpenFiles. It has a descriptor only while it is used or descriptors are plentiful. */
export class SharedFile implements VfsFile {
  path: string
  readonly #owner: DescriptorOwner
  readonly #inner: Vfs
  readonly #mode: OpenMode
  readonly #onClose: (file: SharedFile) => void
  #file: VfsFile | undefined
  #opening: Promise<VfsFile> | undefined
  #givingUp: Promise<void> | undefined
  /** Running calls, plus other users of the descriptor. */
  #users = 0
  #keeps = false
  #closed = false
  #lastUse = 0
  /** Increases when a write begins and when it ends, so that a sync in between does not count as covering it. */
  #writes = 0
  #synced = 0
  #failure: { readonly error: unknown } | undefined

  constructor(options: {
    readonly owner: DescriptorOwner
    readonly inner: Vfs
    readonly path: string
    readonly mode: OpenMode
    readonly onClose: (file: SharedFile) => void
  }) {
    this.#owner = options.owner
    this.#inner = options.inner
    this.path = options.path
    this.#mode = options.mode
    this.#onClose = options.onClose
  }

  /** Opens the file for the first time, in its mode. */
  async begin(): Promise<void> {
    this.#lastUse = this.#owner.countUse()
    await this.#ensureOpen(this.#mode)
    await this.#owner.trim()
  }

  get lastUse(): number {
    return this.#lastUse
  }

  /** Whether its descriptor may be closed now. */
  get isIdle(): boolean {
    return this.#file !== undefined && this.#users === 0 && !this.#keeps
  }

  /** Syncs and closes the descriptor of an idle file. Never rejects: the next datasync reports a failure. */
  giveUp(): Promise<void> {
    this.#givingUp ??= this.#giveUp().finally(() => {
      this.#givingUp = undefined
    })
    return this.#givingUp
  }

  async #giveUp(): Promise<void> {
    const file = this.#file
    if (file === undefined) return
    this.#file = undefined
    const { done } = this.#owner.beginClose(this)
    try {
      if (this.#writes > this.#synced) await this.#sync(file)
      await file.close()
    } catch (error) {
      this.#failure ??= { error }
    } finally {
      done()
    }
  }

  /** Keeps the descriptor open until the returned function is called. */
  async hold(): Promise<() => void> {
    this.#users++
    try {
      await this.#ensureOpen()
    } catch (error) {
      this.#users--
      throw error
    }
    return () => void this.#users--
  }

  /** From now on no other descriptor leads to this file, because its name is gone. */
  keepDescriptor(): void {
    this.#keeps = true
  }

  write(bytes: Uint8Array, position: number): Promise<number> {
    return this.#runWrite((file) => file.write(bytes, position))
  }
  read(bytes: Uint8Array, position: number): Promise<number> {
    return this.#run((file) => file.read(bytes, position))
  }
  /** Undefined while it has no descriptor. */
  readNow(bytes: Uint8Array, position: number): number | undefined {
    if (this.#file === undefined) return undefined
    this.#lastUse = this.#owner.countUse()
    return this.#file.readNow?.(bytes, position)
  }
  truncate(size: number): Promise<void> {
    return this.#runWrite((file) => file.truncate(size))
  }
  size(): Promise<number> {
    return this.#run((file) => file.size())
  }

  async datasync(): Promise<void> {
    await this.#run((file) => {
      if (this.#failure !== undefined) throw this.#failure.error
      return this.#sync(file)
    })
  }

  async #sync(file: VfsFile): Promise<void> {
    const writes = this.#writes
    try {
      await file.datasync()
      this.#synced = Math.max(this.#synced, writes)
    } catch (error) {
      this.#failure ??= { error }
      throw error
    }
  }

  /** As with any descriptor, data that was not synced may be lost. */
  async close(): Promise<void> {
    if (this.#closed) throw this.#refusal()
    this.#closed = true
    this.#onClose(this)
    await this.#givingUp
    const file = this.#file ?? (await this.#opening?.catch(() => undefined))
    if (file === undefined) return
    this.#file = undefined
    const { done } = this.#owner.beginClose(this)
    try {
      await file.close()
    } finally {
      done()
    }
  }

  #refusal(): Error {
    return Object.assign(new Error(`EBADF: ${this.path} is closed`), { code: 'EBADF' })
  }

  #runWrite<T>(act: (file: VfsFile) => Promise<T>): Promise<T> {
    return this.#run(async (file) => {
      this.#writes++
      try {
        return await act(file)
      } finally {
        this.#writes++
      }
    })
  }

  async #run<T>(act: (file: VfsFile) => Promise<T>): Promise<T> {
    this.#users++
    this.#lastUse = this.#owner.countUse()
    try {
      return await act(this.#file ?? (await this.#ensureOpen()))
    } finally {
      this.#users--
      // Files in use at once may have taken more descriptors than the limit.
      await this.#owner.trim()
    }
  }

  #ensureOpen(mode: OpenMode = this.#mode === 'read' ? 'read' : 'write'): Promise<VfsFile> {
    if (this.#file !== undefined) return Promise.resolve(this.#file)
    this.#opening ??= this.#open(mode).finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #open(mode: OpenMode): Promise<VfsFile> {
    await this.#givingUp
    if (this.#closed) throw this.#refusal()
    const file = await this.#owner.open(this, () => this.#inner.open(this.path, mode))
    this.#file = file
    return file
  }
}
