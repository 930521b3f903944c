// Bodies read while they arrive: for any bytes and any chunks, the result equals that of reading them at once.
import { Readable } from 'node:stream'
import { chosenSeed } from '@annal/wal/testing'
import { encode } from '@msgpack/msgpack'
import fc from 'fast-check'
import { test } from 'tap'
import { ArrivingBody } from '../src/http/arriving-body.ts'
import { readList } from '../src/http/list-body.ts'
import { bodyBytesAtOnceMax, itemTextBytesMax, jsonNumberBytesMax, vectorNumbersMax } from '../src/limits.ts'
import { parseJsonBody } from '../src/wire/json-body.ts'
import { JsonItems } from '../src/wire/json-items.ts'
import { MsgpackItems } from '../src/wire/msgpack-items.ts'
import { ScannedNumbers } from '../src/wire/numbers.ts'
import type { IndexShape } from '../src/wire/v1-index.ts'
import { insertReader } from '../src/wire/v1-upsert.ts'

const seed = chosenSeed()
const shape = { listKey: 'objects', name: 'objects', vectorKeys: new Set(['fields']) }

/** A body in chunks; `cuts` are shares of the rest. */
function* pieces(body: Buffer, cuts: readonly number[]): Generator<Buffer> {
  let position = 0
  for (const cut of cuts) {
    const to = position + Math.ceil(cut * (body.length - position))
    if (to > position) yield body.subarray(position, to)
    position = to
  }
  if (position < body.length) yield body.subarray(position)
}

function readJson(body: Buffer, cuts: readonly number[]): unknown {
  const found: unknown[] = []
  const items = new JsonItems(shape, (item) => void found.push(toPlain(item)))
  for (const piece of pieces(body, cuts)) items.push(piece)
  const { listed, root } = items.end()
  return listed ? found : toPlain(root)
}

function toPlain(value: unknown): unknown {
  if (value instanceof ScannedNumbers)
    return Array.from(value.floats, (one) => (isPosition(one) ? one : Math.fround(one)))
  if (Array.isArray(value)) return value.map(toPlain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, toPlain(inner)]))
}

/** A position in a sparse vector keeps every digit. Any other number is rounded to 32 bits, and refused as a position later. */
function isPosition(number: number): boolean {
  return Number.isSafeInteger(number)
}

/** Vectors as the reader returns them: float32, with exact positions of sparse vectors. A list of lists has no positions. */
function roundVectors(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) {
    if (typeof value[0] === 'number')
      return value.map((one) => (key.endsWith('indices') && isPosition(one) ? one : Math.fround(one as number)))
    return value.map((inner) => roundVectors(inner))
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([inner, one]) => [inner, roundVectors(one, inner)]))
}

function expected(body: Buffer): unknown {
  const value = parseJsonBody(body) as Record<string, unknown> | unknown[]
  const isList = Array.isArray(value) || (typeof value === 'object' && value !== null && Array.isArray(value.objects))
  const items = Array.isArray(value) ? value : (value?.objects as unknown[])
  const one = (item: unknown): unknown =>
    typeof item === 'object' && item !== null && !Array.isArray(item) && Object.hasOwn(item, 'fields')
      ? { ...item, fields: roundVectors((item as Record<string, unknown>).fields, 'fields') }
      : item
  return isList ? items.map(one) : one(value)
}

const blank = fc.constantFrom('', '', '', ' ', '\n\t ', '     ')
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.float({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.nat().map(String),
  fc.constantFrom('-0', '1e3', '1E-2', '0.12345678901234567', '123456789012345678901234567890', '4294967295', '1e-46'),
)
const text = fc.oneof(
  fc.string({ unit: 'binary' }).map((value) => JSON.stringify(value.toWellFormed())),
  fc.constantFrom('"\\u0041"', '"[{"', '"a\\"]"', '"\\\\"'),
)
const key = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('"id"', '"meta"', '"fields"', '"indices"', '"values"') },
  { weight: 1, arbitrary: fc.constantFrom('"f\\u0069elds"', '"objects"') },
  text,
)
const joined = (parts: readonly string[][]): string => parts.map((part) => part.join('')).join(',')
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(number, text, fc.constantFrom('true', 'false', 'null')),
    fc.array(fc.tuple(blank, number, blank), { maxLength: 5 }).map((list) => `[${joined(list)}]`),
    fc.array(fc.tuple(blank, tie('value'), blank), { maxLength: 4 }).map((list) => `[${joined(list)}]`),
    fc
      .array(fc.tuple(blank, key, blank, fc.constant(':'), blank, tie('value'), blank), { maxLength: 4 })
      .map((list) => `{${joined(list)}}`),
  ),
}))
const list = fc.array(fc.tuple(blank, value, blank), { maxLength: 4 }).map((entries) => `[${joined(entries)}]`)
const body = fc.oneof(
  list,
  fc.tuple(blank, list, blank).map(([a, entries, b]) => `${a}{"objects"${b}:${a}${entries}${b}}`),
  fc.tuple(value, list, value).map(([a, entries, b]) => `{"a":${a},"objects":${entries},"b":${b}}`),
  value,
)
const damage = fc.option(
  fc.tuple(fc.nat(), fc.constantFrom('', ',', ']', '}', '"', '1', ' ', '\\', '[', '{', ':', '-', 'e')),
)
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 })

