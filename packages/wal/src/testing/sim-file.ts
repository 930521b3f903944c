// The bytes of one file on the simulated disk: what a reader sees, and what each 512-byte sector may be after a power cut.
import type { Random } from './random.ts'

/** Size of a sector, which a power cut keeps or loses as a whole. */
export const sectorBytes = 512
const zeroSector = Buffer.alloc(sectorBytes)
const nothing = Buffer.alloc(0)
const contentBytesMin = 1024

/** A file of the simulated disk. */
export class SimFile {
  #content: Buffer = nothing
  /** Another file shares the content; copy it before a change. */
  #isShared = false
  #size = 0
  /** The size that a power cut cannot undo. */
  #sizeDurable = 0
  /** For each unsynced sector its previous versions, oldest first. The newest version is in the content. */
  readonly #unsynced = new Map<number, Buffer[]>()
  /**
   * Sectors that a failed sync marked clean although the disk never received them. A power cut or a cold read shows
   * these bytes.
   */
  readonly #lost = new Map<number, Buffer>()
  #sizeLost: number | undefined
  /** Number of directory entries that point to this file. */
  links = 0

  get size(): number {
    return this.#size
  }

  read(into: Uint8Array, position: number): number {
    const bytes = Math.max(0, Math.min(into.length, this.#size - position))
    if (bytes > 0) into.set(this.#content.subarray(position, position + bytes))
    return bytes
  }

  write(bytes: Uint8Array, position: number): void {
    if (bytes.length === 0) return
    const end = position + bytes.length
    this.#remember(position, end)
    this.#grow(end)
    this.#own().set(bytes, position)
    this.#size = Math.max(this.#size, end)
  }

  truncate(size: number): void {
    if (size < this.#size) {
      this.#remember(size, this.#size)
      this.#own().fill(0, size, this.#size)
    } else this.#grow(size)
    this.#size = size
  }

  /**
   * Begins a sync and returns the function that ends it. A sync takes time: it does not cover later writes, and until
   * it ends nothing is durable.
   */
  beginSync(): () => void {
    const size = this.#size
    const covered = new Map<number, Buffer | undefined>()
    for (const [sector, versions] of this.#unsynced) covered.set(sector, versions.at(-1))
    return () => {
      for (const [sector, newestOld] of covered) this.#settle(sector, newestOld)
      this.#sizeDurable = size
    }
  }

  /** The versions up to the last one overwritten when the sync began cannot return. */
  #settle(sector: number, newestOld: Buffer | undefined): void {
    this.#lost.delete(sector)
    const versions = this.#unsynced.get(sector)
    if (versions === undefined) return
    const index = newestOld === undefined ? -1 : versions.indexOf(newestOld)
    versions.splice(0, index + 1)
    if (versions.length === 0) this.#unsynced.delete(sector)
  }

  /** The trap: the sync fails but the pages count as clean, and the next sync has nothing to do. */
  failSync(): void {
    for (const [sector, versions] of this.#unsynced) {
      if (!this.#lost.has(sector)) this.#lost.set(sector, versions[0] ?? Buffer.alloc(sectorBytes))
    }
    this.#sizeLost ??= this.#sizeDurable
    this.#unsynced.clear()
  }

  /** What the disk holds after a power cut: any mix of old and new sectors that the rules of the disk allow. */
  afterPowerCut(random: Random): SimFile {
    const size = this.#sizeAfter(random)
    const after = this.copy()
    after.resize(size)
    for (const [sector, versions] of this.#unsynced) {
      const pick = random.below(versions.length + 1)
      const old = versions[pick]
      if (old !== undefined) after.#place(sector, pick === 0 ? (this.#lost.get(sector) ?? old) : old)
    }
    for (const [sector, bytes] of this.#lost) if (!this.#unsynced.has(sector)) after.#place(sector, bytes)
    return after
  }

  /** Changes bytes without the file system noticing, as a failing medium does. */
  damage(change: (content: Buffer) => void): void {
    this.#own()
    change(this.#content.subarray(0, this.#size))
  }

  resize(size: number): void {
    if (size < this.#size) this.#own().fill(0, size)
    else this.#grow(size)
    this.#size = size
    this.#sizeDurable = size
  }

  copy(): SimFile {
    const twin = new SimFile()
    twin.#content = this.#content
    twin.#isShared = this.#isShared = true
    twin.#size = this.#size
    twin.#sizeDurable = this.#size
    return twin
  }

  #sizeAfter(random: Random): number {
    const durable = this.#sizeLost ?? this.#sizeDurable
    const choice = random.next()
    if (choice < 0.4) return this.#size
    if (choice < 0.7) return durable
    return Math.min(durable, this.#size) + random.below(Math.abs(this.#size - durable) + 1)
  }

  #place(sector: number, bytes: Buffer): void {
    const offset = sector * sectorBytes
    if (offset >= this.#size) return
    bytes.copy(this.#own(), offset, 0, Math.min(bytes.length, this.#size - offset))
  }

  #remember(from: number, to: number): void {
    const last = Math.floor((to - 1) / sectorBytes)
    for (let sector = Math.floor(from / sectorBytes); sector <= last; sector++) {
      const old = this.#sectorNow(sector * sectorBytes)
      const versions = this.#unsynced.get(sector)
      if (versions === undefined) this.#unsynced.set(sector, [old])
      else versions.push(old)
    }
  }

  #sectorNow(offset: number): Buffer {
    if (offset >= this.#size) return zeroSector
    const bytes = Buffer.allocUnsafe(sectorBytes)
    const copied = this.#content.copy(bytes, 0, offset, offset + sectorBytes)
    return copied < sectorBytes ? bytes.fill(0, copied) : bytes
  }

  #grow(size: number): void {
    if (size <= this.#content.length) return
    const bigger = Buffer.alloc(Math.max(contentBytesMin, size, Math.min(this.#content.length * 2, size * 2)))
    this.#content.copy(bigger)
    this.#content = bigger
    this.#isShared = false
  }

  /** Returns a content buffer that may be changed. */
  #own(): Buffer {
    if (this.#isShared) this.#content = Buffer.from(this.#content)
    this.#isShared = false
    return this.#content
  }
}
