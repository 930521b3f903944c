// Vectors that are made of texts by functions of the host program: what is stored, what is searched, and what happens when they fail.
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Test, test } from 'tap'
import {
  type Collection,
  type EmbedFunction,
  type EmbedProvider,
  type Engine,
  EngineError,
  openEngine,
} from '../../src/index.ts'

const dimension = 3
type Embed = Readonly<Record<string, EmbedFunction | EmbedProvider>>

/** A vector that says how long a text is, and how often it has an `a` and an `e`. */
function vectorOf(text: string): number[] {
  const count = (letter: string) => text.split(letter).length - 1
  return [text.length, count('a'), count('e')]
}

interface Calls {
  readonly embed: EmbedProvider
  readonly made: { readonly texts: readonly string[]; readonly purpose: string; readonly model: string | undefined }[]
}

function counting(model?: string): Calls {
  const made: Calls['made'] = []
  const embed: EmbedFunction = async (texts, { purpose, model: of }) => {
    made.push({ texts: [...texts], purpose, model: of })
    return texts.map(vectorOf)
  }
  return { embed: { embed, dimension, ...(model !== undefined && { model }) }, made }
}

function newDir(t: Test): string {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'annal-embed-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

const fields = [
  { name: 'body', type: 'text', params: { language: 'english' } },
  { name: 'v', type: 'vector', params: { dimension, spaceType: 'l2', embed: { provider: 'p', from: 'body' } } },
] as const

async function opened(t: Test, embed: Embed, dataDir = newDir(t)): Promise<{ engine: Engine; collection: Collection }> {
  const engine = await openEngine({ dataDir, threads: 1, embed })
  t.teardown(() => engine.close())
  const database = engine.database()
  const has = database.collections().some(({ name }) => name === 'c')
  const collection = has ? database.collection('c') : await database.createCollection({ name: 'c', fields })
  return { engine, collection }
}

async function failureOf(call: Promise<unknown>): Promise<EngineError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof EngineError) return error
  throw new Error(`expected an error of the engine, got ${String(error)}`)
}

async function vectorsOf(collection: Collection): Promise<Record<string, number[] | undefined>> {
  const { objects } = await collection.scroll({ limit: 100 })
  const stored = await collection.getMany(objects.map(({ id }) => id))
  return Object.fromEntries(stored.map(({ id, dense }) => [id, dense.v && Array.from(dense.v.vector)]))
}

test('objects with a text get vectors in one call, and given vectors stay', async (t) => {
  const { embed, made } = counting('words-1')
  const { collection } = await opened(t, { p: embed })
  await collection.upsert([
    { id: 'a', fields: { body: 'a text' } },
    { id: 'b', fields: { body: 'given', v: [1, 2, 3] } },
    { id: 'c', fields: { body: 'eee' } },
    { id: 'd', fields: { v: [4, 5, 6] } },
    { id: 'e', fields: { body: '  \n ' } },
    { id: 'f', fields: { body: 'aa' } },
  ])
  t.strictSame(made, [{ texts: ['a text', 'eee', 'aa'], purpose: 'store', model: 'words-1' }])
  t.strictSame(await vectorsOf(collection), {
    a: [6, 1, 1],
    b: [1, 2, 3],
    c: [3, 0, 3],
    d: [4, 5, 6],
    e: undefined,
    f: [2, 2, 0],
  })
  const found = await collection.search({ fields: { v: { query: { text: 'aa' }, limit: 1 } } })
  t.strictSame([found.results.v?.[0]?.id, made[1]?.purpose, made[1]?.texts], ['f', 'query', ['aa']])
  const field = collection.describe().fields[1]
  t.strictSame(field?.kind === 'dense' && field.params.embed, { provider: 'p', from: 'body', model: 'words-1' })
})