test('JSON that arrives in chunks is read like JSON.parse reads it, or refused if that refuses it', (t) => {
  let read = 0
  let refused = 0
  fc.assert(
    fc.property(body, damage, cuts, (made, harm, where) => {
      const place = harm === null ? 0 : harm[0] % (made.length + 1)
      const bytes = Buffer.from(harm === null ? made : made.slice(0, place) + harm[1] + made.slice(place + 1))
      const [whole, arriving] = [outcome(() => expected(bytes)), outcome(() => readJson(bytes, where))]
      if ('code' in whole || 'code' in arriving) {
        refused += 1
        if ('code' in whole && 'code' in arriving) return true
        // Malformed vectors and a second list are refused here, and by the reader of the object there.
        return 'code' in arriving && arriving.code === 'invalid_argument'
      }
      read += 1
      return JSON.stringify(whole.value) === JSON.stringify(arriving.value)
    }),
    {
      seed,
      numRuns: process.env.ANNAL_LONG === '1' ? 200_000 : 1_500,
      examples: [
        // Found with seed 366932560: not a position, and the last digit of the double differs.
        ['[{"f\\u0069elds":{"indices":[0.12345678901234567]}}]', null, []],
        // Found with seed 391520845: a vector of a field that is named like positions.
        ['[{"fields":{"indices":[[35165445]]}}]', null, []],
      ],
    },
  )
  t.ok(read > 100 && refused > 100, `${read} read, ${refused} refused`)
  t.end()
})

function outcome(run: () => unknown): { readonly value: unknown } | { readonly code: string } {
  try {
    return { value: run() }
  } catch (error) {
    return { code: (error as { code?: string }).code ?? String(error) }
  }
}

test('MessagePack that arrives in chunks gives the bytes of each entry', (t) => {
  const entry = fc.jsonValue({ maxDepth: 3 })
  fc.assert(
    fc.property(
      fc.array(entry, { maxLength: 20 }),
      fc.constantFrom('body', 'element', 'key'),
      cuts,
      (list, where, position) => {
        const made =
          where === 'body' ? list : where === 'element' ? [list] : { first: [[1], {}], objects: list, last: 'x' }
        const bytes = Buffer.concat([encode(made), Buffer.from('what follows is ignored')])
        const place = where === 'key' ? { key: 'objects' } : (where as 'body' | 'element')
        let counted = -1
        const onCount = (count: number): void => {
          counted = count
        }
        const items = new MsgpackItems({ list: place, itemBytesMax: 1e6, onCount }, bytes.length)
        const found: string[] = []
        for (const piece of pieces(bytes, position)) {
          items.push(piece)
          for (let item = items.next(); item !== undefined; item = items.next()) found.push(item.toString('hex'))
        }
        t.same(
          found,
          list.map((one) => Buffer.from(encode(one)).toString('hex')),
        )
        t.match({ ...items.end(), counted }, { listed: true, counted: list.length })
      },
    ),
    { seed, numRuns: 300 },
  )
  t.end()
})

