// One random history of a replicated log: nodes that lead, follow, are cut off, are killed and start again, over a network
// that loses, repeats, delays, and reorders. They share snapshots of what they have seen, some of which turn out to be
// damaged, and trim the log behind them. The seed decides everything. Afterwards every acknowledged record must be in the
// log once, at its LSN, and every node must have seen the same records. Until then, every node has a way to begin: its own
// checkpoint, if no retention has ended, or a snapshot.
import { WalError } from '../../src/errors.ts'
import type { LogRecord, Lsn } from '../../src/log.ts'
import { type ChainPosition, chainBeginning, FrameChain, positionBefore } from '../../src/replicated/frame-chain.ts'
import { trimUpTo } from '../../src/replicated/log-trim.ts'
import { openReplicatedLog, type ReplicatedLog } from '../../src/replicated/replicated-log.ts'
import {
  calmNetwork,
  idle,
  ManualClock,
  type Random,
  roughNetwork,
  type SimClient,
  SimFrameStore,
  seededRandom,
} from '../../src/testing/index.ts'

const logId = 0x0102030405060708n
const actionsMax = 220
const settleStepsMax = 20_000
/** A history is short, so its log is trimmed up to more positions than usual. */
const positionEvery = 4

/** What became of the records of a history, for a report. */
export interface HistoryReport {
  readonly acknowledged: number
  readonly refused: number
  readonly leaders: number
  readonly truncations: number
  /** Messages that were trimmed away. */
  readonly trimmed: number
  /** Starts from a snapshot. */
  readonly loaded: number
}

interface Seen {
  readonly lsn: number
  readonly id: string
}

/** A node: its connection, its log, and the records that it has applied. */
interface Node {
  readonly name: number
  client: SimClient
  log: ReplicatedLog | undefined
  isOpening: boolean
  isTaking: boolean
  seen: Seen[]
  kept: Checkpoint
  ending: AbortController
}

/** What a node had applied, and a position from which the log continues: the position after it, or one before. */
interface Checkpoint {
  readonly seen: readonly Seen[]
  readonly position: ChainPosition
}

const emptyCheckpoint: Checkpoint = { seen: [], position: chainBeginning }

