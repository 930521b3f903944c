// TIP: how far the log is known to be durable, kept in a file next to the segments. It is written only after a sync of
// the log has returned, so its value is always a lower bound and never causes a false alarm. It has two slots, each in
// its own sector. The slot that was synced last is never touched, so a failed write cannot destroy a synced value.
//
//   slot, 512 bytes:  0       8     16           24           32       40
//                    +-------+-----+------------+------------+--------+-------+
//                    | magic | seq | durableLsn | segment id | xxh64  | zeros |
//                    +-------+-----+------------+------------+--------+-------+
import { join } from 'node:path'
import { xxh64 } from './checksum.ts'
import type { Clock } from './clock.ts'
import { isDiskFull } from './errors.ts'
import { readCount, writeCount } from './frame.ts'
import type { Vfs, VfsFile } from './vfs.ts'
import { createWhole, readSmall, writeFully } from './whole-file.ts'

/** Name of the file. */
export const tipName = 'TIP'
/** Size of the file: two sectors. */
const tipBytes = 1024
const slotBytes = 512
const magic = Buffer.from('ANNLTIP1', 'latin1')

/** The content of a slot. */
export interface TipSlot {
  readonly seq: number
  readonly durableLsn: number
  readonly segmentId: number
}

/** The newest good slot and its index, and the number of damaged slots. `missing`: TIP does not exist. */
export interface TipReading {
  readonly newest: TipSlot | undefined
  readonly newestIndex: number
  readonly damagedSlots: number
  readonly missing: boolean
}

/** Reads TIP without changing it. */
export async function readTip(vfs: Vfs, dir: string): Promise<TipReading> {
  const path = join(dir, tipName)
  if (!(await vfs.exists(path))) return { newest: undefined, newestIndex: 0, damagedSlots: 0, missing: true }
  const bytes = await readSmall(vfs, path, tipBytes)
  const slots = [decodeSlot(bytes.subarray(0, slotBytes)), decodeSlot(bytes.subarray(slotBytes))]
  const newestIndex = (slots[1]?.seq ?? 0) > (slots[0]?.seq ?? 0) ? 1 : 0
  const damagedSlots = slots.filter((slot) => slot === undefined).length
  return { newest: slots[newestIndex], newestIndex, damagedSlots, missing: false }
}

/** Encodes a whole TIP with the slot at index 0. */
export function encodeTip(slot: TipSlot): Buffer {
  return Buffer.concat([encodeSlot(slot), encodeSlot({ ...slot, seq: slot.seq - 1 })])
}

/** Options of openTip. */
export interface TipOptions {
  readonly vfs: Vfs
  readonly dir: string
  readonly clock: Clock
  readonly syncEveryMs: number
  readonly found: TipReading
  /** Called when TIP cannot be written or synced. The log must stop then. */
  readonly onError: (error: unknown) => void
}

/**
 * The directory must have been synced since TIP was found in it: a name left by a killed process may not be durable
 * yet.
 */
export async function openTip(options: TipOptions, first: { durableLsn: number; segmentId: number }): Promise<Tip> {
  const { vfs, dir, found } = options
  const path = join(dir, tipName)
  if (found.newest !== undefined) {
    const file = await vfs.open(path, 'write')
    // Bytes that a killed process left in the page cache become durable before any of them is overwritten.
    await file.datasync()
    return new Tip(options, file, found.newest, found.newestIndex)
  }
  const slot = { seq: 2, ...first }
  await createWhole(vfs, path, (file) => writeFully(file, encodeTip(slot), 0))
  return new Tip(options, await vfs.open(path, 'write'), slot, 0)
}

/** An open TIP, written by one log. */
export class Tip {
  readonly #file: VfsFile
  readonly #options: TipOptions
  #seq: number
  #known: { durableLsn: number; segmentId: number }
  /** Index of the slot that was synced last. */
  #syncedIndex: number
  /** Writes and syncs run one after the other: a slot is never written while it is being synced. */
  #work: Promise<void> = Promise.resolve()
  readonly #slot = Buffer.alloc(slotBytes)
  #isWriteQueued = false
  #unsynced = false
  #cancelTimer: (() => void) | undefined
  #dead = false

  constructor(options: TipOptions, file: VfsFile, slot: TipSlot, syncedIndex: number) {
    this.#options = options
    this.#file = file
    this.#seq = slot.seq
    this.#known = slot
    this.#syncedIndex = syncedIndex
  }

  /** Records what is durable now. Returns at once; the newest value wins. */
  note(durableLsn: number, segmentId: number): void {
    this.#known = { durableLsn, segmentId }
    if (this.#isWriteQueued) return
    this.#isWriteQueued = true
    this.#work = this.#work.then(() => this.#write())
  }

  /** Makes the newest value durable. */
  sync(): Promise<void> {
    const synced = this.#work.then(() => this.#sync())
    // The caller gets the error. Later operations find an abandoned TIP.
    this.#work = synced.catch(() => this.abandon())
    return synced
  }

  /** Stops all writes and syncs, because nothing after a failed sync can be trusted. */
  abandon(): void {
    this.#dead = true
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  async close(): Promise<void> {
    this.abandon()
    await this.#work
    await this.#file.close()
  }

  async #write(): Promise<void> {
    this.#isWriteQueued = false
    if (this.#dead) return
    try {
      const seq = this.#seq + 1
      await writeFully(this.#file, encodeSlot({ seq, ...this.#known }, this.#slot), (1 - this.#syncedIndex) * slotBytes)
      this.#seq = seq
      this.#unsynced = true
      this.#armTimer()
    } catch (error) {
      // An older value is still a true lower bound, so a full disk may keep it. Any other error means a failing disk.
      if (!isDiskFull(error)) this.#options.onError(error)
    }
  }

  async #sync(): Promise<void> {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    if (this.#dead || !this.#unsynced) return
    this.#unsynced = false
    await this.#file.datasync()
    this.#syncedIndex = 1 - this.#syncedIndex
  }

  #armTimer(): void {
    if (this.#dead) return
    this.#cancelTimer ??= this.#options.clock.after(this.#options.syncEveryMs, () => {
      this.#cancelTimer = undefined
      this.sync().catch(this.#options.onError)
    })
  }
}

function encodeSlot(slot: TipSlot, bytes = Buffer.alloc(slotBytes)): Buffer {
  magic.copy(bytes, 0)
  writeCount(bytes, slot.seq, 8)
  writeCount(bytes, slot.durableLsn, 16)
  writeCount(bytes, slot.segmentId, 24)
  bytes.writeBigUInt64LE(xxh64(bytes.subarray(0, 32)), 32)
  return bytes
}

function decodeSlot(bytes: Buffer): TipSlot | undefined {
  if (bytes.length < slotBytes || !bytes.subarray(0, 8).equals(magic)) return undefined
  if (xxh64(bytes.subarray(0, 32)) !== bytes.readBigUInt64LE(32)) return undefined
  const seq = readCount(bytes, 8)
  const durableLsn = readCount(bytes, 16)
  const segmentId = readCount(bytes, 24)
  if (seq === undefined || durableLsn === undefined || segmentId === undefined || seq === 0) return undefined
  return { seq, durableLsn, segmentId }
}
