// What differs between two moments of a collection. The records between them say which ids were written; the state at both moments says
// what became of these. One of the two states is in memory at a time, and 16 bytes for each id.
import { EngineError } from '../errors.ts'
import { diffIdsMax } from '../limits.ts'
import type { ObjectChange } from '../model/history.ts'
import type { Replica } from '../replica/replica.ts'
import { storedObjects } from '../search/stored.ts'
import { objectDigest } from './object-digest.ts'

/** Objects that are read from disk at a time. */
const objectsAtOnce = 256

/** Digests by id, of those of the ids that exist. */
export async function digestsOf(
  replica: Replica,
  ids: Iterable<string>,
  checkWanted: () => void,
): Promise<Map<string, string>> {
  const digests = new Map<string, string>()
  const ordinals: number[] = []
  const readAll = async () => {
    checkWanted()
    for (const object of await storedObjects(replica, ordinals)) digests.set(object.id, objectDigest(object))
    ordinals.length = 0
  }
  for (const id of ids) {
    const ordinal = replica.find(id)
    if (ordinal >= 0) ordinals.push(ordinal)
    if (ordinals.length === objectsAtOnce) await readAll()
  }
  await readAll()
  return digests
}

/** Yields what became of each id, in their order; nothing for those that are as before. */
export function* changesBetween(
  ids: Iterable<string>,
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): Generator<ObjectChange> {
  for (const id of ids) {
    const [was, is] = [before.get(id), after.get(id)]
    if (was === is) continue
    yield { id, change: was === undefined ? 'added' : is === undefined ? 'removed' : 'changed' }
  }
}

/** Adds ids, as many as a comparison may keep. Throws limit_exceeded. */
export function addIds(kept: Set<string>, ids: readonly string[]): void {
  for (const id of ids) kept.add(id)
  if (kept.size <= diffIdsMax) return
  const message = `more than ${diffIdsMax} objects were written between the two moments; compare moments that are closer to each other`
  throw new EngineError('limit_exceeded', message, { field: 'to', limit: diffIdsMax })
}
