// The shared store of a cluster in a JetStream stream, for installations without a bucket. One object is one message; its key is the
// subject. NATS replicates and syncs each message, so it is for small amounts: the whole stream has a limit.
import { StoreUnavailable } from '@annal/wal/replicated'
import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  StorageType,
} from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { ServerError } from '../errors.ts'
import type { SharedStore } from './shared-store.ts'

/** How the stream is created. */
export interface SharedStreamOptions {
  readonly name: string
  readonly replicas: number
  /** The limit of everything in it, in bytes. */
  readonly bytesMax: number
}

const requestMs = 4000
/** A server sends a single message as text too, which must fit into the largest message that NATS takes by default. */
const objectBytesMax = 512 * 1024
const headerBytesMax = 4096

/** Creates the stream, or opens it. Rejects if NATS does not answer. */
export async function openSharedStream(connection: NatsConnection, options: SharedStreamOptions): Promise<SharedStore> {
  const { name, replicas } = options
  const manager = await jetstreamManager(connection, { timeout: requestMs, checkAPI: false })
  try {
    await manager.streams.info(name)
  } catch (error) {
    if (!isCode(error, JetStreamApiCodes.StreamNotFound)) throw error
    await manager.streams.add({
      name,
      subjects: [`${subjectOf(name)}.>`],
      storage: StorageType.File,
      num_replicas: replicas,
      max_msgs_per_subject: 1,
      max_msg_size: objectBytesMax + headerBytesMax,
      discard: DiscardPolicy.New,
      allow_direct: true,
    })
  }
  return new SharedStream(options, manager, jetstream(connection, { timeout: requestMs }))
}

class SharedStream implements SharedStore {
  readonly at: string
  readonly objectBytesMax = objectBytesMax
  readonly #stream: string
  readonly #bytesMax: number
  readonly #manager: JetStreamManager
  readonly #client: JetStreamClient

  constructor({ name, bytesMax }: SharedStreamOptions, manager: JetStreamManager, client: JetStreamClient) {
    this.at = `the stream ${name}`
    this.#stream = name
    this.#bytesMax = bytesMax
    this.#manager = manager
    this.#client = client
  }

  async checkRoom(bytes: number): Promise<void> {
    const { state } = await this.#available(() => this.#manager.streams.info(this.#stream))
    if (state.bytes + bytes <= this.#bytesMax) return
    throw new ServerError(
      'shared_store_full',
      `${this.at} has ${state.bytes} bytes and would get ${bytes} more; NDD_CLUSTER_FILES_MAX_MB allows ${this.#bytesMax} bytes. Set NDD_CLUSTER_S3 for more`,
      { field: 'NDD_CLUSTER_FILES_MAX_MB', value: state.bytes + bytes, limit: this.#bytesMax },
    )
  }

  put(key: string, bytes: Uint8Array): Promise<'stored' | 'exists'> {
    return this.#available(async () => {
      try {
        const expect = { streamName: this.#stream, lastSubjectSequence: 0 }
        await this.#client.publish(this.#subject(key), bytes, { expect, timeout: requestMs })
        return 'stored'
      } catch (error) {
        if (isCode(error, JetStreamApiCodes.StreamWrongLastSequence)) return 'exists'
        throw error
      }
    })
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    const wanted = { last_by_subj: this.#subject(key) }
    const found =
      (await this.#available(() => this.#manager.direct.getMessage(this.#stream, wanted))) ??
      // A server that is behind the leader of the stream may lack a new object.
      (await this.#available(() => this.#manager.streams.getMessage(this.#stream, wanted)))
    return found?.data
  }

  async has(key: string): Promise<boolean> {
    return (await this.#keys(this.#subject(key))).length > 0
  }

  list(folder: string): Promise<string[]> {
    return this.#keys(`${this.#subject(folder.replace(/\/$/, ''))}.>`)
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (const key of keys)
      await this.#available(() => this.#manager.streams.purge(this.#stream, { filter: this.#subject(key) }))
  }

  close(): void {
    // The connection belongs to the caller.
  }

  async #keys(filter: string): Promise<string[]> {
    const info = await this.#available(() => this.#manager.streams.info(this.#stream, { subjects_filter: filter }))
    const subjects = Object.keys(info.state.subjects ?? {})
    const skipped = this.#subject('').length
    return subjects.map((subject) => subject.slice(skipped).split('.').map(decodeURIComponent).join('/')).sort()
  }

  #subject(key: string): string {
    return `${subjectOf(this.#stream)}.${key.split('/').map(tokenOf).join('.')}`
  }

  async #available<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request()
    } catch (error) {
      throw new StoreUnavailable(`${this.at} does not answer: ${String(error)}`, { cause: error })
    }
  }
}

function subjectOf(stream: string): string {
  return `annal.files.${stream}`
}

/** A token of a subject has no dots and wildcards. */
function tokenOf(part: string): string {
  return encodeURIComponent(part).replaceAll('.', '%2E').replaceAll('*', '%2A')
}

function isCode(error: unknown, code: JetStreamApiCodes): boolean {
  return error instanceof JetStreamApiError && error.code === code
}
