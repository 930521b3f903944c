// The estimate of memory that a write may need, counted by hand.
import { test } from 'tap'
import { added, noRoom, roomFor, roomForFilters } from '../../src/collection/write-memory.ts'
import { expiryBytes } from '../../src/model/stored-text.ts'
import { vectorForm } from '../../src/model/vector-form.ts'
import { recordBytes } from '../../src/replica/object-record.ts'
import type { Replica } from '../../src/replica/replica.ts'

const nothing = { ids: [], metas: [], filters: [], dense: [], sparse: [], multi: [], text: [] }
const definition = { name: 'c', fields: [] }

function dense(forms?: readonly number[]) {
  const [objects, vectors, norms] = [new Uint32Array(), new Float32Array(), new Float32Array()]
  return { field: 0, objects, vectors, norms, ...(forms && { forms: Uint8Array.from(forms) }) }
}

test('no objects need no room', async (t) => {
  t.strictSame(noRoom, {
    objects: 0,
    idBytes: 0,
    recordBytes: 0,
    sparseTerms: 0,
    textTerms: 0,
    textTermBytes: 0,
    members: 0,
    scaled: 0,
  })
  t.strictSame(roomFor(nothing, definition), noRoom)
})

test('an id and a filter are counted with three bytes for each character, a meta as it is', async (t) => {
  const metas = [new Uint8Array(5), new Uint8Array(), new Uint8Array(100)]
  const room = roomFor({ ...nothing, ids: ['a', 'bcd', ''], metas, filters: ['{"a":1}', '', '{}'] }, definition)
  t.strictSame(room, {
    ...noRoom,
    objects: 3,
    idBytes: 12,
    recordBytes: recordBytes(5, 21, 0, 0) + recordBytes(0, 0, 0, 0) + recordBytes(100, 6, 0, 0),
  })
  t.ok(room.recordBytes >= 132, 'each record has a head')
})

test('sparse terms are counted over all fields, with eight bytes in the record for each and for each field of an object', async (t) => {
  const column = (objects: number, terms: number) => ({
    field: 0,
    objects: new Uint32Array(objects),
    counts: new Uint32Array(objects),
    indices: new Uint32Array(terms),
    values: new Float32Array(terms),
  })
  t.strictSame(roomFor({ ...nothing, sparse: [column(2, 30), column(3, 7)] }, definition), {
    ...noRoom,
    sparseTerms: 37,
    recordBytes: 37 * 8 + 5 * 8,
  })
})

test('members are counted over all multi-vector fields', async (t) => {
  const column = (...counts: number[]) => ({
    field: 0,
    objects: new Uint32Array(counts.length),
    counts: Uint32Array.from(counts),
    vectors: new Float32Array(),
  })
  t.strictSame(roomFor({ ...nothing, multi: [column(2, 3), column(10)] }, definition), { ...noRoom, members: 15 })
})

test('vectors that are not of unit length are counted in the field that has most of them', async (t) => {
  const { unit, given, givenWithNorm } = vectorForm
  const fields = [dense([given, unit, given]), dense(), dense([given, givenWithNorm, unit, given]), dense([unit])]
  t.strictSame(roomFor({ ...nothing, dense: fields }, definition), { ...noRoom, scaled: 3 })
  t.strictSame(roomFor({ ...nothing, dense: [dense(), dense([unit])] }, definition), noRoom)
})

test('other filters need room for the records that they are part of, and for the filters', async (t) => {
  const bytes = [40, 60]
  const replica = {
    findStored: (id: string) => ['first', 'second'].indexOf(id),
    objects: { recordBytesAt: (ordinal: number) => bytes[ordinal] ?? Number.NaN },
  }
  const room = roomForFilters(replica as unknown as Replica, ['first', 'absent', 'second'], ['{}', '{"a":1}', ''])
  t.strictSame(room, { ...noRoom, objects: 3, recordBytes: 100 + 27 + 3 * expiryBytes })
  t.strictSame(roomForFilters(replica as unknown as Replica, [], []), noRoom)
})

test('room is added and taken away part by part', async (t) => {
  const one = {
    objects: 1,
    idBytes: 2,
    recordBytes: 3,
    sparseTerms: 4,
    textTerms: 7,
    textTermBytes: 8,
    members: 5,
    scaled: 6,
  }
  const other = {
    objects: 10,
    idBytes: 30,
    recordBytes: 50,
    sparseTerms: 70,
    textTerms: 20,
    textTermBytes: 30,
    members: 90,
    scaled: 110,
  }
  const sum = {
    objects: 11,
    idBytes: 32,
    recordBytes: 53,
    sparseTerms: 74,
    textTerms: 27,
    textTermBytes: 38,
    members: 95,
    scaled: 116,
  }
  t.strictSame(added(one, other, 1), sum)
  t.strictSame(added(sum, other, -1), one)
})
