// One simulated history of a log: several starts on a disk that may lose power or be killed at any call. Each start is
// checked against the issued and the acknowledged records.
import { type FileLogOptions, type Log, type Lsn, openFileLog, WalError } from '../src/index.ts'
import { idle, ManualClock, type Random, SimDisk, seededRandom } from '../src/testing/index.ts'

export interface HistoryOptions {
  readonly seed: number
  readonly generations?: number
  readonly fsync?: 'always' | 'interval' | 'none'
  readonly tipSync?: 'timer' | 'commit'
  /** Changes the disk while the machine is off, before each start; the last start has the number `generations`. */
  readonly beforeStart?: (scene: Scene) => void
}

export interface Scene {
  readonly disk: SimDisk
  readonly random: Random
  readonly history: History
}

export interface History {
  /** Payloads in the order of their issue. Records that a recovery did not find are removed again. */
  readonly issued: Buffer[]
  /** LSNs of the acknowledged records, by the same index. */
  readonly lsns: (number | undefined)[]
  /** How many of the issued records must survive everything. */
  durable: number
  /** How many records a later one had stamped when the newest record was acknowledged. */
  stamped: number
  /** Records below this LSN are in a checkpoint of the log's user. */
  checkpointed: number
  generation: number
}

export type Outcome =
  | { readonly kind: 'whole'; readonly generations: number }
  | { readonly kind: 'refused'; readonly why: string; readonly generation: number }
  | {
      readonly kind: 'lost'
      readonly found: number
      readonly durable: number
      readonly stamped: number
      readonly generation: number
    }
  | { readonly kind: 'phantom'; readonly at: number; readonly generation: number }
  | { readonly kind: 'broken'; readonly why: string; readonly generation: number }

const dir = '/data/wal'
const pool = makePool()

/** A disk after some generations, with the known history. */
export interface Lived {
  readonly options: HistoryOptions
  readonly disk: SimDisk
  readonly random: Random
  readonly history: History
  /** The outcome, when the history ended before the last start. */
  readonly ended?: Outcome
}

/** Runs all generations; a stop ends each one early. */
export async function liveThrough(options: HistoryOptions): Promise<Lived> {
  const random = seededRandom(options.seed)
  const disk = new SimDisk({ random })
  await disk.vfs().makeDirectory('/data')
  await disk.vfs().syncDirectory('/')
  const history: History = { issued: [], lsns: [], durable: 0, stamped: 0, checkpointed: 1, generation: 0 }
  const lived = { options, disk, random, history }
  const generations = options.generations ?? 4
  for (; history.generation < generations; history.generation++) {
    options.beforeStart?.({ disk, random, history })
    const ended = await liveOnce(disk, random, options, history)
    if (ended !== undefined) return { ...lived, ended }
    disk.restart(random.chance(0.3) ? 'kill' : 'power')
  }
  return lived
}

/** A copy with the same past: changes to one disk do not affect the other. */
export function twinOf({ options, disk, history, ended }: Lived): Lived {
  const random = seededRandom(options.seed ^ 0x7477696e)
  const twin = new SimDisk({ random })
  twin.replaceRoot(disk.root.copy())
  const known = { ...history, issued: [...history.issued], lsns: [...history.lsns] }
  return { options, disk: twin, random, history: known, ...(ended && { ended }) }
}

/** The last start is never disturbed: its findings are the result. */
export async function startLast({ options, disk, random, history, ended }: Lived): Promise<Outcome> {
  if (ended !== undefined) return ended
  options.beforeStart?.({ disk, random, history })
  const { outcome, log } = await start(disk, random, options, history, new ManualClock())
  if (outcome !== undefined) return outcome
  await log?.close()
  return { kind: 'whole', generations: history.generation }
}

async function liveOnce(
  disk: SimDisk,
  random: Random,
  options: HistoryOptions,
  history: History,
): Promise<Outcome | undefined> {
  const clock = new ManualClock()
  const batches = 2 + random.below(12)
  if (random.chance(0.85)) disk.stopAt(1 + random.below(random.chance(0.3) ? 30 : 30 + batches * 6))
  const { outcome, log } = await start(disk, random, options, history, clock)
  if (outcome !== undefined || log === undefined) return outcome
  for (let batch = 0; batch < batches && !disk.isStopped; batch++) {
    const durableBefore = history.durable
    issueSome(log, random, history)
    await idle()
    if (history.durable > durableBefore) history.stamped = durableBefore
    if (options.fsync !== undefined && options.fsync !== 'always') await noteSync(log, random, history)
    if (random.chance(0.3)) await passTime(clock, disk, history, random.below(4) * 40)
    if (random.chance(0.05)) await prune(log, random, history)
    const { condition } = log.state()
    if (condition !== 'ok') return { kind: 'broken', why: `condition ${condition}`, generation: history.generation }
  }
  if (!disk.isStopped && random.chance(0.4)) {
    log.close().then(
      () => {
        history.durable = history.issued.length
        history.stamped = history.durable
      },
      () => undefined,
    )
    await idle()
  }
  return undefined
}