test('a batch makes one call for each field, and hybrid searches mix texts and words', async (t) => {
  const { embed, made } = counting()
  const { collection } = await opened(t, { p: embed })
  await collection.upsert([
    { id: 'a', fields: { body: 'apple pie' } },
    { id: 'b', fields: { body: 'elephant seen' } },
  ])
  const batch = await collection.searchBatch([
    { fields: { v: { query: { text: 'apple pie' }, limit: 1 } } },
    { fields: { v: { query: [13, 1, 4], limit: 1 } } },
    { fields: { v: { query: { text: 'elephant seen' } }, body: { query: 'apple' } }, fusion: { method: 'rrf' } },
  ])
  t.strictSame(made[1]?.texts, ['apple pie', 'elephant seen'])
  t.strictSame([batch[0]?.results.v?.[0]?.id, batch[1]?.results.v?.[0]?.id], ['a', 'b'])
  t.equal(batch[2]?.fused?.length, 2)
  t.equal(batch[2]?.results.body?.[0]?.id, 'a')
})

test('a replay, a rebuild, and a clone make the same state and call nobody', async (t) => {
  const dataDir = newDir(t)
  const { embed, made } = counting('words-1')
  const first = await opened(t, { p: embed }, dataDir)
  const objects = Array.from({ length: 40 }, (_, i) => ({
    id: `o${i}`,
    fields: i % 3 === 0 ? { body: 'given', v: [i, 1, 1] } : { body: `text ${'ae'.repeat(i)}` },
  }))
  await first.collection.upsert(objects)
  await first.engine.database().backups.clone('c', 'd')
  await first.collection.rebuild()
  const digest = first.collection.stateDigest()
  const before = await vectorsOf(first.collection)
  await first.engine.close()
  t.equal(made.length, 1)

  const second = await opened(t, {}, dataDir)
  t.equal(second.collection.stateDigest(), digest)
  t.strictSame(await vectorsOf(second.collection), before)
  const clone = second.engine.database().collection('d')
  t.strictSame(await vectorsOf(clone), before)
  for (const one of [second.collection, clone]) {
    const field = one.describe().fields[1]
    t.strictSame(field?.kind === 'dense' && field.params.embed, { provider: 'p', from: 'body', model: 'words-1' })
    const refused = await failureOf(one.upsert([{ id: 'x', fields: { body: 'text' } }]))
    t.match(refused, { code: 'embedding_unavailable', details: { field: 'v', value: 'p' } })
    t.match(await failureOf(one.search({ fields: { v: { query: { text: 'x' } } } })), { code: 'embedding_unavailable' })
    await one.upsert([{ id: 'x', fields: { body: 'text', v: [1, 1, 1] } }])
    t.strictSame((await vectorsOf(one)).x, [1, 1, 1])
  }
  await second.engine.close()

  const other = await opened(t, { p: counting('words-2').embed }, dataDir)
  const refused = await failureOf(other.collection.upsert([{ id: 'y', fields: { body: 'text' } }]))
  t.match(refused, { code: 'embedding_unavailable', message: /words-1.*words-2/ })
})

test('nothing is stored when a text has no vector, and the error names the objects', async (t) => {
  const bad: {
    readonly name: string
    readonly embed: EmbedFunction
    readonly reason: RegExp
    readonly ids: string[]
  }[] = [
    { name: 'rejects', embed: async () => Promise.reject(new Error('gone')), reason: /^gone$/, ids: ['a', 'b'] },
    { name: 'half', embed: async (texts) => texts.slice(1).map(vectorOf), reason: /1 vectors for 2/, ids: ['a', 'b'] },
    { name: 'short', embed: async (texts) => texts.map(() => [1, 2]), reason: /2 numbers.*has 3/, ids: ['a', 'b'] },
    { name: 'nan', embed: async (texts) => texts.map(() => [1, Number.NaN, 2]), reason: /finite/, ids: ['a', 'b'] },
    {
      name: 'one',
      embed: async (texts) => texts.map((text) => (text === 'two' ? new Error('too long') : vectorOf(text))),
      reason: /^too long$/,
      ids: ['b'],
    },
    // A function of a host program can return anything.
    {
      name: 'nothing',
      embed: (async () => undefined) as unknown as EmbedFunction,
      reason: /no vectors/,
      ids: ['a', 'b'],
    },
  ]
  for (const { name, embed, reason, ids } of bad) {
    const { collection } = await opened(t, { p: embed })
    const objects = [
      { id: 'a', fields: { body: 'one' } },
      { id: 'b', fields: { body: 'two' } },
      { id: 'c', fields: { body: 'given', v: [1, 2, 3] } },
    ]
    const error = await failureOf(collection.upsert(objects))
    t.equal(error.code, 'embedding_failed', name)
    t.equal(error.details.field, 'v')
    const items = error.details.items as { readonly id: string; readonly reason: string }[]
    t.strictSame(
      items.map(({ id }) => id),
      ids,
    )
    t.match(items[0]?.reason, reason)
    t.equal(collection.describe().objects, 0)
    t.equal((await failureOf(collection.upsert(objects, { atomic: true }))).code, 'embedding_failed')
    t.equal(collection.describe().objects, 0)
    const query = await failureOf(collection.search({ fields: { v: { query: { text: 'two' } } } }))
    t.equal(query.code, 'embedding_failed')
  }
})