test('a body is refused at the byte that exceeds a limit', (t) => {
  const chunk = (text: string): Buffer => Buffer.from(text.repeat(Math.ceil(65_536 / text.length)))
  const cases: [string, string, string, string][] = [
    ['an object of a long text', '{"objects":[{"id":"', 'x', 'limit_exceeded'],
    ['an object of keys', '{"objects":[{', '"k":1,', 'limit_exceeded'],
    ['an object of brackets', '{"objects":[{"meta":[', '[],', 'limit_exceeded'],
    ['nesting', '{"objects":[', '[', 'limit_exceeded'],
    ['digits in a text', '{"objects":[{"meta":{"a":', '9', 'limit_exceeded'],
    ['digits in a vector', '{"objects":[{"fields":{"a":[', '9', 'limit_exceeded'],
    ['a vector', '{"objects":[{"fields":{"a":[', '1,', 'limit_exceeded'],
    ['keys of the body', '{', '"k":1,', 'limit_exceeded'],
    ['no number in a vector', '{"objects":[{"fields":{"a":[1,', '"x",', 'invalid_argument'],
    ['a bracket that does not fit', '{"objects":[{"fields":]', ' ', 'invalid_json'],
  ]
  for (const [name, begin, filler, code] of cases) {
    const items = new JsonItems(shape, () => undefined)
    const most = 2 * itemTextBytesMax
    let pushed = 0
    const error = outcome(() => {
      items.push(Buffer.from(begin))
      for (const piece = chunk(filler); pushed < most; pushed += piece.length) items.push(piece)
    })
    t.same(error, { code }, `${name}: refused after ${pushed} bytes`)
  }
  const packed: [string, string, string][] = [
    ['keys of a MessagePack body', 'df00400000', 'a16101'],
    ['a MessagePack value outside the list', 'df00400000a178dd00020000', 'd909616161616161616161'],
    ['keys after the list of a MessagePack body', 'df00400000a76f626a6563747390', 'a16101'],
  ]
  for (const [name, begin, filler] of packed) {
    const items = new MsgpackItems(
      { list: { key: 'objects' }, itemBytesMax: 4 * itemTextBytesMax, onCount: () => undefined },
      16 * itemTextBytesMax,
    )
    const piece = Buffer.from(filler.repeat(16_384), 'hex')
    let pushed = 0
    const error = outcome(() => {
      items.push(Buffer.from(begin, 'hex'))
      for (; pushed < 2 * itemTextBytesMax; pushed += piece.length) items.push(piece)
    })
    t.same(error, { code: 'limit_exceeded' }, `${name}: refused after ${pushed} bytes`)
  }
  const spaces = new JsonItems(shape, () => undefined)
  for (let i = 0; i < 64; i++) spaces.push(chunk(' '))
  spaces.push(Buffer.from('[]'))
  t.match(spaces.end(), { listed: true }, 'spaces take no room, however many')
  t.ok(jsonNumberBytesMax < 10_000 && vectorNumbersMax < bodyBytesAtOnceMax)
  t.end()
})

test('reading a body that has arrived yields to other work', async (t) => {
  const chunks = 20
  const payload = Readable.from(Array.from({ length: chunks }, () => Buffer.alloc(65_536)))
  const body = new ArrivingBody(payload, { format: 'json', bytesMax: chunks * 65_536, declared: chunks * 65_536 })
  t.equal(await body.whole(), undefined)
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  for await (const _ of body.chunks()) {
    // Simulates a slow reader of the chunk, which takes longer than a slice.
    const began = performance.now()
    while (performance.now() - began < 10);
  }
  isOver = true
  t.ok(turns >= chunks / 2, `${turns} turns for ${chunks} chunks`)
})

/** A body of an insert with `count` objects, each of one vector in its place of the list. */
function insertBody(count: number, dimension: number, asBytes: boolean): Buffer {
  const objects = Array.from({ length: count }, (_, i) => {
    const vector = Float32Array.from({ length: dimension }, (_, j) => i + (j + 1) / 1_024)
    return [`${i}`, new Uint8Array(0), '', 1, asBytes ? new Uint8Array(vector.buffer) : Array.from(vector)]
  })
  return Buffer.from(encode(objects, { forceFloat32: true }))
}

for (const asBytes of [false, true]) {
  test(`entries of a large body share memory, one after another; vectors as ${asBytes ? 'bytes' : 'arrays'}`, async (t) => {
    const [count, dimension] = [300, 700]
    const bytes = insertBody(count, dimension, asBytes)
    const chunks = [...pieces(bytes, [0.001, 0.4, 0.3])]
    const body = new ArrivingBody(Readable.from(chunks), { format: 'msgpack', bytesMax: 1e8, declared: bytes.length })
    const shape: IndexShape = { dense: { dimension }, denseField: 'v', sparseField: 's' } as IndexShape
    const entries = await readList(
      body,
      insertReader({ shape, batchMax: 1_000 }, () => undefined),
    )
    t.notOk(Array.isArray(entries), 'the body is read while it arrives')
    let i = 0
    const buffers = new Set<ArrayBufferLike>()
    for await (const { id, fields } of entries) {
      const { vector } = fields.v as unknown as { readonly vector: Float32Array }
      const expected = Float32Array.from({ length: dimension }, (_, j) => i + (j + 1) / 1_024)
      if (id !== `${i}` || Buffer.compare(Buffer.from(vector.slice().buffer), Buffer.from(expected.buffer)) !== 0)
        t.fail(`object ${i} has another vector`)
      buffers.add(vector.buffer)
      i++
    }
    t.equal(i, count)
    t.equal(buffers.size, 1)
    t.equal(Buffer.concat(chunks).length, bytes.length, 'buffers of another sender are not freed')
  })
}
