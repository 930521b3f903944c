// Sparse fields through the engine: written, replaced, deleted, checkpointed, replayed, filtered, and searched meanwhile.
import tap, { test } from 'tap'
import { randomTerms, scoreAllRows, type Terms } from '../vector/sparse-world.ts'
import { createRandom } from '../vector/world.ts'
import { denseField, openCollection, openDirectory, openIn, sparseField } from './rig.ts'

const seed = Number(process.env.ANNAL_SEED ?? 5)
tap.comment(`ANNAL_SEED=${seed}`)

test('sparse search equals scoring every object, through churn, checkpoints, and replays', async (t) => {
  const random = createRandom(seed)
  const dataDir = await openDirectory(t)
  let engine = await openIn(t, dataDir)
  const fields = [denseField(2), sparseField(), { ...sparseField({ model: 'default' }), name: 'other' }]
  let collection = await engine.database().createCollection({ name: 'things', fields })
  const model = new Map<string, { readonly words?: Terms; readonly tag: string }>()
  for (let round = 1; round <= 60; round++) {
    const objects = Array.from({ length: 1 + Math.floor(40 * random()) }, (_, i) => {
      const words = random() < 0.8 ? { words: randomTerms(random, Math.floor(20 * random()), 200) } : {}
      return { id: `id-${Math.floor(300 * random())}-${i}`, ...words, tag: random() < 0.3 ? 'red' : 'blue' }
    })
    const dense = () => (random() < 0.5 ? { dense: [random(), random()] } : { other: { indices: [3], values: [1] } })
    await collection.upsert(
      objects.map(({ id, words, tag }) => ({ id, filter: { tag }, fields: { ...(words && { words }), ...dense() } })),
    )
    for (const { id, ...rest } of objects) model.set(id, rest)
    const gone = [...model.keys()].filter(() => random() < 0.1)
    await collection.delete(gone)
    for (const id of gone) model.delete(id)
    await check(`round ${round}`)
    if (round % 20 === 0) {
      const digest = collection.stateDigest()
      if (round === 20) await engine.checkpoint()
      await engine.close()
      engine = await openIn(t, dataDir)
      collection = engine.database().collection('things')
      t.equal(collection.stateDigest(), digest, 'the same state after a restart')
      await check(`restarted after round ${round}`)
    }
  }
  const having = [...model.values()].filter(({ words }) => words !== undefined).length
  t.equal(collection.describe().fields.find(({ name }) => name === 'words')?.elements, having)

  async function check(when: string): Promise<void> {
    const query = randomTerms(random, 1 + Math.floor(8 * random()), 200)
    for (const tag of [undefined, 'red']) {
      const ids = [...model.keys()]
      const rows = ids.flatMap((id, i) => {
        const { words, tag: own } = model.get(id)!
        return words !== undefined && (tag === undefined || own === tag) ? [[i, words] as const] : []
      })
      const truth = scoreAllRows(rows, query)
      const scores = new Map(truth.map(({ ordinal, score }) => [ids[ordinal], score]))
      const filter = tag === undefined ? {} : { filter: [{ tag: { $eq: tag } }] }
      const { results, complete } = await collection.search({ fields: { words: { query, limit: 15 } }, ...filter })
      const hits = results.words ?? []
      const sound =
        complete &&
        hits.length === Math.min(15, truth.length) &&
        hits.every(
          ({ id, similarity, distance }, i) =>
            Math.abs(similarity - (truth[i]?.score ?? 0)) < 1e-5 &&
            Math.abs(similarity - (scores.get(id) ?? Number.NaN)) < 1e-5 &&
            distance === -similarity,
        )
      if (!sound) t.fail(`${when}, tag ${tag}: ${JSON.stringify({ hits, truth: truth.slice(0, 15) })}`)
    }
  }
})

test('searches that run while objects are replaced see each object once, old or new', async (t) => {
  const collection = await openCollection(t, [sparseField()])
  const objects = (weight: number) =>
    Array.from({ length: 200 }, (_, i) => ({
      id: `${i}`,
      meta: { weight },
      fields: { words: { indices: [1, 10 + i], values: [weight, 1] } },
    }))
  await collection.upsert(objects(1))
  for (let weight = 2; weight < 40; weight++) {
    const writing = collection.upsert(objects(weight))
    const query = { indices: [1], values: [1] }
    for (let i = 0; i < 3; i++) {
      const { results } = await collection.search({ fields: { words: { query, limit: 500 } } })
      const seen = new Set(results.words?.map(({ similarity }) => similarity))
      t.equal(results.words?.length, 200)
      t.equal(seen.size, 1, 'one version')
      t.ok(
        results.words?.every(({ meta, similarity }) => meta?.weight === similarity),
        'meta of the same version',
      )
    }
    await writing
  }
})

test('a hit of a sparse field has the norm and, if requested, the vector of the first dense field', async (t) => {
  const collection = await openCollection(t, [sparseField(), denseField(2, { space_type: 'cosine' })])
  await collection.upsert([
    { id: 'both', fields: { dense: [3, 4], words: { indices: [7], values: [2] } } },
    { id: 'words', fields: { words: { indices: [7], values: [1] } } },
  ])
  const query = { indices: [7], values: [1] }
  const { results } = await collection.search({ fields: { words: { query } }, includeVectors: true })
  const [both, words] = results.words ?? []
  t.match([both?.id, both?.norm, both?.similarity, words?.id, words?.norm], ['both', 5, 2, 'words', 1])
  t.same(both?.vector?.map(Math.round), [3, 4])
  t.equal(words?.vector, undefined)
})

test('indices up to 2^32 - 1 are accepted, others and malformed queries are rejected', async (t) => {
  const collection = await openCollection(t, [sparseField(), { ...sparseField({ dimension: 10 }), name: 'small' }])
  await collection.upsert([{ id: 'a', fields: { words: { indices: [2 ** 32 - 1, 0], values: [1, 2] } } }])
  const found = await collection.search({ fields: { words: { query: { indices: [2 ** 32 - 1], values: [3] } } } })
  t.equal(found.results.words?.[0]?.similarity, 3)
  const refused = (field: string, query: object) =>
    t.rejects(collection.search({ fields: { [field]: { query: query as never } } }), { code: 'invalid_argument' })
  await refused('small', { indices: [10], values: [1] })
  await refused('words', { indices: [2 ** 32], values: [1] })
  await refused('words', { indices: [1, 1], values: [1, 2] })
  await refused('words', { indices: [1], values: [Number.NaN] })
  await refused('words', { indices: [1], values: [1, 2] })
  await refused('words', [1, 2])
})
