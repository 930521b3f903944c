import { test } from 'tap'
import { IdTable } from '../../src/memory/id-table.ts'
import { writeSections } from '../../src/memory/sections.ts'
import { hashSeed, randomOf, readerOf, sectionBytes, seedOf } from './rig.ts'

test('an id leads to its ordinal and the ordinal to its id', (t) => {
  const table = new IdTable(hashSeed)
  const ids = [
    'a',
    '0',
    'é',
    '日本',
    '__proto__',
    'x'.repeat(512),
    'é'.repeat(256),
    '👋'.repeat(128),
    'a\u0000',
    'a\u0000b',
  ]
  for (const [ordinal, id] of ids.entries()) table.insert(id, ordinal)
  for (const [ordinal, id] of ids.entries()) {
    t.equal(table.find(id), ordinal)
    t.equal(table.idAt(ordinal), id)
  }
  t.equal(table.count, ids.length)
  t.equal(table.find('b'), -1)
  t.equal(table.find('a\u0000\u0000'), -1, 'zero padding does not make two ids one')
  t.equal(table.idAt(99), undefined)
  t.end()
})

test('an invalid id is not found', (t) => {
  const table = new IdTable(hashSeed)
  table.insert('\ufffd', 0)
  for (const id of ['', '\ud800', 'x'.repeat(513), 'é'.repeat(257)]) {
    t.equal(table.find(id), -1)
    t.throws(() => table.insert(id, 1), /broken invariant/)
  }
  t.end()
})

test('an ordinal keeps its id after removal or replacement until it is released', (t) => {
  const table = new IdTable(hashSeed)
  table.insert('a', 0)
  table.insert('b', 1)
  t.equal(table.replace('a', 2), 0)
  t.equal(table.remove('b'), 1)
  t.equal(table.remove('b'), -1)
  t.equal(table.find('a'), 2)
  t.equal(table.find('b'), -1)
  t.same([table.idAt(0), table.idAt(1), table.idAt(2)], ['a', 'b', 'a'])
  table.release(0)
  table.release(1)
  t.same([table.idAt(0), table.idAt(1), table.idAt(2)], [undefined, undefined, 'a'])
  t.ok(table.deadBytes() > 0)
  t.end()
})

test('an empty table costs little', (t) => {
  const bytes = new IdTable(hashSeed).bytes()
  t.ok(bytes.ids + bytes.table < 2_048)
  t.end()
})

test('random calls on 60,000 ids agree with a Map, and so does what is loaded from a dump', async (t) => {
  const random = randomOf(seedOf('id table'))
  const table = new IdTable(hashSeed)
  const model = new Map<string, number>()
  let end = 0
  const step = (target: IdTable): void => {
    const id = `id-${Math.floor(random() * 60_000).toString(36)}`
    const ordinal = model.get(id)
    const choice = random()
    if (ordinal === undefined) {
      target.insert(id, end)
      model.set(id, end++)
    } else if (choice < 0.3) {
      target.release(target.remove(id))
      model.delete(id)
    } else if (choice < 0.6) {
      target.release(target.replace(id, end))
      model.set(id, end++)
    } else if (target.find(id) !== ordinal) t.fail(`${id} leads to ${target.find(id)}, not ${ordinal}`)
  }
  const agrees = (target: IdTable): boolean =>
    target.count === model.size &&
    [...model].every(([id, ordinal]) => target.find(id) === ordinal && target.idAt(ordinal) === id)
  for (let index = 0; index < 300_000; index++) step(table)
  t.ok(agrees(table))
  const bytes = sectionBytes(...table.dump('ids'))
  const loaded = await IdTable.load(readerOf(bytes, 65_536), 'ids')
  t.ok(agrees(loaded))
  t.ok(sectionBytes(...loaded.dump('ids')).equals(bytes))
  for (let index = 0; index < 50_000; index++) step(loaded)
  t.ok(agrees(loaded))
})

test('a dump holds the content from its start, while ids are added and removed', (t) => {
  const table = new IdTable(hashSeed)
  for (let index = 0; index < 20_000; index++) table.insert(`a${index}`, index)
  const before = sectionBytes(...table.dump('ids'))
  let next = 20_000
  const pieces: Uint8Array[] = []
  for (const piece of writeSections(table.dump('ids'))) {
    pieces.push(piece)
    for (let index = 0; index < 5_000; index++) table.insert(`b${next}`, next++)
    for (let index = 0; index < 100; index++) table.release(table.remove(`b${next - 1 - index}`))
  }
  t.ok(Buffer.concat(pieces).equals(before))
  t.end()
})

test('after space was reserved, inserting allocates no more memory', (t) => {
  const table = new IdTable(hashSeed)
  let next = 0
  for (const batch of [1, 10, 100, 1_000, 10_000, 1_000]) {
    const ids = Array.from({ length: batch }, () => `some-id-${next++}`)
    table.reserve(
      batch,
      ids.reduce((total, id) => total + id.length, 0),
      next,
    )
    const before = table.bytes()
    for (const [index, id] of ids.entries()) table.insert(id, next - batch + index)
    t.equal(table.bytes().ids, before.ids)
    t.ok(table.bytes().table - before.table <= 4_096, 'except for the directory')
  }
  t.end()
})

test('inconsistent tables are damaged', async (t) => {
  const table = new IdTable(hashSeed)
  for (let index = 0; index < 40; index++) table.insert(`id${index}`, index)
  const bytes = sectionBytes(...table.dump('ids'))
  let refused = 0
  for (let index = 0; index + 4 <= bytes.length; index += 4) {
    const wrong = Buffer.from(bytes)
    wrong.writeUint32LE(0x7ff12345, index)
    try {
      const loaded = await IdTable.load(readerOf(wrong), 'ids')
      for (let id = 0; id < 45; id++) loaded.find(`id${id}`)
    } catch (error) {
      t.match(error, { code: 'snapshot_damaged' })
      refused++
    }
  }
  t.ok(refused > 50, `${refused} refused, the others do no harm`)
})
