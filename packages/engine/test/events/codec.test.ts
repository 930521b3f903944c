import { readFile } from 'node:fs/promises'
import { chosenSeed } from '@annal/wal/testing'
import fc from 'fast-check'
import protobuf from 'protobufjs'
import { test } from 'tap'
import { decodeEvent, encodeEvent, peekEvent, upsertRecord } from '../../src/events/codec.ts'
import { eventDescriptors } from '../../src/events/schema.ts'
import { upsertPieces } from '../../src/events/upsert-pieces.ts'
import { parseDefinition } from '../../src/input/definition.ts'
import type { ObjectColumns } from '../../src/input/objects.ts'
import type { DenseColumn, Event } from '../../src/model/event.ts'
import { rulesNewest, withRules } from '../../src/model/schema.ts'

const seed = chosenSeed()

function roundTrip(event: Event): Event {
  const record = encodeEvent(event)
  return decodeEvent({ type: record.type, version: record.version, payload: record.payload as Uint8Array })
}

test('the descriptors in schema.ts equal events.proto', async (t) => {
  const text = await readFile(new URL('../../src/events/events.proto', import.meta.url), 'utf8')
  const root = protobuf.parse(text).root.lookup('annal') as protobuf.Namespace
  const fieldsOf = (type: protobuf.Type) =>
    Object.fromEntries(
      type.fieldsArray.map(({ name, id, type: fieldType, repeated }) => [
        name,
        { id, type: fieldType, ...(repeated && { rule: 'repeated' }) },
      ]),
    )
  const fromProto = Object.fromEntries(
    root.nestedArray.map((type) => [type.name, { fields: fieldsOf(type as protobuf.Type) }]),
  )
  t.strictSame(fromProto, JSON.parse(JSON.stringify(eventDescriptors)))
})

