// Clients of three nodes: they write with request keys at any node and repeat what has no reply, read their writes at any other node, read
// strongly, and read plainly.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '@annal/wal/testing'
import { until } from '../../eventually.ts'
import type { ClusterNode } from '../cluster-nodes.ts'
import type { History, Write } from './history.ts'

/** The collection that clients use. */
export const collection = 'things'
/** Keys that several clients write. Other objects are written once. */
const registers = 4
const attemptMs = 1500
const writers = 3
const strongReaders = 2

interface Answered {
  readonly status: number
  readonly body: {
    readonly code?: string
    readonly lsn?: number
    readonly error?: string
    readonly objects?: readonly Found[]
  }
}

interface Found {
  readonly id: string
  readonly meta: { readonly value: string }
}

/** What is chosen for clients. */
export interface ClientsOptions {
  readonly nodes: readonly ClusterNode[]
  readonly random: Random
  readonly history: History
  /** Unique within a run. */
  readonly name: string
  /** Whether a node must answer reads. */
  readonly isWhole: (node: ClusterNode) => boolean
}

/** Starts clients that work until `end`. */
export class Clients {
  readonly #options: ClientsOptions
  readonly #working: Promise<unknown>
  #isOver = false

  constructor(options: ClientsOptions) {
    this.#options = options
    const each = (count: number, work: (index: number) => Promise<void>) =>
      Array.from({ length: count }, (_, index) => work(index))
    this.#working = Promise.all([
      ...each(writers, (index) => this.#write(index)),
      ...each(strongReaders, () => this.#readStrongly()),
      ...options.nodes.map((node) => this.#read(node)),
    ])
  }

  /** Resolves when so many further writes are acknowledged. Rejects if a client got a reply that it may not get. */
  async more(count: number): Promise<void> {
    const { history } = this.#options
    const wanted = history.acknowledged.length + count
    await until(() => {
      if (history.wrong.length > 0) throw new Error(history.wrong.join('; '))
      return history.acknowledged.length >= wanted
    })
  }

  /** Ends the work. Each client first finishes what it is at. */
  async end(): Promise<void> {
    this.#isOver = true
    await this.#working
  }

  async #write(index: number): Promise<void> {
    const { name, random, history } = this.#options
    for (let n = 0; !this.#isOver; n++) {
      const value = `~${name}.${index}.${n}~`
      const key = random.chance(0.5) ? this.#register() : value
      const write: Write = {
        ...{ key, value, calledAt: performance.now() },
        ...{ answeredAt: Number.POSITIVE_INFINITY, lsn: undefined, isPossible: false },
      }
      history.writes.push(write)
      await this.#attempt(write, random.chance(0.2))
      if (write.lsn !== undefined && random.chance(0.5)) await this.#readAfter(write, write.lsn)
      await sleep(5)
    }
  }

  /** Sends a write until it is acknowledged; a client that gives up leaves it after the first attempt without a reply. */
  async #attempt(write: Write, givesUp: boolean): Promise<void> {
    const { key, value } = write
    // The log has metadata compressed, and filters as they are.
    const json = { objects: [{ id: key, meta: { value }, filter: { value }, fields: { dense: [1, 2, 3, 4] } }] }
    for (;;) {
      const reply = await call(this.#node(), 'objects', json, { 'idempotency-key': `key-${value.slice(1, -1)}` })
      if (reply?.status === 200) {
        write.answeredAt = performance.now()
        write.lsn = reply.body.lsn ?? Number.NaN
        write.isPossible = true
        return
      }
      const outcome = outcomeOf(reply)
      if (outcome === 'wrong')
        this.#options.history.wrong.push(`a write got ${reply?.status} ${JSON.stringify(reply?.body)}`)
      if (outcome !== 'refused') write.isPossible = true
      if (this.#isOver || (givesUp && write.isPossible)) return
      await sleep(20)
    }
  }

  async #readAfter({ key }: Write, minLsn: number): Promise<void> {
    const node = this.#node()
    const reply = await call(node, 'objects/query', { ids: [key], min_lsn: minLsn })
    if (reply?.status !== 200) return this.#check(reply, 'a read with min_lsn')
    this.#options.history.readsAfterWrite.push({ key, node: node.name, minLsn, value: valueIn(reply) })
  }

  async #readStrongly(): Promise<void> {
    while (!this.#isOver) {
      const key = this.#register()
      const calledAt = performance.now()
      const reply = await call(this.#node(), 'objects/query', { ids: [key], consistency: 'strong' })
      if (reply?.status === 200)
        this.#options.history.strongReads.push({ key, value: valueIn(reply), calledAt, answeredAt: performance.now() })
      else this.#check(reply, 'a strong read')
      await sleep(10)
    }
  }

  /** Reads of a node that runs are answered whatever happens to the others and to NATS. */
  async #read(node: ClusterNode): Promise<void> {
    const { isWhole, history } = this.#options
    while (!this.#isOver) {
      const wasWhole = isWhole(node)
      const reply = await call(node, 'objects/query', { ids: [this.#register()] })
      if (reply?.status === 200) history.plainReads++
      // A node that has just started serves before it has its data.
      else if (reply !== undefined && wasWhole && isWhole(node) && reply.body.code !== 'starting')
        history.wrong.push(`a read of ${node.name} got ${reply.status} ${JSON.stringify(reply.body)}`)
      await sleep(20)
    }
  }

  #check(reply: Answered | undefined, what: string): void {
    if (outcomeOf(reply) === 'wrong')
      this.#options.history.wrong.push(`${what} got ${reply?.status} ${JSON.stringify(reply?.body)}`)
  }

  #register(): string {
    return `${this.#options.name}.register-${this.#options.random.below(registers)}`
  }

  #node(): ClusterNode {
    const { nodes, random } = this.#options
    const node = nodes[random.below(nodes.length)]
    if (node === undefined) throw new Error('there are nodes')
    return node
  }
}

/** What a reply other than 200 says about a write. No reply says nothing. */
function outcomeOf(reply: Answered | undefined): 'refused' | 'unknown' | 'wrong' {
  if (reply === undefined) return 'unknown'
  const { status, body } = reply
  if (status === 503) return body.code === 'outcome_unknown' || body.code === 'log_failed' ? 'unknown' : 'refused'
  return status === 409 && body.code === 'request_key_in_use' ? 'unknown' : 'wrong'
}

function valueIn({ body }: Answered): string | undefined {
  return body.objects?.[0]?.meta.value
}

/** Sends a request to the collection. Resolves to undefined without a reply. */
export async function call(
  node: ClusterNode,
  route: string,
  json: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answered | undefined> {
  try {
    const reply = await fetch(`${node.url}/api/v2/collection/${collection}/${route}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
      body: JSON.stringify(json),
      signal: AbortSignal.timeout(attemptMs),
    })
    return { status: reply.status, body: (await reply.json()) as Answered['body'] }
  } catch {
    return undefined
  }
}
