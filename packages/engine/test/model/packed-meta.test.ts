// The inflated size of stored meta, of one object and of all objects of one answer.
import { readFileSync } from 'node:fs'
import { deflateSync } from 'node:zlib'
import fc from 'fast-check'
import { test } from 'tap'
import { parseMeta } from '../../src/input/meta.ts'
import { metaAnswerPlainBytesMax, metaBytesMax, metaPlainBytesMax, metaRatioMax } from '../../src/limits.ts'
import { decodeMeta, MetaBudget, packMeta } from '../../src/model/packed-meta.ts'

const seed = Number(process.env.ANNAL_SEED ?? Date.now() % 1_000_000)

/** `bytes` bytes of JSON, `varied` of which are random. */
function plainOf(bytes: number, varied = 0): Buffer {
  const words = Array.from({ length: Math.ceil(varied / 8) }, (_, i) =>
    ((i * 0x9e3779b1) >>> 0).toString(36).padStart(8),
  )
  const text = words.join('').slice(0, varied)
  return Buffer.from(JSON.stringify({ t: text + 'x'.repeat(bytes - varied - 8) }))
}

interface Case {
  readonly name: string
  readonly stored: string
  readonly meta?: Record<string, unknown>
}

const cases: readonly Case[] = JSON.parse(readFileSync(new URL('../golden/packed-meta.json', import.meta.url), 'utf8'))

test('stored bytes have the meta of the golden file, or none', (t) => {
  for (const { name, stored, meta } of cases) {
    const bytes = Buffer.from(stored, 'base64')
    t.equal(JSON.stringify(decodeMeta(bytes)), JSON.stringify(meta), name)
    t.equal(new MetaBudget().read(bytes).limit, name === 'an object that inflates too far' ? 'object' : undefined, name)
  }
  t.end()
})

test('packed meta, and meta that a write keeps, take no more memory than their bytes', (t) => {
  const packed = packMeta(plainOf(4_096))
  t.equal(packed.buffer.byteLength, packed.length)
  const given = Buffer.alloc(16_384).subarray(1, 9)
  const kept = parseMeta(given, 'meta')
  given.fill(1)
  t.same([...kept], new Array(8).fill(0), 'the bytes at the time of the call')
  t.equal(kept.buffer.byteLength, 8)
  t.end()
})

test(`an object that is packed is read again (seed ${seed})`, (t) => {
  const objects = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }))
  fc.assert(
    fc.property(objects, (meta) => {
      const json = JSON.stringify(meta)
      const expected = JSON.stringify(JSON.parse(json))
      const texts = [Buffer.from(json), packMeta(Buffer.from(json))]
      return texts.every((stored) => JSON.stringify(decodeMeta(stored)) === expected)
    }),
    { seed, numRuns: 300 },
  )
  t.end()
})

test('meta is inflated up to its own limit, and the ratio counts beyond the limit of plain meta', (t) => {
  t.strictSame(decodeMeta(new Uint8Array(0)), {})
  t.strictSame(decodeMeta(Buffer.from('{"a":1}')), { a: 1 })
  t.equal(decodeMeta(Buffer.from('x\u009cno zlib')), undefined)
  t.equal(decodeMeta(deflateSync('no JSON')), undefined)
  const short = plainOf(metaBytesMax)
  t.ok(short.length / deflateSync(short).length > metaRatioMax)
  t.strictSame(decodeMeta(deflateSync(short)), JSON.parse(short.toString()), 'what may be stored plain has no ratio')
  const longer = plainOf(metaBytesMax + 1)
  t.equal(decodeMeta(deflateSync(longer)), undefined)
  t.strictSame(new MetaBudget().read(deflateSync(longer)), { limit: 'object' })
  const most = plainOf(metaPlainBytesMax, 30_000)
  t.ok(most.length / deflateSync(most).length < metaRatioMax)
  t.strictSame(decodeMeta(deflateSync(most)), JSON.parse(most.toString()))
  t.strictSame(new MetaBudget().read(deflateSync(plainOf(metaPlainBytesMax + 1, 30_000))), { limit: 'object' })
  t.end()
})

test('the meta of one answer inflates to its limit at most, and zip bombs do not prevent inflating short meta', (t) => {
  const most = deflateSync(plainOf(metaPlainBytesMax, 30_000))
  const budget = new MetaBudget()
  const count = metaAnswerPlainBytesMax / metaPlainBytesMax
  for (let i = 0; i < count; i++) t.ok(budget.read(most).meta, `${i}`)
  t.strictSame(budget.read(most), { limit: 'reply' })

  const bomb = deflateSync(Buffer.alloc(6_500_000, 0x20))
  const among = new MetaBudget()
  for (let i = 0; i < 2_000; i++) t.ok(among.read(bomb).limit)
  t.strictSame(among.read(deflateSync('{"a":1}')), { meta: { a: 1 } })
  t.strictSame(among.read(deflateSync(plainOf(10_000))), { limit: 'reply' })
  t.end()
})

test(`for any stored meta, an answer inflates at most its limit (seed ${seed})`, (t) => {
  const stored = fc.oneof(
    {
      arbitrary: fc.integer({ min: 8, max: 3 * metaPlainBytesMax }).map((bytes) => deflateSync(plainOf(bytes))),
      weight: 3,
    },
    fc
      .integer({ min: 8, max: metaPlainBytesMax })
      .map((bytes) => deflateSync(plainOf(bytes, Math.min(60_000, bytes - 8)))),
    fc.uint8Array({ maxLength: 200 }),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.concat([Buffer.from('789c', 'hex'), bytes])),
  )
  fc.assert(
    fc.property(fc.array(stored, { maxLength: 60 }), fc.integer({ min: 0, max: 4_000_000 }), (all, bytesMax) => {
      const budget = new MetaBudget(bytesMax)
      let plain = 0
      for (const bytes of all) {
        const { meta } = budget.read(bytes)
        if (meta !== undefined && bytes.length > 0 && bytes[0] !== 0x7b) plain += JSON.stringify(meta).length
      }
      return plain <= bytesMax
    }),
    { seed, numRuns: 60 },
  )
  t.end()
})