test('every kind of event decodes to what was encoded', async (t) => {
  const base = { timeMs: 1_790_000_000_123, collectionId: 7 }
  const inDatabase = { timeMs: base.timeMs, databaseId: 3 }
  const token = { name: 'reader', kind: 'r', hash: '0f'.repeat(32) } as const
  const events: Event[] = [
    {
      kind: 'collection-created',
      ...base,
      databaseId: 1,
      name: 'notes',
      fields: [
        {
          kind: 'dense',
          name: 'a',
          params: { dimension: 3, spaceType: 'l2', precision: 'float16', M: 16, efConstruction: 128 },
        },
        { kind: 'sparse', name: 'b', params: { model: 'endee_bm25', dimension: 2 ** 32 } },
        {
          kind: 'multi',
          name: 'c',
          params: {
            dimension: 2,
            spaceType: 'cosine',
            precision: 'int8',
            M: 4,
            efConstruction: 8,
            pooling: 'max',
          },
        },
      ],
      hashSeed: { low: 0xffffffff, high: 1 },
    },
    { kind: 'collection-dropped', ...base },
    { kind: 'collection-rebuilt', ...base, fields: [] },
    { kind: 'fields-changed', ...base, fields: [] },
    {
      kind: 'collection-restored',
      ...base,
      databaseId: 3,
      name: 'again',
      fields: [{ kind: 'sparse', name: 's', params: { model: 'default', dimension: 30_000 } }],
      hashSeed: { low: 1, high: 2 },
      importId: '00112233445566778899aabbccddeeff',
      imageSha256: 'ab'.repeat(32),
      digest: '0123456789abcdef',
    },
    {
      kind: 'objects-upserted',
      ...base,
      ids: ['x', 'ä\u0000😀'],
      metas: [new Uint8Array(0), Uint8Array.of(0, 255, 3)],
      filters: ['', '{"a":1}'],
      dense: [
        { field: 0, objects: Uint32Array.of(1), vectors: Float32Array.of(1.5, -0, 3e38), norms: Float32Array.of(2) },
        {
          field: 3,
          objects: Uint32Array.of(0, 1),
          vectors: Float32Array.of(3, -0),
          norms: Float32Array.of(3, 0),
          forms: Uint8Array.of(1, 0),
        },
      ],
      sparse: [
        {
          field: 1,
          objects: Uint32Array.of(0),
          counts: Uint32Array.of(2),
          indices: Uint32Array.of(0, 0xffffffff),
          values: Float32Array.of(1, -1),
        },
      ],
      multi: [
        {
          field: 2,
          objects: Uint32Array.of(0, 1),
          counts: Uint32Array.of(2, 1),
          vectors: Float32Array.of(1, 0, 0, 3e38, -0, 5),
        },
      ],
      text: [
        { field: 4, objects: Uint32Array.of(1), texts: ['ä\u0000😀'] },
        { field: 5, objects: Uint32Array.of(0, 1), texts: ['', 'two words'] },
      ],
    },
    {
      kind: 'objects-restored',
      deleted: ['gone'],
      asOfLsn: 7,
      ...base,
      ids: ['x', 'ä\u0000😀'],
      metas: [new Uint8Array(0), Uint8Array.of(0, 255, 3)],
      filters: ['', '{"a":1}'],
      dense: [
        { field: 0, objects: Uint32Array.of(1), vectors: Float32Array.of(1.5, -0, 3e38), norms: Float32Array.of(2) },
        {
          field: 3,
          objects: Uint32Array.of(0, 1),
          vectors: Float32Array.of(3, -0),
          norms: Float32Array.of(3, 0),
          forms: Uint8Array.of(1, 0),
        },
      ],
      sparse: [
        {
          field: 1,
          objects: Uint32Array.of(0),
          counts: Uint32Array.of(2),
          indices: Uint32Array.of(0, 0xffffffff),
          values: Float32Array.of(1, -1),
        },
      ],
      multi: [
        {
          field: 2,
          objects: Uint32Array.of(0, 1),
          counts: Uint32Array.of(2, 1),
          vectors: Float32Array.of(1, 0, 0, 3e38, -0, 5),
        },
      ],
      text: [
        { field: 4, objects: Uint32Array.of(1), texts: ['ä\u0000😀'] },
        { field: 5, objects: Uint32Array.of(0, 1), texts: ['', 'two words'] },
      ],
    },
    { kind: 'objects-deleted', ...base, ids: ['x', 'y'] },
    { kind: 'filters-replaced', ...base, ids: ['x'], filters: [''] },
    {
      kind: 'objects-patched',
      ...base,
      ids: ['x', 'y'],
      metas: [new Uint8Array([7]), new Uint8Array(0)],
      filters: ['{"a":1}', ''],
    },
    { kind: 'database-created', ...inDatabase, name: 'acme', type: 'starter' },
    { kind: 'database-created', ...inDatabase, name: 'acme', type: 'pro', token },
    { kind: 'database-dropped', ...inDatabase, collectionIds: [1, 70_000] },
    { kind: 'database-dropped', ...inDatabase, collectionIds: [] },
    { kind: 'database-changed', ...inDatabase, type: 'scale', active: false },
    { kind: 'database-changed', ...inDatabase, type: 'enterprise', active: true },
    { kind: 'token-put', ...inDatabase, token },
    { kind: 'token-dropped', ...inDatabase, name: 'reader' },
    { kind: 'cursor-put', ...inDatabase, name: 'cache', lsn: 2 ** 40 + 1 },
    { kind: 'cursor-dropped', ...inDatabase, name: 'cache' },
    { kind: 'setting-put', timeMs: base.timeMs, key: 'trial', value: 'ä😀' },
    { kind: 'alias-put', ...inDatabase, name: 'live', targetId: 9 },
    { kind: 'alias-dropped', ...inDatabase, name: 'live' },
    { kind: 'collection-promoted', ...inDatabase, promotedId: 9, replacedId: 4, keptAs: 'old' },
  ]
  for (const event of events) {
    const back = roundTrip(event)
    t.strictSame(plain(back), plain(event), event.kind)
    const { timeMs, collectionIds } = peekEvent(encodeEvent(event).payload as Uint8Array)
    const about = 'collectionIds' in event ? event.collectionIds : 'collectionId' in event ? [event.collectionId] : []
    t.strictSame([timeMs, [...collectionIds]], [event.timeMs, [...about]], `${event.kind}, looked at from outside`)
  }
})

test(`any well-formed text decodes to what was encoded, seed ${seed}`, async (t) => {
  const property = fc.property(
    fc.array(
      fc.string({ unit: 'binary' }).filter((s) => s.isWellFormed()),
      { minLength: 1 },
    ),
    (ids) => {
      const back = roundTrip({ kind: 'objects-deleted', timeMs: 0, collectionId: 1, ids })
      return back.kind === 'objects-deleted' && JSON.stringify(back.ids) === JSON.stringify(ids)
    },
  )
  fc.assert(property, { seed, numRuns: 1_000 })
  t.pass('1,000 lists of ids')
})