async function start(disk: SimDisk, random: Random, options: HistoryOptions, history: History, clock: ManualClock) {
  let log: Log | undefined
  let refused: unknown
  const settings: FileLogOptions = {
    dir,
    vfs: disk.vfs(),
    clock,
    makeEpoch: () => (BigInt(random.below(2 ** 32)) << 32n) | BigInt(random.below(2 ** 32)),
    fsync: options.fsync ?? 'always',
    tipSync: options.tipSync ?? 'timer',
    segmentBytesMax: 4096 << random.below(5),
    recoverFrom: history.checkpointed as Lsn,
  }
  openFileLog(settings).then(
    (opened) => {
      log = opened
    },
    (error: unknown) => {
      refused = error
    },
  )
  await idle()
  const generation = history.generation
  if (refused instanceof WalError && refused.code === 'log_damaged') {
    const outcome: Outcome = { kind: 'refused', why: refused.message, generation }
    return { outcome, log: undefined }
  }
  if (refused !== undefined) {
    const outcome: Outcome = {
      kind: 'broken',
      why: refused instanceof Error ? String(refused.stack) : String(refused),
      generation,
    }
    return { outcome, log: undefined }
  }
  if (log === undefined) {
    const hangs: Outcome | undefined = disk.isStopped ? undefined : { kind: 'broken', why: 'open hangs', generation }
    return { outcome: hangs, log: undefined }
  }
  return { outcome: await compare(log, disk, history), log }
}

/** The recovered records must equal the issued ones, in order, from the first held on, and include all durable ones. */
async function compare(log: Log, disk: SimDisk, history: History): Promise<Outcome | undefined> {
  const { generation } = history
  const from = history.checkpointed as Lsn
  let index = 1 + history.lsns.findLastIndex((lsn) => lsn !== undefined && lsn < from)
  let outcome: Outcome | undefined
  let isDone = false
  const readAll = async () => {
    for await (const record of log.read(from)) {
      const issued = history.issued[index]
      const lsn = history.lsns[index]
      if (issued === undefined || !issued.equals(record.payload) || (lsn !== undefined && lsn !== record.lsn)) {
        outcome ??= { kind: 'phantom', at: index, generation }
      }
      history.lsns[index] = record.lsn
      index++
    }
    isDone = true
  }
  const reading = readAll().catch((error: unknown) => {
    outcome = { kind: 'broken', why: `reading back: ${String(error)}`, generation }
  })
  await idle()
  if (!isDone && outcome === undefined) {
    if (disk.isStopped) return undefined
    await reading
  }
  if (outcome !== undefined) return outcome
  if (index < history.durable)
    return { kind: 'lost', found: index, durable: history.durable, stamped: history.stamped, generation }
  // Everything that was read was made durable first.
  history.issued.length = index
  history.lsns.length = index
  history.durable = index
  history.stamped = Math.min(history.stamped, index)
  return undefined
}

function issueSome(log: Log, random: Random, history: History): void {
  const count = 1 + random.below(5)
  for (let i = 0; i < count; i++) {
    const length = 8 + (random.chance(0.1) ? 4000 + random.below(6000) : random.below(900))
    const from = random.below(pool.length - length)
    const payload = Buffer.from(pool.subarray(from, from + length))
    const index = history.issued.push(payload) - 1
    payload.writeUInt32LE(index, 0)
    payload.writeUInt32LE(random.below(2 ** 32), 4)
    log.append({ type: 16, version: 1, payload }).then(
      (appended) => {
        history.lsns[index] = appended.lsn
        if (appended.durable) history.durable = Math.max(history.durable, index + 1)
      },
      () => undefined,
    )
  }
}

/** Under the lax policies only synced records must survive. */
async function noteSync(log: Log, random: Random, history: History): Promise<void> {
  if (random.chance(0.3)) {
    const covered = history.issued.length
    log.sync().then(
      () => {
        history.stamped = history.durable
        history.durable = Math.max(history.durable, covered)
      },
      () => undefined,
    )
    await idle()
  }
  const { lsnDurable } = log.state()
  const covered = history.lsns.findLastIndex((lsn) => lsn !== undefined && lsn <= lsnDurable)
  history.durable = Math.max(history.durable, covered + 1)
}

async function passTime(clock: ManualClock, disk: SimDisk, history: History, ms: number): Promise<void> {
  clock.advance(ms)
  await idle()
  // A marker is written after 50 ms without a record and stamps all earlier records.
  if (ms >= 50 && !disk.isStopped) history.stamped = history.durable
}

async function prune(log: Log, random: Random, history: History): Promise<void> {
  // A checkpoint holds acknowledged records, so it never runs ahead of the acknowledgments.
  const newest = history.lsns[history.durable - 1] ?? 0
  history.checkpointed += random.below(Math.max(1, newest + 2 - history.checkpointed))
  log.truncateBefore(history.checkpointed as Lsn).catch(() => undefined)
  await idle()
}

function makePool(): Buffer {
  const random = seededRandom(7)
  const bytes = Buffer.alloc(64 * 1024)
  for (let offset = 0; offset < bytes.length; offset += 4) bytes.writeUInt32LE(random.below(2 ** 32), offset)
  return bytes
}
