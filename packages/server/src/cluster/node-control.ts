// What a node does and why: it watches the lease, competes for it, renews it while it leads, and leaves service when the log is not the
// one that it has read. Decides from facts that its parts report; the parts do the work.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Lsn, WalError } from '@annal/wal'
import { ServerError } from '../errors.ts'
import type { ClusterConfig } from './cluster-config.ts'
import type {
  ClusterStatus,
  ClusterView,
  KnownNode,
  NodeAddress,
  NodeDigests,
  NodeRole,
  StatePart,
} from './cluster-view.ts'
import { DigestWatch } from './digest-watch.ts'
import { Freshness } from './freshness.ts'
import { Leadership } from './leadership.ts'
import { Lease } from './lease.ts'
import { NodeBehindError } from './node-behind.ts'
import { admitNode, removeNode } from './node-removal.ts'
import { type NodeParts, type RunningNode, statusOf } from './node-status.ts'
import { nameTaken, obstacleOf } from './obstacle.ts'
import { announceEveryMs, Presence } from './presence.ts'

/** A node does something else from now on. */
export interface RoleChange {
  readonly from: NodeRole
  readonly to: NodeRole
  readonly epoch: number
  readonly reason: string
}

/** What a node says and learns besides its configuration. */
export interface NodeFacts {
  readonly onRole?: ((change: RoleChange) => void) | undefined
  /** The node has left service, because only a restart gives it the data that it lacks. */
  readonly onBehind?: ((error: NodeBehindError) => void) | undefined
  /** The version of Annal that it announces. */
  readonly version?: string | undefined
}

/** How long closing waits for writes whose outcome is unknown. */
const closeWaitMs = 2000
/** A node looks at the lease and the log at least this often, however long the lease is. */
const lookMsMax = 500
/** A NATS server that answered nothing about the log for so long is left. An election of NATS takes less. */
const silenceMsMax = 10_000
/** How often the node that leads removes files that nothing needs any more. */
const collectMs = 600_000
const steppedOut = 'an operator removed this node from the cluster'
const nowMs = () => performance.now()
const sentenceOf = {
  shorter: 'the log in NATS ends before what this node has read: it was rolled back or damaged',
  missing: 'NATS does not have the log that this node has read: its storage was lost, or the stream was deleted',
}

/** One node, as the rest of the server sees it. It is started when its engine is open. */
export class NodeControl implements ClusterView {
  readonly #config: ClusterConfig
  readonly #onRole: ((change: RoleChange) => void) | undefined
  readonly #onBehind: ((error: NodeBehindError) => void) | undefined
  readonly #version: string | undefined
  /** Identifies this process. */
  readonly instance = randomUUID()
  readonly #closing = new AbortController()
  #running: RunningNode | undefined
  #loops: Promise<unknown> = Promise.resolve()
  /** The epoch that this node leads or is about to lead. */
  #term: { readonly epoch: number } | undefined
  #isSteppingDown = false
  /** Until then this node leaves the lease to others. */
  #awayUntilMs = 0
  /** Difference to the clock of a NATS server; undefined until it was measured. */
  #skewMs: number | undefined
  #failovers = 0
  #out: string | undefined
  /** What this node waits for, and cannot serve without. */
  #missing: string | undefined
  #collectedAt: number | undefined
  /** When it last left a NATS server. */
  #movedAtMs = Number.NEGATIVE_INFINITY
  #obstacle: string | undefined
  #why = 'it started'
  #reported: NodeRole = 'bootstrapping'

  constructor(config: ClusterConfig, { onRole, onBehind, version }: NodeFacts) {
    this.#config = config
    this.#onRole = onRole
    this.#onBehind = onBehind
    this.#version = version
  }

