// When a checkpoint is due: by rows to link again and by bytes to read, each as a share of what there is.
import { test } from 'tap'
import { CheckpointPolicy, type Held, linkWork, linkWorkOf } from '../../src/snapshot/checkpoint-policy.ts'

const mebibyte = 1024 * 1024

function dueAfter(rows: number, bytes: number, held: Held): boolean {
  const policy = new CheckpointPolicy()
  policy.recordApplied(rows, bytes)
  return policy.isDue(() => held)
}

test('a checkpoint is due at an eighth of the rows, or a quarter of the bytes, and at a least amount of each', async (t) => {
  const empty = { objects: 0, bytes: 0, wholeBytes: 0 }
  t.strictSame(
    [7_999, 8_000].map((rows) => dueAfter(rows, 0, empty)),
    [false, true],
  )
  t.strictSame(
    [64 * mebibyte - 1, 64 * mebibyte].map((bytes) => dueAfter(0, bytes, empty)),
    [false, true],
  )
  const large = { objects: 800_000, bytes: 1024 * mebibyte, wholeBytes: 1024 * mebibyte }
  t.strictSame(
    [99_999, 100_000].map((rows) => dueAfter(rows, 0, large)),
    [false, true],
  )
  t.strictSame(
    [256 * mebibyte - 1, 256 * mebibyte].map((bytes) => dueAfter(0, bytes, large)),
    [false, true],
  )
})

test('of parts that are written as changes, only what remains counts', async (t) => {
  const held = { objects: 800_000, bytes: 1024 * mebibyte, wholeBytes: 256 * mebibyte }
  t.strictSame(
    [12_499, 12_500].map((rows) => dueAfter(rows, 0, held)),
    [false, true],
  )
  t.strictSame(
    [7_999, 8_000].map((rows) => dueAfter(rows, 0, { ...held, wholeBytes: 0 })),
    [false, true],
  )
})

test('a row of many dimensions counts as several, and an object without vectors as one', async (t) => {
  t.equal(linkWorkOf(128), 1)
  const objects = Uint32Array.from({ length: 10 }, (_, i) => i)
  const event = {
    kind: 'objects-upserted',
    ...{ timeMs: 1, collectionId: 1, ids: Array<string>(12).fill('a'), metas: [], filters: [] },
    dense: [{ field: 0, objects, vectors: new Float32Array(10 * 1_536), norms: new Float32Array(10) }],
    ...{ sparse: [], multi: [], text: [] },
  } as const
  t.equal(linkWork(event), 54)
  t.equal(linkWork({ ...event, dense: [] }), 12)
  const counts = new Uint32Array(10).fill(3)
  const multi = [{ field: 0, objects, counts, vectors: new Float32Array(30 * 1_536), norms: new Float32Array(30) }]
  t.equal(linkWork({ ...event, dense: [], multi }), 54)
  t.equal(linkWork({ kind: 'objects-deleted', timeMs: 1, collectionId: 1, ids: ['a'] }), 0)
})

test('what is applied adds up until a checkpoint starts', async (t) => {
  const policy = new CheckpointPolicy()
  const isDue = () => policy.isDue(() => ({ objects: 0, bytes: 0, wholeBytes: 0 }))
  for (let i = 0; i < 7; i++) policy.recordApplied(1_000, 0)
  t.notOk(isDue())
  policy.recordApplied(1_000, 0)
  t.ok(isDue())
  policy.reset()
  t.notOk(isDue() || policy.isWorthwhile())
  policy.recordApplied(7_999, 64 * mebibyte - 1)
  t.notOk(isDue(), 'nothing of before counts')
  t.notOk(policy.isLate)
  policy.recordApplied(1, 0)
  t.ok(policy.isLate, 'writers are faster than the checkpoint')
})

test('a pause is used when a thousand rows or a megabyte were applied', async (t) => {
  const worthwhile = (rows: number, bytes: number) => {
    const policy = new CheckpointPolicy()
    policy.recordApplied(rows, bytes)
    return policy.isWorthwhile()
  }
  t.strictSame([worthwhile(999, 0), worthwhile(1_000, 0)], [false, true])
  t.strictSame([worthwhile(0, mebibyte - 1), worthwhile(0, mebibyte)], [false, true])
})
