// Vectors of MessagePack that are read four numbers at once, compared with reading them number by number.
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import { float32Run } from '../src/wire/float-run.ts'
import { MsgpackItems } from '../src/wire/msgpack-items.ts'
import { MsgpackReader } from '../src/wire/msgpack-reader.ts'
import { floatMax, notFinite } from '../src/wire/numbers.ts'

const seed = chosenSeed()
const rounds = process.env.ANNAL_LONG === '1' ? 200_000 : 2_000

/** An array of numbers. Most are 32-bit floats with any bits but those that a number must not have, which are rare. */
function someVector(next: () => number): Buffer {
  const count = Math.floor(next() ** 3 * 2_000)
  const otherForms = next() < 0.4 ? 0 : next() ** 6
  const pieces: Buffer[] = [Buffer.from([0xdc, count >> 8, count & 0xff])]
  for (let i = 0; i < count; i++) pieces.push(next() < otherForms ? otherNumber(next) : float32(next))
  return Buffer.concat(pieces)
}

function float32(next: () => number): Buffer {
  const bytes = Buffer.alloc(5, 0xca)
  bytes.writeUInt32BE(Math.floor(next() * 2 ** 32), 1)
  const isRejected = (bytes.readUInt32BE(1) & 0x7f80_0000) === 0x7f80_0000
  if (isRejected && next() < 0.95) bytes.writeFloatBE(-0, 1)
  return bytes
}

function otherNumber(next: () => number): Buffer {
  const kind = Math.floor(next() * 4)
  if (kind === 0) return Buffer.from([Math.floor(next() * 128)])
  if (kind === 1) return Buffer.from([0xcc, Math.floor(next() * 256)])
  // Sometimes no number.
  if (kind === 2) return Buffer.from([next() < 0.02 ? 0xc0 : 0xe5])
  const bytes = Buffer.alloc(9, 0xcb)
  bytes.writeDoubleBE((next() - 0.5) * 10 ** (next() * 39), 1)
  return bytes
}

function oneByOne(bytes: Buffer): Float32Array {
  const reader = new MsgpackReader(bytes)
  return Float32Array.from({ length: reader.array('v') }, (_, i) => {
    const value = reader.number(`v[${i}]`)
    if (!(Math.abs(value) < floatMax)) throw notFinite(`v[${i}]`, value)
    return value
  })
}

/** The bits of the numbers, or the error. */
function outcome(read: () => Float32Array): string {
  try {
    const floats = read()
    return Buffer.from(floats.buffer, floats.byteOffset, floats.byteLength).toString('hex')
  } catch (error) {
    return String(error)
  }
}

test(`vectors are what their numbers are one by one, seed ${seed}`, async (t) => {
  const { next } = seededRandom(seed)
  let [wrong, failed] = [0, 0]
  for (let i = 0; i < rounds; i++) {
    const whole = someVector(next)
    const bytes = next() < 0.8 ? whole : whole.subarray(0, 3 + Math.floor(next() * (whole.length - 3)))
    const expected = outcome(() => oneByOne(bytes))
    if (expected.includes('Error')) failed++
    if (outcome(() => new MsgpackReader(bytes).floats('v')) !== expected) wrong++
  }
  t.equal(wrong, 0)
  t.ok(failed > rounds / 50 && failed < rounds / 2, `${failed} of ${rounds} vectors were rejected`)
})

/** The entries of a body and its error, if it arrives in these pieces. */
function entriesOf(pieces: Iterable<Buffer>, bytesMax: number, itemBytesMax: number): string {
  const found: string[] = []
  try {
    const items = new MsgpackItems({ list: 'body', itemBytesMax, onCount: () => undefined }, bytesMax)
    for (const piece of pieces) {
      items.push(piece)
      for (let item = items.next(); item !== undefined; item = items.next()) found.push(item.toString('hex'))
    }
    items.end()
  } catch (error) {
    found.push(String(error))
  }
  return found.join(' ')
}

function* pieces(body: Buffer, size: () => number): Generator<Buffer> {
  for (let at = 0, to = 0; at < body.length; at = to) {
    to = at + size()
    yield body.subarray(at, to)
  }
}

test(`entries do not depend on where a body is divided, seed ${seed}`, async (t) => {
  const { next } = seededRandom(seed + 1)
  let wrong = 0
  for (let i = 0; i < rounds / 20; i++) {
    const count = Math.floor(next() * 5)
    const entries = Array.from({ length: count }, () =>
      Buffer.concat([Buffer.from([0x92]), someVector(next), float32(next)]),
    )
    const body = Buffer.concat([Buffer.from([0x90 + count]), ...entries])
    const cut = next() < 0.8 ? body : body.subarray(0, Math.floor(next() * body.length))
    const itemBytesMax = next() < 0.8 ? 1e6 : 2_000
    const expected = entriesOf(
      pieces(cut, () => 1),
      body.length,
      itemBytesMax,
    )
    const found = entriesOf(
      pieces(cut, () => 1 + Math.floor(next() ** 2 * 9_000)),
      body.length,
      itemBytesMax,
    )
    // A limit is noticed as late as the next piece.
    if (itemBytesMax < 1e6 ? expected.includes('Error') !== found.includes('Error') : expected !== found) wrong++
  }
  t.equal(wrong, 0)
})

test('a run ends before a number that is not complete, and after the wanted count', async (t) => {
  const bytes = Buffer.alloc(5 * 100_000, 0xca)
  const run = (from: number, end: number, count: number) => float32Run(bytes, { from, end, count })
  t.equal(run(0, bytes.length, 1e6), 100_000, 'longer than the memory of the program')
  t.equal(run(0, 5 * 70 + 4, 1e6), 70)
  t.equal(run(5, bytes.length, 61), 61)
  t.equal(run(0, bytes.length, 3), 0, 'a short run is left to the caller')
  bytes[5 * 33] = 0xcb
  t.equal(run(0, bytes.length, 1e6), 33)
})
