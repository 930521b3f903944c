// Engines on directories of their own, and collections of every kind with something in them.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Collection,
  type Database,
  type DenseFieldDefinition,
  type Engine,
  type EngineOptions,
  type FieldSchema,
  openEngine,
  type Precision,
  type SpaceType,
} from '@annal/engine'
import type { Random } from '@annal/wal/testing'
import { vectorOrCopy } from '../vector-or-copy.ts'

interface Teardown {
  teardown(fn: () => Promise<void>): unknown
}

export async function temporaryDirectory(t: Teardown): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-backup-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  return dir
}

export async function openedEngine(
  t: Teardown,
  options: Partial<EngineOptions> = {},
): Promise<Engine & { readonly dataDir: string }> {
  const dataDir = options.dataDir ?? (await temporaryDirectory(t))
  const engine = await openEngine({ threads: 1, ...options, dataDir })
  t.teardown(() => engine.close())
  return Object.assign(engine, { dataDir })
}

export const precisions = ['binary', 'int2', 'int4', 'int8', 'int16', 'float16', 'float32'] as const
export const spaceTypes = ['cosine', 'l2', 'ip'] as const
export const dimension = 8

export function denseField(
  name = 'v',
  precision: Precision = 'int8',
  spaceType: SpaceType = 'cosine',
): DenseFieldDefinition {
  return { name, type: 'vector', params: { dimension, spaceType, precision, M: 4, efConstruction: 16 } }
}

/** Writes, replaces, deletes, now and then a rebuild: everything that can be in a log. */
export async function runRandomLife(collection: Collection, random: Random, steps: number): Promise<void> {
  const fields = collection.describe().fields
  const id = () => `o${random.below(200)}`
  for (let step = 0; step < steps; step++) {
    const kind = random.below(12)
    if (kind === 0) await collection.delete([id(), id()])
    else if (kind === 1) await collection.updateFilters([{ id: id(), filter: { n: random.below(9) } }])
    else if (kind === 2)
      await collection.deleteWhere([{ n: { $eq: random.below(9) } }, { m: { $eq: random.below(3) } }])
    else if (kind === 3 && random.below(4) === 0) await collection.rebuild()
    else {
      const ids = new Set(Array.from({ length: 1 + random.below(8) }, id))
      await collection.upsert(
        [...ids].map((one) => ({
          id: one,
          meta: { n: random.below(1_000) },
          filter: { n: random.below(9), m: random.below(3) },
          fields: Object.fromEntries(fields.map(({ name, kind }) => [name, someValue(kind, random)])),
        })),
      )
    }
  }
}

export function someVector(random: Random): number[] {
  return vectorOrCopy(random, dimension)
}

function someValue(kind: FieldSchema['kind'], random: Random) {
  if (kind === 'sparse') return someTerms(random)
  if (kind === 'dense') return someVector(random)
  return Array.from({ length: 1 + random.below(3) }, () => someVector(random))
}

function someTerms(random: Random) {
  const indices = [...new Set(Array.from({ length: 1 + random.below(5) }, () => random.below(50)))].sort(
    (a, b) => a - b,
  )
  return { indices, values: indices.map(() => random.next() + 0.01) }
}

/** Makes a backup and waits until it is there. */
export async function backedUp(database: Database, collection: string, name: string): Promise<void> {
  await database.backups.create(collection, name)
  await database.backups.settled()
  const { status, error } = database.backups.status()
  if (status !== 'completed') throw new Error(`the backup is ${status}: ${error}`)
}
