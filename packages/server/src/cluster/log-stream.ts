// The JetStream stream that a cluster keeps its log in: how it is made, and what an existing one must be. A stream that is
// weaker than this could lose acknowledged writes, so it is refused.
import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream'

/** What a cluster's stream is called, and how often it is kept. */
export interface LogStream {
  /** The name of the stream. The subject of its messages is the same in lower case, with dots. */
  readonly name: string
  /** How many NATS servers keep each message. */
  readonly replicas: number
  /** The largest message, in bytes. */
  readonly messageBytesMax: number
}

/** The stream that exists is not what a cluster needs. */
export class WeakStreamError extends Error {
  override readonly name = 'WeakStreamError'
  readonly code = 'stream_weak'
}

/** Headers and subject of a message, on top of its bytes, are at most this long. */
const messageOverheadBytes = 1024
/** The least that a stream's window of duplicates may be. The log has no use for it, and it costs memory. */
const duplicateWindowNanos = 100_000_000

/** Returns the subject that messages of the log are published to. */
export function logSubject(stream: string): string {
  return `annal.log.${stream}`
}

/** Returns the subject on which NATS announces each stored message by its headers. */
export function storedSubject(stream: string): string {
  return `annal.stored.${stream}`
}

/** Creates the stream, or verifies the one that exists. Throws WeakStreamError with each setting that is weaker. */
export async function ensureLogStream(manager: JetStreamManager, stream: LogStream): Promise<void> {
  const wanted = configOf(stream)
  const found = await findStream(manager, stream.name)
  const { config } = found ?? (await manager.streams.add(wanted))
  const problems = problemsOf(config, wanted)
  if (problems.length === 0) return
  throw new WeakStreamError(`the stream ${stream.name} cannot keep the log of a cluster: ${problems.join('; ')}`)
}

async function findStream(manager: JetStreamManager, name: string): Promise<StreamInfo | undefined> {
  try {
    return await manager.streams.info(name)
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) return undefined
    throw error
  }
}

function configOf({ name, replicas, messageBytesMax }: LogStream) {
  return {
    name,
    subjects: [logSubject(name)],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    num_replicas: replicas,
    max_age: 0,
    max_msgs: -1,
    max_bytes: -1,
    max_msgs_per_subject: -1,
    max_msg_size: messageBytesMax + messageOverheadBytes,
    duplicate_window: duplicateWindowNanos,
    // Only a trim removes messages, always from the beginning.
    deny_delete: true,
    deny_purge: false,
    allow_rollup_hdrs: false,
    allow_direct: true,
    republish: { src: logSubject(name), dest: storedSubject(name), headers_only: true },
  } satisfies Partial<StreamConfig>
}

type WantedConfig = ReturnType<typeof configOf>

/** The settings that must be as wanted, since another value loses, removes, or rewrites messages. */
const equalSettings = [
  'storage',
  'retention',
  'discard',
  'max_age',
  'max_msgs',
  'max_bytes',
  'max_msgs_per_subject',
  'deny_delete',
  'allow_rollup_hdrs',
  'allow_direct',
] as const satisfies readonly (keyof WantedConfig)[]

function problemsOf(config: StreamConfig, wanted: WantedConfig): string[] {
  const problems = equalSettings
    .filter((name) => (config[name] ?? false) !== wanted[name])
    .map((name) => `${name} is ${config[name]}, it must be ${wanted[name]}`)
  if (config.num_replicas < wanted.num_replicas)
    problems.push(`num_replicas is ${config.num_replicas}, it must be at least ${wanted.num_replicas}`)
  if (config.subjects?.join() !== wanted.subjects.join())
    problems.push(`subjects is ${config.subjects?.join(', ')}, it must be ${wanted.subjects.join(', ')}`)
  if (config.max_msg_size !== -1 && config.max_msg_size < wanted.max_msg_size)
    problems.push(`max_msg_size is ${config.max_msg_size}, it must be at least ${wanted.max_msg_size}`)
  if (config.republish?.dest !== wanted.republish.dest)
    problems.push(`republish goes to ${config.republish?.dest ?? 'nothing'}, it must go to ${wanted.republish.dest}`)
  if (config.persist_mode !== undefined && config.persist_mode !== 'default')
    problems.push(`persist_mode is ${config.persist_mode}, it must be default`)
  if (config.mirror !== undefined || (config.sources ?? []).length > 0)
    problems.push('it copies another stream, it must have messages of its own only')
  if (config.subject_transform !== undefined) problems.push('subject_transform is set, it must not be')
  if (config.sealed === true) problems.push('it is sealed')
  return problems
}
