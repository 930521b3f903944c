// Engines that share one replicated log, over a simulated store. Each has its own directory.
import { setTimeout } from 'node:timers/promises'
import type { EngineOptions } from '@annal/engine'
import {
  type EngineParts,
  openReplicatedEngine,
  type ReplicatedEngine,
  type SharedFiles,
} from '@annal/engine/replicated'
import { type Clock, WalError } from '@annal/wal'
import {
  type ChainPosition,
  encodePosition,
  type FrameStore,
  openReplicatedDirectory,
  openReplicatedLog,
  type ReplicatedLog,
} from '@annal/wal/replicated'
import { idle, ManualClock, SimFrameStore, seededRandom } from '@annal/wal/testing'
import type { Test } from 'tap'
import { openDirectory } from '../search/rig.ts'

const logId = 0x0a0b0c0d0e0f1011n
/** The uuid of the log. */
export const uuid = '0a0b0c0d-0e0f-4011-8000-000000000000'

/** A store that nodes connect to, simulated or real, and the clock of their logs. */
export interface World {
  readonly sim: { connect(): FrameStore | Promise<FrameStore> }
  readonly clock: Clock
}

/** A store and a clock that run automatically until the test ends. */
export function simulate(t: Test, seed = 1): { readonly sim: SimFrameStore; readonly clock: ManualClock } {
  const sim = new SimFrameStore({ random: seededRandom(seed), messageBytesMax: 16_384 })
  const clock = new ManualClock()
  let runs = true
  t.teardown(() => {
    runs = false
  })
  void (async () => {
    while (runs) {
      if (sim.step()) await idle()
      else {
        clock.advance(20)
        // The threads of the engines work meanwhile.
        await setTimeout(1)
      }
    }
  })()
  return { sim, clock }
}

/** An engine on the shared log. It follows from the beginning. */
export class Node {
  readonly engine: ReplicatedEngine
  readonly log: ReplicatedLog
  /** What the log was opened from. */
  readonly from: ChainPosition | undefined
  leads = false
  #ending = new AbortController()
  #tailing: Promise<void> = Promise.resolve()

  constructor(engine: ReplicatedEngine, log: ReplicatedLog, from: ChainPosition | undefined) {
    this.engine = engine
    this.log = log
    this.from = from
    this.follow()
  }

  /** Applies what others append, from now on. */
  follow(): void {
    this.#ending = new AbortController()
    this.#tailing = this.#tail(this.#ending.signal)
    this.#tailing.catch(() => undefined)
  }

  /** Takes the log, applies everything up to its fence, and writes from then on. */
  async lead(epoch: number): Promise<void> {
    const lsn = await this.log.lead(epoch)
    await this.engine.whenApplied(lsn, 60_000)
    this.#ending.abort()
    await this.#tailing
    this.leads = true
  }

  /** Writes no more, and follows. */
  async stepDown(): Promise<void> {
    this.leads = false
    await this.log.stepDown()
    await this.engine.whenApplied(this.log.position.lsn, 60_000)
    this.follow()
  }

  async close(): Promise<void> {
    this.#ending.abort()
    await this.#tailing.catch((error) => {
      // It waited for a file when it was closed, or its engine has failed and says so.
      if (error.code !== 'closed' && this.engine.health().status !== 'failed') throw error
    })
    await this.engine.close()
  }

  async #tail(signal: AbortSignal): Promise<void> {
    for await (const { records } of this.log.tail(this.log.position, signal)) {
      await this.engine.applyTailed(records)
      if (signal.aborted) return
    }
  }
}

/** Opens a node, in a new directory by default. */
export async function openNode(
  t: Test,
  { sim, clock }: World,
  options: Partial<EngineOptions> & { readonly uuid?: string; readonly shared?: SharedFiles } = {},
  parts: EngineParts = {},
): Promise<Node> {
  const { uuid: id = uuid, shared, ...engineOptions } = options
  const dataDir = options.dataDir ?? (await openDirectory(t))
  let node: Node | undefined
  let log: ReplicatedLog | undefined
  let opened: ChainPosition | undefined
  const engine = await openReplicatedEngine(
    { threads: 1, ...engineOptions, dataDir },
    {
      open: (request) =>
        openReplicatedDirectory({
          ...request,
          uuid: id,
          async openLog(from) {
            opened = from
            const opening = {
              store: await sim.connect(),
              logId,
              writer: Buffer.from(`writer ${Math.random()}`.padEnd(16).slice(0, 16)),
            }
            log = await openReplicatedLog({ ...opening, clock, ...(from && { from }) })
            return log
          },
        }),
      ...(shared && { shared }),
      positionBefore(lsn) {
        const position = log?.positionBefore(lsn)
        return position && encodePosition(position)
      },
      refusal: () => (node?.leads ? undefined : new WalError('not_leader', 'this node follows')),
    },
    parts,
  )
  node = new Node(engine, log as ReplicatedLog, opened)
  t.teardown(() => node.close())
  return node
}

/** Digests of everything that a node has: the catalog, and each collection of each database. */
export function digestsOf({ engine }: Node): Record<string, string> {
  const digests: Record<string, string> = { catalog: engine.control.digest() }
  for (const { name } of engine.control.databases()) {
    const database = engine.database(name)
    for (const collection of database.collections())
      digests[`${name}/${collection.name}`] = database.collection(collection.name).stateDigest()
  }
  return digests
}
