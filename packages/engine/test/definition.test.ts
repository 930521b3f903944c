// Collections by definition: the fields that the compiler assumes are compared with the stored collection.
import { type CollectionDefinition, defineCollection } from '@annal/engine'
import { test } from 'tap'
import { openDirectory, openIn } from './search/rig.ts'

const films = defineCollection({
  name: 'films',
  fields: [
    {
      name: 'plot',
      type: 'vector',
      params: { dimension: 3, spaceType: 'l2', precision: 'float32', M: 8, efConstruction: 32 },
    },
    { name: 'words', type: 'sparse', params: { model: 'endee_bm25' } },
    { name: 'frames', type: 'multi_vector', params: { dimension: 2, pooling: 'max' } },
  ],
})

test('a definition in camelCase sets every parameter, and one in snake_case sets the same', async (t) => {
  const engine = await openIn(t, await openDirectory(t))
  const database = engine.database()
  const made = await database.createCollection(films)
  const earlier = await database.createCollection({
    name: 'earlier',
    fields: [
      {
        name: 'plot',
        type: 'vector',
        params: { dimension: 3, space_type: 'l2', precision: 'float32', M: 8, ef_con: 32 },
      },
      { name: 'words', type: 'sparse', sparse_model: 'endee_bm25' },
      { name: 'frames', type: 'multi_vector', params: { dimension: 2, pooling: 'max' } },
    ],
  })
  t.match(made.describe().fields, [
    { kind: 'dense', params: { dimension: 3, spaceType: 'l2', precision: 'float32', M: 8, efConstruction: 32 } },
    { kind: 'sparse', params: { model: 'endee_bm25' } },
    { kind: 'multi', params: { dimension: 2, spaceType: 'cosine', pooling: 'max' } },
  ])
  t.same(earlier.describe().fields, made.describe().fields)
})

test('a collection opens with a definition of its fields only', async (t) => {
  const engine = await openIn(t, await openDirectory(t))
  const database = engine.database()
  t.throws(() => database.collection(films), { code: 'collection_not_found' })
  await database.createCollection(films)
  const opened = database.collection(films).withMetadata<{ title: string }>()
  await opened.upsert([{ id: 'alien', meta: { title: 'Alien' }, fields: { plot: [1, 2, 3] } }])
  const { results } = await opened.search({ fields: { plot: { query: [1, 2, 3] } } })
  t.equal(results.plot[0]?.id, 'alien')
  const [plot, words] = films.fields
  const same: readonly CollectionDefinition[] = [
    { name: 'films', fields: [words] },
    { name: 'films', fields: [{ ...plot, params: { ...plot.params, M: 99, efConstruction: 99 } }] },
  ]
  for (const definition of same) t.equal(database.collection(definition).name, 'films')
  const wrong: readonly [CollectionDefinition['fields'][number], string, string][] = [
    [{ name: 'summary', type: 'sparse' }, 'field_not_found', 'fields[0].name'],
    [{ name: 'plot', type: 'sparse' }, 'invalid_argument', 'fields[0].type'],
    [{ ...plot, params: { ...plot.params, dimension: 4 } }, 'invalid_argument', 'fields[0].params.dimension'],
    [{ ...plot, params: { dimension: 3 } }, 'invalid_argument', 'fields[0].params.space_type'],
    [{ ...plot, params: { dimension: 1 } }, 'limit_exceeded', 'fields[0].params.dimension'],
  ]
  for (const [field, code, path] of wrong) {
    t.throws(() => database.collection({ name: 'films', fields: [field] }), { code, details: { field: path } }, path)
  }
})