/** Runs the history of one seed. Throws an error that names the seed when something is wrong. */
export async function runHistory(seed: number): Promise<HistoryReport> {
  const history = new History(seed)
  try {
    return await history.run()
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

class History {
  readonly #random: Random
  readonly #sim: SimFrameStore
  readonly #clock = new ManualClock()
  readonly #nodes: Node[]
  readonly #acknowledged: Seen[] = []
  readonly #refused: string[] = []
  readonly #errors: unknown[] = []
  #ids = 0
  #epochs = 0
  #leaders = 0
  #truncations = 0
  #loaded = 0
  /** Oldest first. */
  #snapshots: Checkpoint[] = []
  /** Whether a retention ends at times, so that nothing waits for a node that needs more of the log. */
  readonly #forgets: boolean

  constructor(seed: number) {
    this.#random = seededRandom(seed)
    this.#forgets = this.#random.chance(0.5)
    this.#sim = new SimFrameStore({ random: this.#random, faults: roughNetwork, messageBytesMax: 160 })
    this.#nodes = Array.from({ length: 2 + this.#random.below(2) }, (_, name) => ({
      name,
      client: this.#sim.connect(),
      log: undefined,
      isOpening: false,
      isTaking: false,
      seen: [],
      kept: emptyCheckpoint,
      ending: new AbortController(),
    }))
  }

  async run(): Promise<HistoryReport> {
    for (let action = 0; action < actionsMax; action++) {
      this.#act()
      await this.#step(1 + this.#random.below(4))
    }
    await this.#settle()
    this.#check()
    return {
      acknowledged: this.#acknowledged.length,
      refused: this.#refused.length,
      leaders: this.#leaders,
      truncations: this.#truncations,
      trimmed: this.#sim.range.first - 1,
      loaded: this.#loaded,
    }
  }

  #act(): void {
    const node = this.#nodes[this.#random.below(this.#nodes.length)]
    if (node === undefined) return
    const chance = this.#random.next()
    if (node.log === undefined) this.#open(node)
    else if (chance < 0.52) this.#append(node)
    else if (chance < 0.66) this.#take(node)
    else if (chance < 0.73) node.client.isPartitioned = !node.client.isPartitioned
    else if (chance < 0.79) this.#kill(node)
    else if (chance < 0.85) this.#keep(node)
    else if (chance < 0.91) this.#share(node)
    else if (chance < 0.98) this.#truncate(node)
    else void node.log.stepDown()
  }

  #append(node: Node): void {
    const { log } = node
    if (log?.leads === undefined) return
    for (let count = 1 + this.#random.below(3); count > 0; count--) {
      const id = `${++this.#ids}`
      const payload = Buffer.from(id.padEnd(4 + this.#random.below(this.#random.chance(0.1) ? 400 : 60), '.'))
      log.append({ type: 16, version: 1, payload }).then(
        ({ lsn }) => this.#acknowledged.push({ lsn, id }),
        (error) => this.#refuse(error, id),
      )
    }
  }

  #refuse(error: unknown, id: string): void {
    const code = error instanceof WalError ? error.code : undefined
    if (code === 'log_fenced' || code === 'not_leader') this.#refused.push(id)
    else if (code !== 'outcome_unknown') this.#errors.push(error)
  }

  /** The lease gives a new epoch to any node that asks. It may be used much later, when another node leads. */
  #take(node: Node): void {
    const { log } = node
    if (log === undefined || log.leads !== undefined || node.isTaking) return
    node.isTaking = true
    const epoch = ++this.#epochs
    log.lead(epoch).then(
      () => {
        if (node.log !== log) return
        node.isTaking = false
        this.#leaders++
      },
      (error) => {
        if (node.log !== log) return
        node.isTaking = false
        if (!(error instanceof WalError && error.code === 'log_fenced')) this.#restartAfter(node, error)
      },
    )
  }

  #kill(node: Node): void {
    node.client.isGone = true
    node.ending.abort()
    node.client = this.#sim.connect()
    node.log = undefined
    node.isTaking = false
    node.isOpening = false
    node.ending = new AbortController()
  }

  #open(node: Node): void {
    if (node.isOpening) return
    node.isOpening = true
    const { client, ending, kept } = node
    node.seen = [...kept.seen]
    const writer = Buffer.alloc(16, node.name + 1)
    const isExact = kept.position.lsn === kept.seen.length
    const parts = { store: client, logId, writer, clock: this.#clock, positionEvery }
    const options = isExact ? parts : { ...parts, lsnWanted: kept.seen.length + 1 }
    openReplicatedLog(kept.position.seq === 0 ? options : { ...options, from: kept.position }).then(
      (log) => {
        if (node.client !== client) return
        node.isOpening = false
        if (log.state().lsnFirst > kept.seen.length + 1) return this.#restart(node)
        node.log = log
        void this.#follow(node, log, ending.signal)
      },
      (error) => {
        if (node.client !== client) return
        // What follows its position is after its checkpoint.
        if (isExact && !this.#forgets) this.#errors.push(error)
        else this.#restartAfter(node, error)
      },
    )
  }

  async #follow(node: Node, log: ReplicatedLog, signal: AbortSignal): Promise<void> {
    const apply = ({ lsn, payload }: LogRecord) => {
      const [id = ''] = Buffer.from(payload).toString().split('.')
      node.seen.push({ lsn, id })
    }
    let isTailing = false
    try {
      const { position: end } = log
      for await (const record of log.read((node.seen.length + 1) as Lsn)) {
        if (signal.aborted) return
        apply(record)
      }
      isTailing = true
      for await (const { records } of log.tail(end, signal)) {
        if (signal.aborted) return
        records.forEach(apply)
      }
    } catch (error) {
      if (signal.aborted) return
      // What it waits for is after its checkpoint.
      if (isTailing && !this.#forgets) this.#errors.push(error)
      else this.#restartAfter(node, error)
    }
  }

  /** As a node that checkpoints: the log knows a position, which may be long before what the node has applied. */
  #keep(node: Node): void {
    const end = node.log?.position
    const position = end?.lsn === node.seen.length ? end : node.log?.positionBefore(node.seen.length)
    if (position !== undefined && node.seen.length > 0) node.kept = { seen: [...node.seen], position }
  }

  /** Puts the checkpoint of a node where all can load it. The two newest stay. */
  #share({ kept }: Node): void {
    const newest = this.#snapshots.at(-1)
    if (kept.seen.length <= (newest?.seen.length ?? 0)) return
    this.#snapshots = [...this.#snapshots, kept].slice(-2)
  }

  #restartAfter(node: Node, error: unknown): void {
    if (error instanceof WalError && error.code === 'lsn_not_held') this.#restart(node)
    else this.#errors.push(error)
  }

  /** What the node reads was trimmed away: it starts again, from the newest snapshot that is not damaged if it needs one. */
  #restart(node: Node): void {
    if (this.#lsnFirst() <= node.kept.seen.length + 1) {
      this.#kill(node)
      return
    }
    if (!this.#forgets) this.#errors.push(new Error(`node ${node.name} needs what was trimmed, and nobody forgot it`))
    this.#kill(node)
    // Of two, one may be damaged. Then it is listed no more.
    if (this.#snapshots.length > 1 && this.#random.chance(0.3)) this.#snapshots.pop()
    const snapshot = this.#snapshots.at(-1)
    if (snapshot === undefined || this.#lsnFirst() > snapshot.seen.length + 1) {
      this.#errors.push(new Error(`node ${node.name} has no way to begin: the log begins with LSN ${this.#lsnFirst()}`))
      return
    }
    node.kept = snapshot
    this.#loaded++
  }

  /** The first record of the log. */
  #lsnFirst(): number {
    const message = this.#sim.at(this.#sim.range.first)
    return message === undefined ? 1 : positionBefore(logId, message).lsn + 1
  }

  /** As a leader does: up to the second newest snapshot, and not past what a node needs, unless that is forgotten. */
  #truncate({ log }: Node): void {
    if (log === undefined) return
    const snapshots = this.#snapshots.map(({ seen }) => seen.length)
    const checkpoints = this.#nodes.map(({ kept }) => kept.seen.length)
    const expired = this.#forgets && this.#random.chance(0.6) ? Math.max(0, ...snapshots) : 0
    const upTo = trimUpTo({ snapshots, checkpoints, expired })
    if (upTo === 0) return
    this.#truncations++
    log.truncateBefore((upTo + 1) as Lsn).catch((error) => this.#errors.push(error))
  }

  async #step(events: number): Promise<void> {
    for (let i = 0; i < events; i++) {
      if (!this.#sim.step()) this.#clock.advance(25)
      await idle()
    }
  }

  /** Heals everything, lets a last leader append a record, and waits until every node has it. */
  async #settle(): Promise<void> {
    this.#sim.faults = calmNetwork
    for (const node of this.#nodes) node.client.isPartitioned = false
    let last: string | undefined
    let appending: ReplicatedLog | undefined
    for (let steps = 0; steps < settleStepsMax && this.#errors.length === 0; steps++) {
      for (const node of this.#nodes) if (node.log === undefined) this.#open(node)
      const [node] = this.#nodes
      const log = node?.log
      if (node !== undefined && log !== undefined && log !== appending) {
        appending = undefined
        if (log.leads === undefined) this.#take(node)
        else {
          appending = log
          const id = `${++this.#ids}`
          log.append({ type: 16, version: 1, payload: Buffer.from(id) }).then(
            ({ lsn }) => {
              last = id
              this.#acknowledged.push({ lsn, id })
            },
            (error) => {
              appending = undefined
              this.#refuse(error, id)
            },
          )
        }
      }
      await this.#step(1)
      if (last !== undefined && this.#nodes.every(({ seen }) => seen.at(-1)?.id === last)) break
    }
    if (this.#errors.length === 0 && last === undefined)
      throw new Error('no leader could append after the network healed')
    // What still travels lands now, and must be ignored.
    for (let steps = 0; steps < 50; steps++) await this.#step(1)
    for (const { ending } of this.#nodes) ending.abort()
  }

  #check(): void {
    const [error] = this.#errors
    if (error !== undefined) throw error
    const log = this.#truth()
    const ids = new Set(log)
    if (ids.size !== log.length) throw new Error('a record is in the log twice')
    for (const { lsn, id } of this.#acknowledged)
      if (log[lsn - 1] !== id) throw new Error(`record ${id} was acknowledged as LSN ${lsn}; there is ${log[lsn - 1]}`)
    for (const id of this.#refused) if (ids.has(id)) throw new Error(`record ${id} was refused and is in the log`)
    for (const { name, seen } of this.#nodes) {
      if (seen.length !== log.length) throw new Error(`node ${name} has ${seen.length} of ${log.length} records`)
      for (const [i, { lsn, id }] of seen.entries())
        if (lsn !== i + 1 || id !== log[i]) throw new Error(`node ${name} has ${id} as LSN ${lsn}; there is ${log[i]}`)
    }
  }

  /** The records of every message that was ever stored. */
  #truth(): string[] {
    const chain = new FrameChain(logId, chainBeginning)
    const ids: string[] = []
    for (const message of this.#sim.everything) {
      const accepted = chain.accept(message)
      if (accepted.kind !== 'records') continue
      for (const { payload } of accepted.records) ids.push(Buffer.from(payload).toString().split('.')[0] ?? '')
    }
    return ids
  }
}
