// Whether the state of a stream that a NATS server replied with may be old.
import { StoreUnavailable } from '@annal/wal/replicated'
import type { StreamInfo } from '@nats-io/jetstream'

/** A leader of a stream that has not heard from a majority for this long may have been replaced. */
const silenceNanosMax = 5_000_000_000

/**
 * Throws StoreUnavailable if the server that replied may not lead the stream: newer messages may exist then. While a stream has no leader,
 * any server replies, with what it has.
 */
export function refuseOldAnswer({ config, cluster }: Pick<StreamInfo, 'config' | 'cluster'>): void {
  // A server that is alone has no cluster.
  if (cluster === undefined) return
  if (!cluster.leader) throw new StoreUnavailable(`the stream ${config.name} has no leader`)
  const others = cluster.replicas ?? []
  const heard = others.filter(({ active, offline }) => !offline && active < silenceNanosMax).length
  if (2 * (heard + 1) > others.length + 1) return
  throw new StoreUnavailable(
    `${heard + 1} of the ${others.length + 1} servers of the stream ${config.name} are connected`,
  )
}