test('a conditional write says for each object what became of it', async (t) => {
  const embed: EmbedFunction = async (texts) =>
    texts.map((text) => (text.startsWith('bad') ? new EngineError('embedding_timeout', 'too slow') : vectorOf(text)))
  const { collection } = await opened(t, { p: embed })
  await collection.upsert([{ id: 'old', fields: { body: 'here' } }])
  const { results, upserted } = await collection.upsert([
    { id: 'new', fields: { body: 'good' }, ifAbsent: true },
    { id: 'old', fields: { body: 'other' }, ifAbsent: true },
    { id: 'lost', fields: { body: 'bad' }, ifAbsent: true },
  ])
  t.equal(upserted, 1)
  t.match(results, [
    { id: 'new', status: 'ok' },
    { id: 'old', status: 'conflict' },
    { id: 'lost', status: 'error', lsn: 0, error: { code: 'embedding_timeout', message: 'too slow' } },
  ])
  t.strictSame(Object.keys(await vectorsOf(collection)).sort(), ['new', 'old'])
})

test('other writes and searches go on while a provider is slow', async (t) => {
  let answer: (() => void) | undefined
  let isCalled: (() => void) | undefined
  const called = new Promise<void>((resolve) => {
    isCalled = resolve
  })
  const embed: EmbedFunction = async (texts) => {
    isCalled?.()
    await new Promise<void>((resolve) => {
      answer = resolve
    })
    return texts.map(vectorOf)
  }
  const { collection } = await opened(t, { p: embed })
  const slow = collection.upsert([{ id: 'slow', fields: { body: 'waits' } }])
  const conditional = collection.upsert([{ id: 'other', fields: { body: 'given', v: [1, 1, 1] }, ifAbsent: true }])
  await called
  await conditional
  await collection.upsert([{ id: 'fast', fields: { body: 'given', v: [1, 2, 3] } }])
  await collection.rebuild()
  t.strictSame(Object.keys(await vectorsOf(collection)).sort(), ['fast', 'other'])
  answer?.()
  await slow
  t.strictSame(Object.keys(await vectorsOf(collection)).sort(), ['fast', 'other', 'slow'])
})

test('a repetition with a request key calls nobody', async (t) => {
  const { embed, made } = counting()
  const { collection } = await opened(t, { p: embed })
  const objects = [{ id: 'a', fields: { body: 'one' } }]
  const first = await collection.upsert(objects, { requestKey: 'k' })
  const again = await collection.upsert(objects, { requestKey: 'k' })
  t.equal(again.lsn, first.lsn)
  t.equal(made.length, 1)
  const other = [{ id: 'a', fields: { body: 'two' } }]
  t.equal((await failureOf(collection.upsert(other, { requestKey: 'k' }))).code, 'request_key_reused')
  t.equal(made.length, 1)
})

test('a failed write leaves its request key free', async (t) => {
  let fails = true
  const embed: EmbedFunction = async (texts) => {
    if (fails) throw new Error('gone')
    return texts.map(vectorOf)
  }
  const { collection } = await opened(t, { p: embed })
  const objects = [{ id: 'a', fields: { body: 'one' } }]
  t.equal((await failureOf(collection.upsert(objects, { requestKey: 'k' }))).code, 'embedding_failed')
  fails = false
  t.equal((await collection.upsert(objects, { requestKey: 'k' })).upserted, 1)
})

