// TIP: how far the log is known to be durable, kept beside it. Two slots in different sectors are written in turn, each
// only after a sync has returned, so what TIP says is always a lower bound and never a reason for a false alarm.
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

export const tipName = 'TIP'
export const tipBytes = 1024
const slotBytes = 512
const magic = Buffer.from('ANNLTIP1', 'latin1')

export interface TipSlot {
  readonly seq: number
  readonly durableLsn: number
  readonly segmentId: number
}

/** What a reader found: the newest good slot, and how many slots were damaged. `missing` is a TIP that does not exist. */
export interface TipReading {
  readonly newest: TipSlot | undefined
  readonly damagedSlots: number
  readonly missing: boolean
}

export async function readTip(vfs: Vfs, dir: string): Promise<TipReading> {
  const path = join(dir, tipName)
  if (!(await vfs.exists(path))) return { newest: undefined, damagedSlots: 0, missing: true }
  const bytes = await readSmall(vfs, path, tipBytes)
  const slots = [decodeSlot(bytes.subarray(0, slotBytes)), decodeSlot(bytes.subarray(slotBytes))]
  let newest: TipSlot | undefined
  for (const slot of slots) if (slot !== undefined && slot.seq > (newest?.seq ?? 0)) newest = slot
  return { newest, damagedSlots: slots.filter((slot) => slot === undefined).length, missing: false }
}

export function encodeTip(slot: TipSlot): Buffer {
  const older = encodeSlot({ ...slot, seq: slot.seq - 1 })
  const newer = encodeSlot(slot)
  return slot.seq % 2 === 0 ? Buffer.concat([newer, older]) : Buffer.concat([older, newer])
}

export interface TipOptions {
  readonly vfs: Vfs
  readonly dir: string
  readonly clock: Clock
  readonly syncEveryMs: number
  readonly found: TipReading
  /** Called when TIP cannot be written or synced: the log must stop. */
  readonly onError: (error: unknown) => void
}

export async function openTip(options: TipOptions, first: { durableLsn: number; segmentId: number }): Promise<Tip> {
  const { vfs, dir, found } = options
  const path = join(dir, tipName)
  if (found.newest !== undefined) return new Tip(options, await vfs.open(path, 'write'), found.newest)
  const slot = { seq: 2, ...first }
  await createWhole(vfs, path, (file) => writeFully(file, encodeTip(slot), 0))
  return new Tip(options, await vfs.open(path, 'write'), slot)
}

export class Tip {
  readonly #file: VfsFile
  readonly #options: TipOptions
  #seq: number
  #known: { durableLsn: number; segmentId: number }
  #writing: Promise<void> | undefined
  /** A newer value waits for the write in flight. */
  #waiting = false
  #unsynced = false
  #syncing: Promise<void> = Promise.resolve()
  #cancelTimer: (() => void) | undefined
  #dead = false

  constructor(options: TipOptions, file: VfsFile, slot: TipSlot) {
    this.#options = options
    this.#file = file
    this.#seq = slot.seq
    this.#known = slot
  }

  /** Takes note of what is durable now. Returns at once; the newest note wins. */
  note(durableLsn: number, segmentId: number): void {
    if (this.#dead) return
    this.#known = { durableLsn, segmentId }
    if (this.#writing === undefined) this.#writing = this.#write()
    else this.#waiting = true
  }

  /** Makes the newest note durable. Syncs follow one another, so that nobody returns while an earlier one still runs. */
  sync(): Promise<void> {
    const before = this.#syncing
    this.#syncing = this.#syncAfter(before)
    return this.#syncing
  }

  async #syncAfter(before: Promise<void>): Promise<void> {
    await before
    await this.#writing
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    if (this.#dead || !this.#unsynced) return
    this.#unsynced = false
    await this.#file.datasync()
  }

  /** Gives up: nothing is written or synced any more, because what follows a failed sync cannot be trusted. */
  abandon(): void {
    this.#dead = true
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  async close(): Promise<void> {
    this.abandon()
    await this.#writing
    await this.#file.close()
  }

  async #write(): Promise<void> {
    try {
      do {
        this.#waiting = false
        const seq = this.#seq + 1
        await writeFully(this.#file, encodeSlot({ seq, ...this.#known }), (seq & 1) * slotBytes)
        this.#seq = seq
        this.#unsynced = true
      } while (this.#waiting && !this.#dead)
    } catch (error) {
      // An older note is still a true lower bound, so a full disk may keep it; anything else is a failing disk.
      if (!isDiskFull(error)) this.#options.onError(error)
    }
    this.#writing = undefined
    if (this.#unsynced && !this.#dead && this.#cancelTimer === undefined) this.#armTimer()
  }

  #armTimer(): void {
    this.#cancelTimer = this.#options.clock.after(this.#options.syncEveryMs, () => {
      this.#cancelTimer = undefined
      this.sync().catch(this.#options.onError)
    })
  }
}

function encodeSlot(slot: TipSlot): Buffer {
  const bytes = Buffer.alloc(slotBytes)
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
