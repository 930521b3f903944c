// "If at least k objects match, k results are returned": random filters over random objects that are inserted, replaced, and deleted, in a
// single graph and in several segments, in plain and multi-vector fields. Every hit must match, none may be repeated, and similarities must
// be those of the objects. ANNAL_LONG=1 runs 10,000 filters for each.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Filter, FilterValues } from '@annal/engine'
import { nodeVfs } from '@annal/wal'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import fc from 'fast-check'
import tap, { test } from 'tap'
import { FilterIndex } from '../../src/filter/filter-index.ts'
import { parseFilterValues, parseNewFilterValues } from '../../src/filter/values.ts'
import { parseObjects } from '../../src/input/objects.ts'
import { limitsDefault } from '../../src/limits.ts'
import type { JsonObject } from '../../src/model/json.ts'
import type { FieldValue, ObjectInput } from '../../src/model/object.ts'
import { type DenseFieldSchema, type FieldSchema, graphField } from '../../src/model/schema.ts'
import { Originals } from '../../src/originals/originals.ts'
import { originalsOwner } from '../../src/originals/originals-owner.ts'
import { ObjectStore } from '../../src/replica/object-store.ts'
import { Ordinals } from '../../src/replica/ordinals.ts'
import { Replica } from '../../src/replica/replica.ts'
import { TextTerms } from '../../src/replica/text-terms.ts'
import { parseSearch } from '../../src/search/request.ts'
import { search } from '../../src/search/search.ts'
import { openDenseField } from '../../src/vector/dense/field.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { filter as anyFilter, values as anyValues } from '../filter/arbitrary.ts'
import { holds } from '../filter/naive.ts'
import { hashSeed } from '../memory/rig.ts'

const seed = chosenSeed()
const filters = process.env.ANNAL_LONG === '1' ? 10_000 : 600
const objectsMost = 1_500
const dimension = 6
const name = 'v'

tap.setTimeout(3_600_000)
const pool = await openWorkerPool({ threads: 2 })
tap.teardown(() => pool.close())

const params = { dimension, spaceType: 'l2', precision: 'float32', M: 6, efConstruction: 24 } as const
const plain: FieldSchema = { kind: 'dense', name, params }
const several: FieldSchema = { kind: 'multi', name, params: { ...params, pooling: 'mean' } }

interface Stored {
  readonly filter: JsonObject
  /** Members; undefined for an object without the field. */
  readonly rows: readonly (readonly number[])[] | undefined
}

for (const [label, field, segmentRows] of [
  ['one graph', plain, undefined],
  ['graphs of 320 ordinals', plain, 320],
  ['members', several, 320],
] as const) {
  test(`${label}: ${filters} filters, k results if k objects match, seed ${seed}`, async (t) => {
    const dir = await mkdtemp(join(tmpdir(), 'annal-enough-'))
    const random = seededRandom(seed)
    const replica = await replicaOf(field, dir, segmentRows)
    const world = new Map<string, Stored>()
    const samples = fc.sample(fc.tuple(anyFilter, fc.boolean()), { seed: seed | 0, numRuns: filters })
    const valueSamples = fc.sample(anyValues.filter(isNew), { seed: seed | 0, numRuns: 4_000 })
    let [walks, queries] = [0, 0]
    for (const [index, [randomFilter, every]] of samples.entries()) {
      if (index % 40 === 0) await change(replica, world, random, valueSamples)
      const asking = every && index % 3 === 0 ? [] : randomFilter
      const query = Array.from({ length: field.kind === 'multi' ? 1 + random.below(3) : 1 }, () => rowOf(random))
      const limit = 1 + random.below(index % 5 === 0 ? 400 : 12)
      // A small pool, and in half of the searches a threshold that every object exceeds, so that the walk must deliver.
      const ef = 1 + random.below(40)
      const threshold = random.below(2) === 0 ? {} : { prefilterThreshold: 0 }
      const request = {
        fields: { [name]: { query: field.kind === 'multi' ? query : (query[0] as number[]), limit, ef } },
        // Random filters are JSON; some of them are rejected.
        filter: asking as unknown as Filter,
        filterBoostPercentage: random.below(101),
        explain: true,
      }
      const { results, complete, explain } = await search(replica, {
        ...parseSearch(request, replica.definition, limitsDefault),
        ...threshold,
      })
      const hits = results[name] ?? []
      const eligible = [...world].filter(([, it]) => it.rows && holds(asking, it.filter))
      const wrong = hits.filter(({ id, similarity }) => {
        const it = world.get(id)
        return !it?.rows || !holds(asking, it.filter) || Math.abs(similarity - score(query, it.rows)) > 1e-4
      })
      const ordered = hits.every((hit, i) => i === 0 || hit.similarity <= (hits[i - 1]?.similarity ?? 0))
      const once = new Set(hits.map(({ id }) => id)).size === hits.length
      const enough = hits.length === Math.min(limit, eligible.length)
      if (!enough || !complete || !ordered || !once || wrong.length > 0) {
        t.fail(
          `filter ${index} ${JSON.stringify(asking)}: ${hits.length} of ${eligible.length}, limit ${limit}, ef ${ef}, ${JSON.stringify({ complete, ordered, once, wrong: wrong.length, plan: explain?.fields[name] })}`,
        )
        break
      }
      if (explain?.fields[name]?.plan === 'walk') walks++
      queries++
    }
    t.ok(queries === filters && walks > filters / 10, `${walks} of ${queries} were walks`)
    await replica.remove()
    await rm(dir, { recursive: true })
  })
}

