// The identity of a cluster: a uuid that the first node creates. The log and the directory of every node have it, so that nothing of
// another cluster is ever mixed in.
import { randomUUID } from 'node:crypto'
import type { ControlBucket } from './control-bucket.ts'

const key = 'identity'

/** Reads the identity, or creates it. Rejects if nobody answers. */
export async function clusterIdentity(bucket: ControlBucket): Promise<string> {
  const known = await bucket.get(key)
  if (known !== undefined) return uuidIn(known.value)
  const uuid = randomUUID()
  const outcome = await bucket.put(key, { uuid }, { expected: 0 })
  if (typeof outcome === 'number') return uuid
  // Another node was faster, or the reply was lost.
  const found = await bucket.get(key)
  if (found === undefined) throw new Error('NATS did not store the identity of the cluster')
  return uuidIn(found.value)
}

/** The number of the log in its frames: the first 64 bits of the identity. */
export function logIdOf(uuid: string): bigint {
  return BigInt(`0x${uuid.replaceAll('-', '').slice(0, 16)}`)
}

function uuidIn(value: unknown): string {
  const { uuid } = value as { readonly uuid: string }
  return uuid
}
