// Creates a long log: two collections of different precision, every kind of event, and checkpoints, whose copies are kept.
import { cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Collection, openEngine } from '@annal/engine'
import type { Random } from '@annal/wal/testing'
import { vectorOrCopy } from '../vector-or-copy.ts'

const dimension = 12
const tags = ['red', 'green', 'blue']
/** Number of concurrent writes, so that they share syncs. */
const together = 32

export interface Made {
  readonly digests: string
  readonly records: number
  /** Copies of checkpoints, oldest first. */
  readonly checkpoints: readonly string[]
}

export async function makeLog(
  dir: string,
  plan: { random: Random; records: number; checkpoints: number },
): Promise<Made> {
  const dataDir = join(dir, 'data')
  const engine = await openEngine({ dataDir, keepLog: true, threads: 2 })
  const collections = await Promise.all(
    (['float32', 'int8'] as const).map((precision) => {
      const params = { dimension, space_type: 'cosine', precision, M: 6, ef_con: 24 } as const
      const fields = [
        { name: 'v', type: 'vector', params },
        { name: 'm', type: 'multi_vector', params: { ...params, pooling: precision === 'int8' ? 'max' : 'mean' } },
      ] as const
      return engine.database().createCollection({ name: precision, fields })
    }),
  )
  const rounds = Math.ceil(plan.records / together)
  // Never after the last round, so that every checkpoint is followed by records to replay.
  const cuts = new Set(Array.from({ length: plan.checkpoints }, () => plan.random.below(rounds - 1)))
  const kept: string[] = []
  for (let round = 0; round < rounds; round++) {
    await Promise.all(Array.from({ length: together }, () => write(collections, plan.random)))
    if (!cuts.has(round)) continue
    await engine.checkpoint()
    const newest = (await readdir(join(dataDir, 'checkpoints'))).sort().at(-1) as string
    await cp(join(dataDir, 'checkpoints', newest), join(dir, newest), { recursive: true })
    kept.push(newest)
  }
  const digests = digestsOf(collections)
  const records = engine.stats().lsnApplied
  await engine.close()
  return { digests, records, checkpoints: kept }
}

function write(collections: readonly Collection[], random: Random): Promise<unknown> {
  const collection = collections[random.below(collections.length)] as Collection
  const id = () => `object-${random.below(600)}`
  const tag = tags[random.below(tags.length)] as string
  const kind = random.below(20)
  if (kind === 0) return collection.delete([id(), id()])
  if (kind === 1) return collection.updateFilters([{ id: id(), filter: { tag } }])
  if (kind === 2) return collection.deleteWhere([{ tag: { $eq: tag } }, { n: { $lt: random.below(40) } }])
  const ids = new Set(Array.from({ length: 1 + random.below(6) }, id))
  const objects = [...ids].map((one) => ({
    id: one,
    meta: { n: random.below(1_000) },
    filter: { tag, n: random.below(1_000) },
    // One in four has no members.
    fields: { v: vector(random), ...(random.below(4) > 0 && { m: members(random) }) },
  }))
  return collection.upsert(objects)
}

function vector(random: Random): number[] {
  return vectorOrCopy(random, dimension)
}

function members(random: Random): number[][] {
  return Array.from({ length: 1 + random.below(4) }, () => vector(random))
}

export function digestsOf(collections: readonly Collection[]): string {
  return collections.map((collection) => `${collection.name} ${collection.stateDigest()}`).join(', ')
}
