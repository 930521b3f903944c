// The reader, the writer, and the scan of MessagePack, compared with another decoder and tested with random bytes.
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { decode, encode } from '@msgpack/msgpack'
import { test } from 'tap'
import { MsgpackReader } from '../src/wire/msgpack-reader.ts'
import { scanMsgpack } from '../src/wire/msgpack-scan.ts'
import { MsgpackWriter } from '../src/wire/msgpack-writer.ts'

const seed = chosenSeed()
const rounds = process.env.ANNAL_LONG === '1' ? 2_000_000 : 30_000

function someValue(next: () => number, depth: number): unknown {
  const kind = Math.floor(next() * (depth > 0 ? 9 : 7))
  const size = Math.floor(next() ** 4 * 400)
  if (kind === 0) return null
  if (kind === 1) return next() < 0.5
  if (kind === 2) return Math.floor((next() - 0.5) * 2 ** (next() * 52))
  if (kind === 3) return next() * 1e9 - 5e8
  if (kind === 4) return 'é'.repeat(size)
  if (kind === 5) return new Uint8Array(size)
  if (kind === 6) return Math.floor(next() * 200)
  const children = Array.from({ length: Math.floor(next() ** 3 * 40) }, () => someValue(next, depth - 1))
  return kind === 7 ? children : Object.fromEntries(children.map((child, i) => [`k${i}`, child]))
}

test(`the scan finds the end of every value that a decoder accepts, seed ${seed}`, (t) => {
  const next = seededRandom(seed).next
  let wrong = 0
  for (let i = 0; i < rounds / 20; i++) {
    const bytes = encode(someValue(next, 4))
    const padded = Buffer.concat([bytes, Buffer.alloc(Math.floor(next() * 9))])
    if (scanMsgpack(padded).end !== bytes.length) wrong += 1
  }
  t.equal(wrong, 0)
  t.end()
})

test(`random and damaged bytes are refused with a code or decode within their own size, seed ${seed}`, (t) => {
  const next = seededRandom(seed).next
  const surprises: unknown[] = []
  for (let i = 0; i < rounds; i++) {
    const bytes = i % 2 === 0 ? randomBytes(next) : damaged(encode(someValue(next, 3)), next)
    try {
      const { end } = scanMsgpack(bytes)
      if (end > bytes.length) surprises.push(`end ${end} of ${bytes.length}`)
    } catch (error) {
      if (!(error instanceof Error) || !('code' in error) || error.code !== 'invalid_msgpack') surprises.push(error)
    }
    try {
      readTuples(new MsgpackReader(bytes))
    } catch (error) {
      if (!(error instanceof Error) || !('code' in error)) surprises.push(error)
    }
  }
  t.strictSame(surprises, [])
  t.end()
})

function randomBytes(next: () => number): Buffer {
  return Buffer.from(Array.from({ length: Math.floor(next() * 60) }, () => Math.floor(next() * 256)))
}

function damaged(bytes: Uint8Array, next: () => number): Buffer {
  const copy = Buffer.from(bytes)
  for (let i = 0; i < 3; i++) copy[Math.floor(next() * copy.length)] = Math.floor(next() * 256)
  return copy.subarray(0, Math.ceil(next() * copy.length))
}

function readTuples(reader: MsgpackReader): void {
  const count = reader.array('body')
  for (let i = 0; i < count; i++) {
    reader.array('tuple')
    reader.string('id')
    reader.binary('meta')
    reader.text('filter')
    reader.number('norm')
    reader.floats('vector')
    reader.indices('indices')
  }
}

test('a few bytes that declare billions of values are refused before anything is allocated', (t) => {
  const bombs = [
    'ddffffffff',
    'dfffffffff',
    'c6ffffffff',
    'dbffffffff',
    `${'dcffff'.repeat(20_000)}`,
    '91'.repeat(33),
    'c1',
    'd40100',
    'c70000',
  ]
  for (const bomb of bombs)
    t.throws(() => scanMsgpack(Buffer.from(bomb, 'hex')), { code: 'invalid_msgpack' }, bomb.slice(0, 20))
  t.throws(() => scanMsgpack(Buffer.alloc(0)), { code: 'invalid_msgpack' })
  t.equal(scanMsgpack(Buffer.from(`${'91'.repeat(32)}c0`, 'hex')).end, 33, '32 levels are allowed')
  t.throws(() => scanMsgpack(Buffer.from('9301020304', 'hex'), { depthMax: 4, elementsMax: 2, nodesMax: 9 }), {
    code: 'invalid_msgpack',
  })
  t.end()
})

test('numbers are read in every form of MessagePack', (t) => {
  const values = [
    0,
    127,
    128,
    255,
    256,
    65_535,
    65_536,
    2 ** 32 - 1,
    2 ** 32,
    -1,
    -32,
    -33,
    -128,
    -129,
    -32_768,
    -32_769,
    -(2 ** 31),
    0.5,
    1e30,
  ]
  for (const value of values) t.equal(new MsgpackReader(encode(value)).number('n'), value)
  t.equal(new MsgpackReader(Buffer.from('cf0000000100000000', 'hex')).number('n'), 2 ** 32)
  t.equal(new MsgpackReader(Buffer.from('d3ffffffffffffffff', 'hex')).number('n'), -1)
  t.strictSame([...new MsgpackReader(encode([1, -2, 0.5, 3e38])).floats('v')], [1, -2, 0.5, Math.fround(3e38)])
  for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, 3.41e38, -1e300]) {
    t.throws(() => new MsgpackReader(encode([bad])).floats('v'), {
      code: 'invalid_argument',
      details: { field: 'v[0]' },
    })
  }
  t.end()
})

test('other decoders read what the writer writes', (t) => {
  const floats = Float32Array.from({ length: 20 }, (_, i) => i / 3)
  const long = 'x'.repeat(70_000)
  const bytes = new MsgpackWriter()
    .array(8)
    .map(1)
    .string('key')
    .binary(new Uint8Array(300))
    .string('ü'.repeat(20))
    .string(long)
    .float(0.1)
    .floats(floats)
    .uints([0, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32 - 1])
    .uint(7)
    .binary(new Uint8Array(70_000))
    .finish()
  const [keyed, ...rest] = decode(bytes) as [{ key: Uint8Array }, ...unknown[]]
  t.equal(keyed.key.length, 300)
  t.equal((rest.pop() as Uint8Array).length, 70_000)
  t.strictSame(rest, [
    'ü'.repeat(20),
    long,
    Math.fround(0.1),
    [...floats],
    [0, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32 - 1],
    7,
  ])
  t.end()
})