test('definitions, queries, and options that make no sense are refused before any call', async (t) => {
  const { embed, made } = counting('words-1')
  const { engine, collection } = await opened(t, { p: embed, q: async (texts) => texts.map(vectorOf) })
  const database = engine.database()
  const body = { name: 'body', type: 'text' }
  const create = (params: object, more: object[] = [body], type = 'vector') =>
    // Definitions that the types do not allow.
    failureOf(database.createCollection({ name: 'x', fields: [...more, { name: 'v', type, params }] } as never))
  const given = (more: object) => ({ dimension, embed: { provider: 'p', from: 'body', ...more } })
  t.match(await create(given({ provider: 'z' })), {
    code: 'embedding_unavailable',
    details: { value: 'z', limit: ['p', 'q'] },
  })
  t.match(await create(given({ from: 'w' })), {
    code: 'invalid_argument',
    details: { field: 'fields[1].params.embed.from' },
  })
  t.match(await create(given({}), []), { code: 'invalid_argument', details: { field: 'fields[0].params.embed.from' } })
  t.match(await create(given({ url: 'http://10.0.0.1/' })), { code: 'invalid_argument', message: /url/ })
  t.match(await create(given({ model: 'words-2' })), { code: 'invalid_argument', details: { limit: 'words-1' } })
  t.match(await create(given({ model: '' })), { code: 'invalid_argument' })
  t.match(await create({ ...given({}), dimension: 4 }), { code: 'invalid_argument', details: { value: 4, limit: 3 } })
  t.match(await create(given({}), [body], 'multi_vector'), {
    code: 'invalid_argument',
    message: /only a field of type/,
  })
  t.equal(database.collections().length, 1)

  const search = (query: unknown, field = 'v', more: object = {}) =>
    failureOf(collection.search({ fields: { [field]: { query } }, ...more } as never))
  t.match(await search({ text: '' }), { code: 'invalid_argument' })
  t.match(await search({ text: 1 }), { code: 'invalid_argument' })
  t.match(await search({ text: 'a', ef: 3 }), { code: 'invalid_argument' })
  t.match(await search({ text: 'a'.repeat(131_073) }), { code: 'limit_exceeded', details: { limit: 131_072 } })
  t.match(await search({ text: 'a' }, 'body'), { code: 'invalid_argument' })
  t.match(await search({ text: 'a' }, 'w'), { code: 'field_not_found' })
  t.match(await search({ text: 'a' }, 'v', { filter: [{ x: { $near: 1 } }] }), { code: 'invalid_filter' })
  t.equal(made.length, 0)
  const wrong = await failureOf(openEngine({ dataDir: newDir(t), embed: { p: 'http://127.0.0.1' as never } }))
  t.match(wrong, { code: 'invalid_argument', details: { field: 'embed.p' } })
})

test('texts search the past', async (t) => {
  const { embed } = counting()
  const dataDir = newDir(t)
  const archive = { maxBytes: 1e9, maxAgeMs: 3_600_000 }
  const engine = await openEngine({ dataDir, threads: 1, embed: { p: embed }, archive })
  t.teardown(() => engine.close())
  const collection = await engine.database().createCollection({ name: 'c', fields })
  const { lsn } = await collection.upsert([{ id: 'a', fields: { body: 'aa' } }])
  await collection.upsert([{ id: 'b', fields: { body: 'aa' } }])
  const found = await collection.search({ fields: { v: { query: { text: 'aa' } } }, asOf: { lsn } })
  t.strictSame(
    found.results.v.map(({ id }) => id),
    ['a'],
  )
})

test('an engine lists its providers by name, without their functions', async (t) => {
  const embed: EmbedFunction = async (texts) => texts.map(vectorOf)
  const { engine } = await opened(t, { q: embed, p: { embed, model: 'm', dimension } })
  t.strictSame(engine.providers(), [
    { name: 'p', model: 'm', dimension },
    { name: 'q', model: undefined, dimension: undefined },
  ])
})
