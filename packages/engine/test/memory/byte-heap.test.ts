import { test } from 'tap'
import { ByteHeap } from '../../src/memory/byte-heap.ts'
import { writeSections } from '../../src/memory/sections.ts'
import {
  blockBytes,
  blockBytesMin,
  blockWithin,
  sizeClass,
  sizeClasses,
  valueBytesMax,
} from '../../src/memory/size-class.ts'
import { randomOf, readerOf, sectionBytes, seedOf } from './rig.ts'

test('every block size has a class of its own and wastes at most an eighth', (t) => {
  const seen = new Map<number, number>()
  let wrong = 0
  for (let length = 0; length <= valueBytesMax; length += length < 5_000 ? 1 : 97) {
    const size = blockBytes(length)
    const cls = sizeClass(size)
    const same = seen.get(cls) ?? size
    seen.set(cls, size)
    if (same !== size || cls >= sizeClasses || size % 8 !== 0 || size < length + 4) wrong++
    if (size > 1_024 && size > (length + 4) * 1.125 + 8) wrong++
    if (blockBytes(size - 4) !== size) wrong++
  }
  for (let bytes = blockBytesMin; bytes <= 1 << 20; bytes += 8) {
    const size = blockWithin(bytes)
    if (size > bytes || blockBytes(size - 4) !== size) wrong++
  }
  t.equal(wrong, 0)
  t.end()
})

test('values are read back unchanged, of any length', (t) => {
  const heap = new ByteHeap()
  const values = [0, 1, 11, 12, 13, 1_020, 1_021, 65_536, 500_000, valueBytesMax].map((n) => Buffer.alloc(n, n % 251))
  const addresses = values.map((value) => heap.write(value))
  for (const [index, address] of addresses.entries())
    t.ok(values[index]!.equals(heap.read(address)), `${values[index]!.length}`)
  t.equal(heap.readText(heap.write(Buffer.from('héllo'))), 'héllo')
  t.end()
})

test('a small heap is small', (t) => {
  const heap = new ByteHeap()
  heap.write(Buffer.alloc(100))
  t.ok(heap.bytes() <= 1_024)
  t.end()
})

test('freed blocks are used again before the heap grows', (t) => {
  const heap = new ByteHeap()
  const addresses = Array.from({ length: 10_000 }, (_, index) => heap.write(Buffer.alloc(50 + (index % 7))))
  const before = heap.bytes()
  for (let round = 0; round < 5; round++) {
    for (const address of addresses) heap.free(address)
    t.ok(heap.deadBytes() > 500_000)
    for (const index of addresses.keys()) addresses[index] = heap.write(Buffer.alloc(50 + (index % 7)))
  }
  t.equal(heap.bytes(), before)
  t.end()
})

test('freeing twice is an internal error and throws', (t) => {
  const heap = new ByteHeap()
  const address = heap.write(Buffer.from('x'))
  heap.free(address)
  t.throws(() => heap.free(address), /broken invariant/)
  t.end()
})

test('after space was reserved, writing allocates no more memory', (t) => {
  const random = randomOf(seedOf('reserve'))
  const heap = new ByteHeap()
  for (let round = 0; round < 200; round++) {
    const lengths = Array.from({ length: 1 + Math.floor(random() * 30) }, () => Math.floor(random() ** 3 * 66_000))
    const sum = lengths.reduce((total, length) => total + length, 0)
    heap.reserve(lengths.length, sum)
    const before = heap.bytes()
    for (const length of lengths) heap.write(Buffer.alloc(length))
    t.equal(heap.bytes(), before)
  }
  t.end()
})

test('the same calls give the same bytes, and a loaded heap continues unchanged', async (t) => {
  const seed = seedOf('heap')
  const ours = new ByteHeap()
  const theirs = new ByteHeap()
  const run = (heap: ByteHeap, random: () => number, live: Map<number, Buffer>): void => {
    for (let step = 0; step < 5_000; step++) {
      const some = [...live.keys()][Math.floor(random() * Math.min(live.size, 50))]
      if (random() < 0.4 && some !== undefined) {
        heap.free(some)
        live.delete(some)
        continue
      }
      const value = Buffer.alloc(Math.floor(random() ** 6 * 70_000), Math.floor(random() * 256))
      live.set(heap.write(value), value)
    }
  }
  const live = new Map<number, Buffer>()
  run(ours, randomOf(seed), live)
  run(theirs, randomOf(seed), new Map())
  t.ok(sectionBytes(ours.dump('h')).equals(sectionBytes(theirs.dump('h'))))
  const loaded = await ByteHeap.load(readerOf(sectionBytes(ours.dump('h')), 100_000), 'h')
  run(loaded, randomOf(seed + 1), new Map(live))
  run(ours, randomOf(seed + 1), live)
  t.ok(sectionBytes(ours.dump('h')).equals(sectionBytes(loaded.dump('h'))))
  t.equal(loaded.deadBytes(), ours.deadBytes())
  t.ok([...live].every(([address, value]) => value.equals(loaded.read(address))))
})

test('a dump holds the content from its start', (t) => {
  const heap = new ByteHeap()
  const addresses = Array.from({ length: 300 }, (_, index) => heap.write(Buffer.alloc(10_000, index)))
  const before = sectionBytes(heap.dump('h'))
  const pieces: Uint8Array[] = []
  for (const piece of writeSections([heap.dump('h')])) {
    pieces.push(piece.slice())
    const address = addresses.shift()
    if (address !== undefined) heap.free(address)
    heap.write(Buffer.alloc(10_000, 255))
  }
  t.ok(Buffer.concat(pieces).equals(before))
  t.end()
})

test('a heap with false lists or a false length is damaged', async (t) => {
  const heap = new ByteHeap()
  heap.write(Buffer.from('value'))
  const bytes = sectionBytes(heap.dump('h'))
  const head = 24
  for (const [offset, value] of [
    [head, 1e9],
    [head + 8, -1],
    [head + 16 + 8, 1e6],
    [head + 16 + 8, 3],
  ] as const) {
    const wrong = Buffer.from(bytes)
    wrong.writeDoubleLE(value, offset)
    await t.rejects(ByteHeap.load(readerOf(wrong), 'h'), { code: 'snapshot_damaged' })
  }
})

test('room beyond the largest address is refused, and nothing changes', (t) => {
  const heap = new ByteHeap(4 << 20)
  heap.reserve(1, 1_000_000)
  const before = heap.bytes()
  t.throws(() => heap.reserve(8, 8_000_000), { code: 'memory_exhausted', details: { limit: 4 << 20 } })
  t.equal(heap.bytes(), before)
  t.ok(Buffer.from('still').equals(heap.read(heap.write(Buffer.from('still')))))
  t.end()
})