test('a record of an unknown type or a newer version is rejected with a code', async (t) => {
  t.throws(() => decodeEvent({ type: 99, version: 1, payload: new Uint8Array(0) }), { code: 'format_too_new' })
  t.throws(() => decodeEvent({ type: 16, version: 11, payload: new Uint8Array(0) }), { code: 'format_too_new' })
})

test('a record has the oldest version that can express it', async (t) => {
  const base = { timeMs: 0, collectionId: 1 } as const
  const objects = { kind: 'objects-upserted', ids: ['x'], metas: [new Uint8Array(0)], filters: [''] } as const
  const multi = { field: 0, objects: Uint32Array.of(0), counts: Uint32Array.of(1), vectors: Float32Array.of(1, 2) }
  t.equal(encodeEvent({ ...base, ...objects, dense: [], sparse: [], multi: [], text: [] }).version, 1)
  t.equal(encodeEvent({ ...base, ...objects, dense: [], sparse: [], multi: [multi], text: [] }).version, 2)
  t.equal(encodeEvent({ ...base, kind: 'collection-rebuilt', fields: [] }).version, 1)
  const params = { dimension: 2, spaceType: 'l2', precision: 'int8', M: 4, efConstruction: 8 } as const
  const rebuiltBy = (rules: object) => {
    const fields = [{ kind: 'dense', name: 'v', params: { ...params, ...rules } } as const]
    return { ...base, kind: 'collection-rebuilt', fields } as const
  }
  t.equal(encodeEvent(rebuiltBy({})).version, 1)
  t.equal(
    encodeEvent(rebuiltBy({ rules: 2 })).version,
    3,
    'an Annal that passed over the rules would build another graph',
  )
  t.strictSame(roundTrip(rebuiltBy({ rules: 2 })), rebuiltBy({ rules: 2 }))
  const keeping = rebuiltBy({ keepOriginals: false })
  t.equal(encodeEvent(keeping).version, 4)
  t.strictSame(roundTrip(keeping), keeping)
  const column = { field: 0, objects: Uint32Array.of(0), vectors: Float32Array.of(3), norms: Float32Array.of(3) }
  const upsertOf = (dense: DenseColumn) =>
    encodeEvent({ ...base, ...objects, dense: [dense], sparse: [], multi: [], text: [] })
  t.equal(upsertOf(column).version, 1)
  t.equal(
    upsertOf({ ...column, forms: Uint8Array.of(1) }).version,
    4,
    'an earlier Annal would take it for one of unit length',
  )
  for (const precision of ['int4', 'int2']) {
    const packed = rebuiltBy({ precision })
    t.equal(encodeEvent(packed).version, 5, 'an earlier Annal does not know the precision')
    t.strictSame(roundTrip(packed), packed)
  }
  const recall = rebuiltBy({ keepOriginals: false, recall: 0.95 })
  t.equal(encodeEvent(recall).version, 6, 'an earlier Annal would search with another ef')
  t.strictSame(roundTrip(recall), recall)
  t.equal(encodeEvent({ ...base, kind: 'fields-changed', fields: [] }).version, 6)
  const rules = rulesNewest + 1
  t.throws(() => roundTrip(rebuiltBy({ rules })), { code: 'format_too_new', details: { value: rules } })
})

test('a definition and the one decoded from its event have the same text, which digests include', async (t) => {
  const params = { dimension: 2, space_type: 'cosine', precision: 'int8' }
  const raw = [
    { name: 'v', type: 'vector', params },
    { name: 'r', type: 'vector', params: { ...params, keep_originals: false, recall: 0.9 } },
    { name: 'm', type: 'multi_vector', params },
    { name: 'e', type: 'vector', params: { ...params, recall: 0.9, embed: { provider: 'x', from: 't' } } },
    { name: 'f', type: 'vector', params: { ...params, embed: { provider: 'x', from: 't', model: 'y' } } },
    { name: 's', type: 'sparse' },
    { name: 't', type: 'text', params: { language: 'en', k1: 0, b: 1 } },
    { name: 'p', type: 'text', params: { stop_words: [], kept_words: ['x'], prefixes: { min: 2, max: 5 } } },
  ]
  const { name, fields } = parseDefinition({ name: 'a', fields: raw })
  for (let rules = 1; rules <= rulesNewest; rules++) {
    const made = rules === 1 ? fields : fields.map((field) => withRules(field, rules))
    const rebuilt = { timeMs: 0, collectionId: 1, kind: 'collection-rebuilt', fields: made } as const
    const back = roundTrip(rebuilt) as typeof rebuilt
    t.equal(JSON.stringify(back.fields), JSON.stringify(made), `${name} by rules ${rules}`)
  }
})

