// Opens the store of the log of a cluster, with messages as large as NATS takes.
import type { FrameStore } from '@annal/wal/replicated'
import type { NatsConnection } from '@nats-io/transport-node'
import type { ClusterConfig } from './cluster-config.ts'
import { openJetStreamStore } from './jetstream-store.ts'

const appendMsMax = 2000
const messageBytesMax = 8 << 20
/** Headers of a message of NATS. */
const overheadBytes = 1024

/** Rejects with WeakStreamError, and if NATS does not answer. */
export function openLogStore(
  connection: NatsConnection,
  { name, replicas }: ClusterConfig,
  onClose: () => Promise<void>,
): Promise<FrameStore> {
  const room = (connection.info?.max_payload ?? 1 << 20) - 2 * overheadBytes
  const stream = { name: `annal-${name}`, replicas, messageBytesMax: Math.min(messageBytesMax, room) }
  return openJetStreamStore({ ...stream, connection, requestMs: appendMsMax, onClose })
}