  /** Aborted when the node is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** The engine is open: follows the log, and competes for the lease. */
  start(parts: NodeParts): void {
    const { engine, log, store, bucket } = parts
    const { node, url, leaseMs } = this.#config
    this.#running = {
      ...parts,
      lease: new Lease(bucket, { node, url, instance: this.instance }, leaseMs),
      leadership: new Leadership({
        ...{ engine, log },
        onFence: () => this.#failovers++,
        onLost: (error) => this.#lost(error),
      }),
      freshness: new Freshness({
        last: async () => (await store.range()).last,
        read: () => log.position,
        lsnApplied: () => engine.lsnApplied,
        nowMs,
      }),
      presence: new Presence({
        ...{ bucket, url, instance: this.instance },
        status: () => this.status(),
        lsn: () => log.position.lsn,
        serverTimeMs: () => Date.now() - (this.#skewMs ?? 0),
      }),
      digests: new DigestWatch({
        ...{ bucket, engine, node },
        leader: () => (this.#leads() ? node : this.leader()?.node),
      }),
    }
    this.#report()
    this.#loops = Promise.all([
      this.#every(Math.min(leaseMs / 12, lookMsMax), (running) => this.#tick(running)),
      this.#every(Math.min(leaseMs / 6, lookMsMax), (running) => this.#look(running)),
      this.#every(announceEveryMs(leaseMs), (running) => this.#announce(running)),
      this.#every(announceEveryMs(leaseMs), (running) => this.#compare(running)),
      this.#every(announceEveryMs(leaseMs), (running) => this.#keepLog(running)),
      this.#every(leaseMs, (running) => this.#collectWhenDue(running)),
    ])
  }

  status(): ClusterStatus {
    const role = this.#role()
    const { node } = this.#config
    const facts = { node, version: this.#version, role, failovers: this.#failovers, reason: this.#reason(role) }
    return statusOf(facts, this.#running)
  }

  leader(): NodeAddress | undefined {
    const { value } = this.#running?.lease ?? {}
    if (value === undefined || value.released || value.instance === this.instance) return undefined
    return { node: value.node, url: value.url }
  }

  /** A file that a record names cannot be fetched: the node is out of service until it can, and answers why. */
  waitsFor(what: string | undefined): void {
    if (this.#missing === what) return
    this.#missing = what
    if (what !== undefined) this.#why = what
    if (what !== undefined && this.#term !== undefined) void this.#depose(what)
    this.#report()
  }

  async refreshBackups(): Promise<void> {
    await this.#running?.backups.refresh()
  }

  /** Why writes are rejected at the moment, as sentences for health. Empty if they are accepted. */
  faults(): readonly string[] {
    if (this.#running === undefined || this.#out !== undefined || this.#leads()) return []
    const { lease } = this.#running
    if (this.#term !== undefined && this.#running.leadership.leads)
      return [
        `this node leads, and NATS has not confirmed its lease for more than ${this.#config.leaseMs} ms: writes are rejected`,
      ]
    return lease.isFree ? ['no node leads: writes are rejected'] : []
  }

  /** Why this node appends nothing; undefined while it leads. */
  refusal(): WalError | undefined {
    if (this.#leads()) return undefined
    const leader = this.leader()
    const message = leader === undefined ? 'no node leads at the moment' : `node ${leader.node} leads: ${leader.url}`
    return new WalError('not_leader', `this node does not lead the cluster; ${message}`)
  }

  async confirm(signal: AbortSignal): Promise<Lsn> {
    signal.throwIfAborted()
    const refused = this.refusal()
    if (refused !== undefined || this.#running === undefined) throw refused
    const aborted = Promise.withResolvers<never>()
    const abort = () => aborted.reject(signal.reason)
    signal.addEventListener('abort', abort)
    try {
      return await Promise.race([this.#running.log.confirm(), aborted.promise])
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  nodes(): readonly KnownNode[] {
    return this.#running?.presence.nodes ?? [{ ...this.status(), url: this.#config.url, seenMsAgo: 0 }]
  }

  async digests(): Promise<readonly NodeDigests[]> {
    return (await this.#running?.digests.all()) ?? []
  }

  async requestDigests(): Promise<readonly StatePart[]> {
    const refused = this.refusal()
    if (refused !== undefined || this.#running === undefined) throw refused
    return this.#running.digests.request()
  }

  async stepDown(): Promise<void> {
    const refused = this.refusal()
    if (refused !== undefined) throw refused
    this.#awayUntilMs = nowMs() + 2 * this.#config.leaseMs
    await this.#depose('an operator requested it')
  }

  async removeNode(name: string): Promise<void> {
    const leave = async () => {
      if (this.#term !== undefined) await this.#depose(steppedOut)
      this.#leaveService(steppedOut)
    }
    await removeNode(name, { ...this.#open(), ...this.#config, nodes: this.nodes(), leave })
  }

  async admitNode(name: string): Promise<void> {
    await admitNode(name, this.#open())
  }

  #open(): RunningNode {
    if (this.#running === undefined) throw new ServerError('starting', 'the node is starting')
    return this.#running
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return
    this.#closing.abort()
    if (this.#running === undefined) return
    const { leadership, lease } = this.#running
    await leadership.close(closeWaitMs)
    await Promise.race([this.#loops, sleep(closeWaitMs, undefined, { ref: false })])
    this.#term = undefined
    await lease.release()
  }

  /** The log led, and was fenced or has failed. A log that has failed is not used any more. */
  fenced({ message }: Error): void {
    if (this.#running?.log.state().condition === 'failed') this.#leaveService(message)
    else if (this.#term !== undefined) void this.#depose(message)
  }

  /** The engine cannot apply what other nodes wrote, and does nothing more. */
  lacksRoom(what: string): void {
    this.#leaveService(
      `this node has no disk space or memory for the records of other nodes: ${what}. Free some, then restart it`,
    )
  }

  #leads(): boolean {
    const { leadership, lease } = this.#running ?? {}
    return this.#term !== undefined && leadership?.leads === true && lease?.isHeld === true
  }

  #role(): NodeRole {
    if (this.#out !== undefined) return 'out-of-service'
    if (this.#running === undefined) return 'bootstrapping'
    if (this.#missing !== undefined) return 'out-of-service'
    if (this.#leads()) return 'leader'
    if (this.#isSteppingDown) return 'deposed'
    if (this.#term !== undefined) return 'candidate'
    const { freshness } = this.#running
    const isBehind = freshness.stalenessMs - freshness.silenceMs > 2 * this.#config.leaseMs
    return freshness.isKnown && !isBehind ? 'follower' : 'catching-up'
  }

  #reason(role: NodeRole): string | undefined {
    const lacks = this.#out ?? this.#missing
    if (lacks !== undefined) return lacks
    if (role === 'candidate' && this.#running?.leadership.leads)
      return `NATS has not confirmed the lease for ${Math.round(this.#running.lease.renewedMsAgo)} ms`
    return this.#running?.presence.isNameTaken ? nameTaken : this.#obstacle
  }

  async #tick(running: RunningNode): Promise<void> {
    const { lease } = running
    if (this.#out !== undefined || this.#missing !== undefined) return
    if (this.#term !== undefined) await this.#renew(running)
    else if (await lease.look()) {
      if (!this.#isSteppingDown && lease.isFree && nowMs() > this.#awayUntilMs) await this.#compete(running)
    }
  }

  async #renew({ lease, engine }: RunningNode): Promise<void> {
    const { leaseMs } = this.#config
    if (lease.renewedMsAgo < leaseMs / 6) return
    const term = this.#term
    const outcome = await lease.renew(engine.lsnApplied)
    if (outcome === 'lost' && this.#term === term)
      await this.#depose(`the lease went to ${lease.value?.node ?? 'nobody'}, epoch ${lease.value?.epoch ?? 0}`)
  }

  async #compete(running: RunningNode): Promise<void> {
    const { lease, log, engine, leadership, freshness } = running
    this.#obstacle = obstacleOf(engine, {
      skewMs: this.#skewMs,
      isNameTaken: running.presence.isNameTaken,
      behindMs: freshness.isKnown ? freshness.stalenessMs : Number.POSITIVE_INFINITY,
      behindMsMax: this.#config.leaseMs,
    })
    if (this.#obstacle !== undefined) return
    const last = lease.value
    const why =
      last === undefined || last.released || last.instance === this.instance
        ? 'the lease was free'
        : `node ${last.node} was silent for ${this.#config.leaseMs} ms`
    const epoch = Math.max(last?.epoch ?? 0, log.position.epoch) + 1
    if (!(await lease.take(epoch, engine.lsnApplied))) return
    const term = { epoch }
    this.#term = term
    this.#why = why
    this.#report()
    // The lease is renewed meanwhile.
    const read = [...(last === undefined ? [] : [last]), ...running.presence.read]
    void leadership
      .lead(epoch, () => this.#term === term, read)
      .then((leads) => (leads ? undefined : this.#end(term, 'it could not lead in time')))
      .catch((error: Error) => (isDamage(error) ? this.#leaveService(error.message) : this.#end(term, error.message)))
      .then(() => this.#report())
  }

  async #end(term: { readonly epoch: number }, why: string): Promise<void> {
    if (this.#term === term) await this.#depose(why)
  }

  /** Rejects writes from this turn on, follows, and gives the lease back if it is still held. */
  async #depose(why: string): Promise<void> {
    const { leadership, lease } = this.#running as RunningNode
    this.#term = undefined
    this.#why = why
    this.#isSteppingDown = true
    const done = leadership.stepDown()
    this.#report()
    try {
      await done
      if (!this.#closing.signal.aborted) await lease.release()
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#leaveService((error as Error).message)
    } finally {
      this.#isSteppingDown = false
      this.#report()
    }
  }

  async #look({ freshness, reconnect }: RunningNode): Promise<void> {
    await freshness.look()
    // It may be cut off from the others, and keeps its clients.
    if (Math.min(freshness.silenceMs, nowMs() - this.#movedAtMs) > silenceMsMax) {
      this.#movedAtMs = nowMs()
      await reconnect().catch(() => undefined)
    }
    if (freshness.loss !== undefined) this.#leaveService(sentenceOf[freshness.loss])
  }

  async #announce({ bucket, presence }: RunningNode): Promise<void> {
    const skewMs = await bucket.clockSkewMs().catch(() => this.#skewMs)
    await presence.exchange()
    // A node that has not measured it does not compete. Before it does, it knows what the others have read.
    this.#skewMs = skewMs
    const isClockWrong = obstacleOf(undefined, { skewMs: this.#skewMs })
    if (isClockWrong !== undefined && this.#term !== undefined) {
      this.#obstacle = isClockWrong
      await this.#depose(isClockWrong)
    }
  }

  /** Makes snapshots, and trims the log behind them. A node that was removed learns it here. */
  async #keepLog({ snapshots, presence }: RunningNode): Promise<void> {
    if (this.#out !== undefined || presence.isNameTaken) return
    await snapshots.look().catch((error: Error) => this.#leaveService(error.message))
  }

  async #compare({ digests, snapshots }: RunningNode): Promise<void> {
    if (this.#out !== undefined) return
    // An engine that stopped says so itself.
    const differs = await digests.look().catch(() => undefined)
    if (differs === undefined) return
    this.#leaveService(differs)
    await digests.withdraw()
    await snapshots.distrust(digests.lsnEqual).catch(() => undefined)
  }

  /** Once after it began to lead, and then now and then. A failure is tried again. */
  async #collectWhenDue({ engine, log, backups }: RunningNode): Promise<void> {
    if (!this.#leads()) {
      this.#collectedAt = undefined
      return
    }
    if (this.#collectedAt !== undefined && nowMs() - this.#collectedAt < collectMs) return
    this.#collectedAt = nowMs()
    try {
      await backups.refresh()
      await backups.sweep()
      await engine.collectShared(() => log.confirm())
    } catch {
      this.#collectedAt = undefined
    }
  }

  /** The log cannot be followed any more. */
  #lost(error: Error): void {
    this.#leaveService(error.message)
    if (error instanceof WalError && error.code === 'lsn_not_held')
      this.#onBehind?.(new NodeBehindError(this.#config.node, error))
  }

  #leaveService(why: string): void {
    if (this.#out !== undefined || this.#closing.signal.aborted) return
    this.#out = why
    this.#why = why
    if (this.#term !== undefined) void this.#depose(why)
    this.#report()
  }

  #report(): void {
    const from = this.#reported
    const to = this.#role()
    if (from === to || this.#closing.signal.aborted) return
    this.#reported = to
    if (to === 'leader') this.#obstacle = undefined
    if (from === 'catching-up' && to === 'follower') this.#obstacle = undefined
    const reason = from === 'catching-up' ? 'it has what is in the log' : (this.#reason(to) ?? this.#why)
    this.#onRole?.({ from, to, epoch: this.#term?.epoch ?? this.#running?.log.position.epoch ?? 0, reason })
  }

  /** Acts until the node closes. Nodes do not act at the same time, so that one of them is first. */
  async #every(periodMs: number, act: (running: RunningNode) => Promise<void>): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted && this.#running !== undefined) {
      await act(this.#running)
      this.#report()
      const pauseMs = periodMs * (0.75 + Math.random() / 2)
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }
}

/** Whether the log is not the one that this node has read. */
function isDamage(error: Error): boolean {
  return error instanceof WalError && error.code === 'log_damaged'
}