/** Bytes as plain arrays, because protobufjs returns Buffers for Uint8Arrays. */
function plain(event: Event): unknown {
  return JSON.parse(
    JSON.stringify(event, (_, value) =>
      ArrayBuffer.isView(value) || value?.type === 'Buffer' ? [...(value.data ?? value)] : value,
    ),
  )
}

test('an upsert encoded in pieces equals one encoded at once, byte for byte', (t) => {
  const floats = fc.float32Array({ minLength: 3, maxLength: 3, noNaN: true })
  const columns = fc
    .array(
      fc.record({
        id: fc.string({ unit: 'grapheme' }),
        meta: fc.uint8Array(),
        filter: fc.string(),
        vector: fc.option(floats),
        terms: fc.option(fc.uniqueArray(fc.nat(), { maxLength: 5 })),
        members: fc.option(fc.array(floats, { minLength: 1, maxLength: 3 })),
        text: fc.option(fc.string({ unit: 'grapheme' })),
      }),
      { maxLength: 6 },
    )
    .map(columnsOf)
  fc.assert(
    fc.property(columns, (given) => {
      const event: Event = { kind: 'objects-upserted', timeMs: 1_790_000_000_123, collectionId: 7, ...given }
      const record = upsertRecord(event, [...upsertPieces(given)])
      const whole = encodeEvent(event)
      const pieces = Buffer.concat(record.payload as Uint8Array[])
      return pieces.equals(whole.payload as Uint8Array) && record.version === whole.version
    }),
    { seed, numRuns: 200 },
  )
  const long = columnsOf(
    Array.from({ length: 40 }, (_, i) => ({
      id: `${i}`,
      meta: Buffer.alloc(40_000, i),
      filter: 'x'.repeat(30_000),
      vector: null,
      terms: null,
      members: null,
      text: 'y'.repeat(30_000),
    })),
  )
  const event: Event = { kind: 'objects-upserted', timeMs: 1, collectionId: 7, ...long }
  const record = upsertRecord(event, [...upsertPieces(long)])
  t.ok((record.payload as Uint8Array[]).length > 4, 'long parts make pieces of their own')
  t.equal(Buffer.concat(record.payload as Uint8Array[]).compare(encodeEvent(event).payload as Uint8Array), 0)
  t.end()
})

interface Given {
  readonly id: string
  readonly meta: Uint8Array
  readonly filter: string
  readonly vector: Float32Array | null
  readonly terms: readonly number[] | null
  readonly members: readonly Float32Array[] | null
  readonly text: string | null
}

function columnsOf(objects: readonly Given[]): ObjectColumns {
  const positions = (has: (object: Given) => boolean) =>
    Uint32Array.from(objects.flatMap((object, i) => (has(object) ? [i] : [])))
  const vectors = objects.flatMap(({ vector }) => (vector === null ? [] : [...vector]))
  const terms = objects.flatMap((object) => (object.terms === null ? [] : [object.terms]))
  const members = objects.flatMap((object) => (object.members === null ? [] : [object.members]))
  const texts = objects.flatMap((object) => (object.text === null ? [] : [object.text]))
  const [dense, sparse, multi, text] = [
    positions(({ vector }) => vector !== null),
    positions((object) => object.terms !== null),
    positions((object) => object.members !== null),
    positions((object) => object.text !== null),
  ]
  return {
    ids: objects.map(({ id }) => id),
    metas: objects.map(({ meta }) => meta),
    filters: objects.map(({ filter }) => filter),
    dense:
      dense.length === 0
        ? []
        : [{ field: 0, objects: dense, vectors: Float32Array.from(vectors), norms: new Float32Array(dense.length) }],
    sparse:
      sparse.length === 0
        ? []
        : [
            {
              field: 1,
              objects: sparse,
              counts: Uint32Array.from(terms, ({ length }) => length),
              indices: Uint32Array.from(terms.flat()),
              values: new Float32Array(terms.flat().length).fill(1),
            },
          ],
    multi:
      multi.length === 0
        ? []
        : [
            {
              field: 2,
              objects: multi,
              counts: Uint32Array.from(members, ({ length }) => length),
              vectors: Float32Array.from(members.flatMap((rows) => rows.flatMap((row) => [...row]))),
            },
          ],
    text: text.length === 0 ? [] : [{ field: 3, objects: text, texts }],
  }
}