async function replicaOf(field: FieldSchema, dir: string, segmentRows: number | undefined): Promise<Replica> {
  const definition = { name: 'c', fields: [field] }
  const graph = graphField(field) as DenseFieldSchema
  const owner = originalsOwner(1, definition, 0, 0)
  return new Replica({
    id: 1,
    definition,
    objects: ObjectStore.empty(hashSeed),
    filters: new FilterIndex(hashSeed),
    terms: await TextTerms.empty(hashSeed, definition),
    dense: [await openDenseField(graph, pool, segmentRows === undefined ? {} : { segmentRows })],
    sparse: [undefined],
    originals: [
      owner && new Originals({ vfs: nodeVfs(), dir, directory: () => '00000000-0000-4000-8000-000000000001' }, owner),
    ],
    ordinals: new Ordinals(),
    generation: 0,
    version: 0,
    lsnApplied: 0,
    lsnCreated: 0,
  })
}

/** Inserts, replaces, or deletes some objects; one in ten has filter values and no vector. */
async function change(
  replica: Replica,
  world: Map<string, Stored>,
  random: Random,
  samples: readonly JsonObject[],
): Promise<void> {
  const lsn = replica.lsnApplied + 1
  const base = { timeMs: 0, collectionId: 1 }
  if (world.size > objectsMost || (world.size > 300 && random.below(3) === 0)) {
    const ids = [...world.keys()].filter(() => random.below(4) === 0)
    await replica.apply(lsn, { ...base, kind: 'objects-deleted', ids })
    for (const id of ids) world.delete(id)
    return
  }
  const several = replica.definition.fields[0]?.kind === 'multi'
  const fresh = new Map<string, Stored>()
  for (let i = 0; i < 240; i++) {
    const { values } = parseFilterValues(parseFilterValues(samples[random.below(samples.length)] as JsonObject).text)
    const rows = Array.from({ length: several ? 1 + random.below(3) : 1 }, () => rowOf(random))
    fresh.set(`${random.below(3_000)}`, { filter: values, rows: random.below(10) === 0 ? undefined : rows })
  }
  const inputs = [...fresh].map(([id, { filter, rows }]) => {
    const value: FieldValue | undefined = several ? rows : rows?.[0]
    return { id, filter: filter as FilterValues, fields: { [name]: value } as ObjectInput['fields'] }
  })
  const { columns } = await parseObjects(inputs, replica.definition, limitsDefault)
  await replica.apply(lsn, { ...base, kind: 'objects-upserted', ...columns })
  for (const [id, stored] of fresh) world.set(id, stored)
}

/** Whether an upsert accepts the values, whose numbers may be too large to be exact. */
function isNew(values: JsonObject): boolean {
  try {
    return parseNewFilterValues(values) !== undefined
  } catch {
    return false
  }
}

function rowOf(random: Random): number[] {
  return Array.from({ length: dimension }, () => Math.fround(random.next()))
}

function score(query: readonly (readonly number[])[], rows: readonly (readonly number[])[]): number {
  const near = (a: readonly number[], b: readonly number[]) =>
    -a.reduce((sum, x, i) => sum + (x - (b[i] as number)) ** 2, 0)
  return query.reduce((sum, q) => sum + Math.max(...rows.map((row) => near(q, row))), 0) / query.length
}
