import { test } from 'tap'
import { Column, type ColumnKind } from '../../src/memory/column.ts'
import { writeSections } from '../../src/memory/sections.ts'
import { readerOf, sectionBytes } from './rig.ts'

test('an entry never set is 0, near and far', (t) => {
  const column = new Column('f64')
  t.equal(column.get(0), 0)
  t.equal(column.get(10_000_000), 0)
  column.set(70_000, 0.5)
  t.equal(column.get(70_000), 0.5)
  t.equal(column.get(69_999), 0)
  t.end()
})

test('an empty column costs nothing and a small one little', (t) => {
  const column = new Column('u32')
  t.equal(column.bytes(), 0)
  column.set(3, 1)
  t.ok(column.bytes() <= 256)
  t.end()
})

test('columns of every kind load from their dumps', async (t) => {
  for (const kind of ['u8', 'u32', 'f32', 'f64'] satisfies ColumnKind[]) {
    const column = new Column(kind)
    for (const index of [0, 1, 65_535, 65_536, 200_000]) column.set(index, (index % 199) + 1)
    const loaded = await Column.load(readerOf(sectionBytes(column.dump('c', 200_001))), 'c', kind, 200_001)
    for (const index of [0, 1, 2, 65_535, 65_536, 200_000]) t.equal(loaded.get(index), column.get(index))
    t.same(sectionBytes(loaded.dump('c', 200_001)), sectionBytes(column.dump('c', 200_001)))
  }
})

test('a dump holds the content from its start, whatever is written in the meantime', (t) => {
  const column = new Column('u32')
  for (let index = 0; index < 200_000; index++) column.set(index, index)
  const before = sectionBytes(column.dump('c', 200_000))
  const pieces: Uint8Array[] = []
  let next = 0
  for (const piece of writeSections([column.dump('c', 200_000)])) {
    pieces.push(piece)
    for (let index = 0; index < 300_000; index += 7) column.set(index, ++next)
  }
  t.same(Buffer.concat(pieces), before)
  t.end()
})

test('a dump of a small column survives its growth', (t) => {
  const column = new Column('u32')
  column.set(5, 7)
  const before = sectionBytes(column.dump('c', 6))
  const dump = column.dump('c', 6)
  column.set(5, 8)
  column.set(100_000, 9)
  t.same(sectionBytes(dump), before)
  t.end()
})

test('a column of another kind or length is damage', async (t) => {
  const column = new Column('u32')
  column.set(9, 1)
  const bytes = sectionBytes(column.dump('c', 10))
  await t.rejects(Column.load(readerOf(bytes), 'c', 'f32', 10), { code: 'snapshot_damaged' })
  await t.rejects(Column.load(readerOf(bytes), 'c', 'u32', 11), { code: 'snapshot_damaged' })
  await t.rejects(Column.load(readerOf(bytes.subarray(0, 50)), 'c', 'u32', 10), { code: 'snapshot_damaged' })
})
