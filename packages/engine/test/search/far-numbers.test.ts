// Numbers at the limits of what is accepted: accepted numbers are returned, have finite similarities, and never show -0.
import { inspect } from 'node:util'
import fc from 'fast-check'
import { test } from 'tap'
import { denseField, openCollection, sparseField } from './rig.ts'

const seed = Number(process.env.ANNAL_SEED ?? Date.now() % 1_000_000)
const precisions = ['binary', 'int2', 'int4', 'int8', 'int16', 'float16', 'float32'] as const
const minusZero = /(?<![\w.])-0(?![.\d])/
const spaces = ['cosine', 'l2', 'ip'] as const

const collectionsFields = spaces.map((space_type) =>
  precisions.map((precision) => ({
    name: `${space_type}_${precision}`,
    type: 'vector' as const,
    params: { dimension: 2, spaceType: space_type, precision },
  })),
)

test('vectors whose length or distance exceeds the range of float32 are rejected with the field name', async (t) => {
  const collection = await openCollection(t, [
    { name: 'cosine', type: 'vector', params: { dimension: 2, space_type: 'cosine' } },
    { name: 'l2', type: 'vector', params: { dimension: 2, space_type: 'l2' } },
    { name: 'ip', type: 'vector', params: { dimension: 2, space_type: 'ip' } },
    { name: 'multi', type: 'multi_vector', params: { dimension: 2, space_type: 'ip' } },
    sparseField(),
  ])
  const far = [2e38, 3e38]
  for (const [name, value] of [
    ['cosine', far],
    ['cosine', { vector: [1, 0], norm: 2e38 }],
    ['l2', [1e30, 0]],
    ['ip', [0, -1e30]],
    [
      'multi',
      [
        [1, 0],
        [1e30, 0],
      ],
    ],
    ['words', { indices: [1, 2], values: [1, 1e30] }],
  ] as const) {
    await t.rejects(collection.upsert([{ id: 'a', fields: { [name]: value } }]), {
      code: 'limit_exceeded',
      details: { field: new RegExp(`^objects\\[0\\].fields.${name}`) },
    })
    if ('norm' in value) continue
    await t.rejects(collection.search({ fields: { [name]: { query: value } } }), { code: 'limit_exceeded' })
  }
  t.equal(collection.count().count, 0)
})

for (const fields of collectionsFields) {
  test(`${fields[0]?.name}: accepted vectors are returned finite and have finite similarities (seed ${seed})`, async (t) => {
    const most = Math.fround(7e17)
    const number = fc.oneof(
      fc.constantFrom(0, -0, 1e-45, 1e-30, 1e5, most, -most),
      fc.float({ noNaN: true, min: -most, max: most }),
    )
    const vector = fc.tuple(number, number)
    const samples = fc.sample(fc.tuple(vector, vector), { seed, numRuns: 30 })
    const collection = await openCollection(t, fields)
    await collection.upsert(
      samples.map(([stored], i) => ({
        id: `${i}`,
        fields: Object.fromEntries(fields.map(({ name }) => [name, stored])),
      })),
    )
    const wrong: string[] = []
    for (const [, query] of samples) {
      const queries = Object.fromEntries(fields.map(({ name }) => [name, { query, limit: 30 }]))
      for (const rescore of [false, true]) {
        const { results } = await collection.search({ fields: queries, includeVectors: true, rescore })
        for (const [name, hits] of Object.entries(results)) {
          for (const { id, similarity, distance, norm, vector = [] } of hits) {
            const shown = [similarity, distance, norm, ...vector]
            if (!shown.every((x) => Number.isFinite(x))) wrong.push(`${name} ${id}: ${shown}`)
          }
        }
      }
    }
    t.strictSame(wrong, [])
  })

  test(`${fields[0]?.name}: zero vectors show no -0`, async (t) => {
    const collection = await openCollection(t, fields)
    await collection.upsert([{ id: 'zero', fields: Object.fromEntries(fields.map(({ name }) => [name, [0, 0]])) }])
    const queries = Object.fromEntries(fields.map(({ name }) => [name, { query: [0, 0] }]))
    const { results } = await collection.search({ fields: queries, includeVectors: true })
    for (const [name, hits] of Object.entries(results)) {
      t.equal(hits.length, 1)
      t.notMatch(inspect(hits[0]?.toJSON(), { depth: 9 }), minusZero, name)
    }
    const [object] = await collection.getMany(['zero'])
    t.notMatch(inspect(object?.dense, { depth: 9 }), minusZero)
  })
}

test('JSON of a stored object has all its fields', async (t) => {
  const collection = await openCollection(t, [
    denseField(2),
    sparseField(),
    { name: 'multi', type: 'multi_vector', params: { dimension: 2, space_type: 'ip' } },
  ])
  const fields = {
    dense: [1, 2],
    words: { indices: [3, 9], values: [0.5, 2] },
    multi: [
      [1, 0],
      [0, 1],
    ],
  }
  await collection.upsert([{ id: 'a', fields }])
  t.match(JSON.parse(JSON.stringify(await collection.getMany(['a']))), [{ id: 'a', fields }])
})
