// The identity of a cluster: a uuid that the first node creates. The log and the directory of every node have it, so that nothing of
// another cluster is ever mixed in.
import { randomUUID } from 'node:crypto'
import { WalError } from '@annal/wal'
import { type FrameStore, isStoreOf } from '@annal/wal/replicated'
import type { ControlBucket } from './control-bucket.ts'

const key = 'identity'

/** What shows the identity of a cluster besides its bucket. */
export interface IdentityEvidence {
  /** The log, whose frames have a part of the identity. */
  readonly store: FrameStore
  /** The identity of the directory of this node; undefined if it is new. */
  readonly own: string | undefined
}

/**
 * Reads the identity. Creates it only if the log and the directory of this node are empty. If the log has messages, the bucket was lost, and a new
 * identity would shut out the nodes that have the data; a node whose directory belongs to the log then writes its own identity back. Throws
 * identity_mismatch if the directory is new or of another log, or has data while the log is empty. Rejects if NATS does not answer.
 */
export async function clusterIdentity(bucket: ControlBucket, { store, own }: IdentityEvidence): Promise<string> {
  const known = await bucket.get(key)
  if (known !== undefined) return uuidIn(known.value)
  const { last } = await store.range()
  // A new cluster has its identity before its log has messages.
  const later = await bucket.get(key)
  if (later !== undefined) return uuidIn(later.value)
  if (last === 0 && own !== undefined) throw emptyLog(own)
  if (last > 0 && (own === undefined || !(await isStoreOf(store, logIdOf(own))))) throw lostIdentity(last)
  const uuid = last === 0 ? randomUUID() : (own as string)
  const outcome = await bucket.put(key, { uuid }, { expected: 0 })
  if (typeof outcome === 'number') return uuid
  // Another node was faster, or the reply was lost.
  const found = await bucket.get(key)
  if (found === undefined) throw new Error('NATS did not store the identity of the cluster')
  return uuidIn(found.value)
}

function lostIdentity(last: number): WalError {
  return new WalError(
    'identity_mismatch',
    `the bucket of the cluster has no identity, but the log ends with message ${last}: the bucket was lost. Nothing was changed. Start a node that has data of this log first; it puts the identity back.`,
    { seq: last },
  )
}

/** NATS may have lost its storage, and this directory may be what is left of the cluster. */
function emptyLog(own: string): WalError {
  return new WalError(
    'identity_mismatch',
    `the directory of this node has the data of ${own}, not of the cluster, which has no data: its log in NATS is empty. Nothing was changed. If NATS lost its storage, restore that, or begin a new cluster with this directory: \`annal cluster leave\`, then \`annal cluster init --from\`. To join another cluster, give this node an empty directory.`,
    { value: own },
  )
}

/**
 * Makes a uuid the identity of a new cluster, or confirms that it is. Throws identity_mismatch if the cluster has another identity, or, with
 * the same one, a log that is not of this directory.
 */
export async function claimIdentity(
  bucket: ControlBucket,
  uuid: string,
  { isNew }: { readonly isNew: boolean },
): Promise<void> {
  const known = await bucket.get(key)
  if (known === undefined && isNew) await bucket.put(key, { uuid }, { expected: 0 })
  const found = await bucket.get(key)
  if (found !== undefined && uuidIn(found.value) === uuid) return
  const message = `the cluster is not new: its identity is ${found === undefined ? 'missing' : uuidIn(found.value)}, and nothing was changed. A directory can begin only a new cluster.`
  throw new WalError('identity_mismatch', message, { value: uuid })
}

/** The number of the log in its frames: the first 64 bits of the identity. */
export function logIdOf(uuid: string): bigint {
  return BigInt(`0x${uuid.replaceAll('-', '').slice(0, 16)}`)
}

function uuidIn(value: unknown): string {
  const { uuid } = value as { readonly uuid: string }
  return uuid
}
