import { test } from 'tap'
import { Bitmap } from '../../src/memory/bitmap.ts'
import { randomOf, readerOf, sectionBytes, seedOf } from './rig.ts'

function randomSet(random: () => number, below: number): Set<number> {
  const size = Math.floor(random() * below)
  return new Set(Array.from({ length: size }, () => Math.floor(random() * below)))
}

function kept(set: Set<number>, keep: (ordinal: number) => boolean): Set<number> {
  return new Set([...set].filter(keep))
}

test('a bitmap agrees with a set, alone and combined', (t) => {
  const random = randomOf(seedOf('bitmap'))
  for (let round = 0; round < 200; round++) {
    const a = randomSet(random, 1 + Math.floor(random() * 300))
    const b = randomSet(random, 1 + Math.floor(random() * 300))
    const sorted = (set: Iterable<number>): number[] => [...set].sort((one, two) => one - two)
    const same = (bitmap: Bitmap, set: Set<number>): boolean =>
      bitmap.count === set.size && [...bitmap.toOrdinals()].join() === sorted(set).join()
    t.ok(same(Bitmap.from(a), a))
    t.ok(
      same(
        Bitmap.from(a).and(Bitmap.from(b)),
        kept(a, (it) => b.has(it)),
      ),
    )
    t.ok(same(Bitmap.from(a).or(Bitmap.from(b)), new Set([...a, ...b])))
    t.ok(
      same(
        Bitmap.from(a).andNot(Bitmap.from(b)),
        kept(a, (it) => !b.has(it)),
      ),
    )
    const length = Math.floor(random() * 320)
    const all = new Set(Array.from({ length }, (_, ordinal) => ordinal))
    t.ok(
      same(
        Bitmap.from(a).not(length),
        kept(all, (it) => !a.has(it)),
      ),
    )
  }
  t.end()
})

test('set and clear return whether they changed anything', (t) => {
  const bitmap = new Bitmap()
  t.same([bitmap.set(100), bitmap.set(100), bitmap.has(100), bitmap.count], [true, false, true, 1])
  t.same([bitmap.clear(100), bitmap.clear(100), bitmap.clear(1e6), bitmap.count], [true, false, false, 0])
  t.end()
})

test('the highest ordinals are accepted', (t) => {
  const bitmap = Bitmap.from([31, 32, 63, 64, 1_000_000])
  const seen: number[] = []
  bitmap.forEach((ordinal) => {
    seen.push(ordinal)
  })
  t.same(seen, [31, 32, 63, 64, 1_000_000])
  t.equal(bitmap.has(2 ** 32 - 1), false)
  t.throws(() => bitmap.ensure(2 ** 32 + 1), { code: 'limit_exceeded' })
  t.end()
})

test('a clone is independent', (t) => {
  const bitmap = Bitmap.from([1])
  const clone = bitmap.clone()
  clone.set(2)
  t.same([bitmap.count, clone.count], [1, 2])
  t.end()
})

test('a bitmap loads from its dump, and a wrong count is damage', async (t) => {
  const bitmap = Bitmap.from([0, 5, 70_000])
  const bytes = sectionBytes(bitmap.dump('live'))
  bitmap.set(6)
  const loaded = await Bitmap.load(readerOf(bytes), 'live')
  t.same([...loaded.toOrdinals()], [0, 5, 70_000])
  t.same(sectionBytes(loaded.dump('live')), bytes)
  bytes.writeUint32LE(7, 24 + 16)
  await t.rejects(Bitmap.load(readerOf(bytes), 'live'), { code: 'snapshot_damaged', message: /4 members, not 3/ })
})
