// Opens the store that the nodes of a cluster share: a bucket if one is configured, and a JetStream stream otherwise.
import type { NatsConnection } from '@nats-io/transport-node'
import type { ClusterConfig } from './cluster-config.ts'
import type { SharedStore } from './shared-store.ts'
import { openSharedStream } from './shared-stream.ts'

/** Opens the bucket of NDD_CLUSTER_S3, or a stream without it. Rejects if NATS does not answer. */
export async function openSharedStore(connection: NatsConnection, config: ClusterConfig): Promise<SharedStore> {
  const { name, replicas, filesBucket, filesBytesMax } = config
  if (filesBucket === undefined)
    return openSharedStream(connection, { name: `annal-${name}-files`, replicas, bytesMax: filesBytesMax })
  // Loaded only if a bucket is configured, because the S3 library takes memory.
  const { SharedBucket } = await import('./shared-bucket.ts')
  return new SharedBucket(filesBucket)
}
