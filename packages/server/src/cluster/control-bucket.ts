// The small facts that the nodes of a cluster share: its identity, the lease, and who is there. A NATS key-value bucket, written
// with compare-and-set. Nothing here decides what is in the log.
import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  StorageType,
  type StoredMsg,
} from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'

/** A value and its revision. Each write of any key has a higher revision than those before. */
export interface ControlEntry {
  readonly key: string
  readonly value: unknown
  readonly revision: number
  /** When a server stored it, in milliseconds since 1970. */
  readonly timeMs: number
}

/** The revision of the write; `conflict` if the key has another revision than expected; `unknown` if nobody answered. */
export type PutOutcome = number | 'conflict' | 'unknown'

/** How a bucket is opened. */
export interface ControlBucketOptions {
  readonly name: string
  readonly replicas: number
  /** How long a request may take, in milliseconds. */
  readonly requestMs: number
}

/** The bucket of one cluster. */
export class ControlBucket {
  readonly #stream: string
  readonly #subjects: string
  readonly #requestMs: number
  readonly #manager: JetStreamManager
  readonly #client: JetStreamClient

  constructor(options: ControlBucketOptions, manager: JetStreamManager, client: JetStreamClient) {
    this.#stream = `KV_${options.name}`
    this.#subjects = `$KV.${options.name}.`
    this.#requestMs = options.requestMs
    this.#manager = manager
    this.#client = client
  }

  /** Returns the newest value, as the server that leads the bucket knows it. Rejects if nobody answers. */
  async get(key: string): Promise<ControlEntry | undefined> {
    const found = await this.#manager.streams.getMessage(this.#stream, { last_by_subj: this.#subjects + key })
    return found === null ? undefined : this.#entry(found)
  }

  /** Writes a value. With `expected`, only if that is the revision of the key; 0: only if the key does not exist. */
  async put(key: string, value: unknown, options: { expected?: number; ttl?: string } = {}): Promise<PutOutcome> {
    const { expected, ttl } = options
    const expect = { streamName: this.#stream, ...(expected !== undefined && { lastSubjectSequence: expected }) }
    try {
      const given = { expect, timeout: this.#requestMs, ...(ttl !== undefined && { ttl }) }
      return (await this.#client.publish(this.#subjects + key, JSON.stringify(value), given)).seq
    } catch (error) {
      const isConflict = error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamWrongLastSequence
      return isConflict ? 'conflict' : 'unknown'
    }
  }

  /** Returns every value whose key begins with `prefix` and a dot, as any server knows it. Rejects if nobody answers. */
  async list(prefix: string): Promise<ControlEntry[]> {
    const found: ControlEntry[] = []
    const wanted = { multi_last: [`${this.#subjects}${prefix}.>`] }
    for await (const message of await this.#manager.direct.getLastMessagesFor(this.#stream, wanted))
      found.push(this.#entry(message))
    return found
  }

  /** The difference of this machine's clock to that of a NATS server, in milliseconds; positive if it is ahead. */
  async clockSkewMs(): Promise<number> {
    const before = Date.now()
    const info: { readonly ts?: string } = await this.#manager.streams.info(this.#stream)
    const after = Date.now()
    const serverMs = Date.parse(info.ts ?? '')
    // Within the time of the request, the clocks agree.
    return serverMs > after ? after - serverMs : Math.max(0, before - serverMs) || 0
  }

  #entry(message: StoredMsg): ControlEntry {
    const { subject, seq, time } = message
    return { key: subject.slice(this.#subjects.length), value: message.json(), revision: seq, timeMs: time.getTime() }
  }
}

/** Creates the bucket or opens it. Rejects if nobody answers, or if there are not enough servers for the replicas. */
export async function openControlBucket(
  connection: NatsConnection,
  options: ControlBucketOptions,
): Promise<ControlBucket> {
  const timeout = options.requestMs
  const manager = await jetstreamManager(connection, { timeout, checkAPI: false })
  const name = `KV_${options.name}`
  try {
    await manager.streams.info(name)
  } catch (error) {
    if (!(error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound)) throw error
    await manager.streams.add({
      name,
      subjects: [`$KV.${options.name}.>`],
      storage: StorageType.File,
      num_replicas: options.replicas,
      max_msgs_per_subject: 1,
      discard: DiscardPolicy.New,
      deny_delete: true,
      allow_rollup_hdrs: true,
      allow_direct: true,
      allow_msg_ttl: true,
    })
  }
  return new ControlBucket(options, manager, jetstream(connection, { timeout }))
}
