// When a checkpoint is due: by rows to link again and by bytes to read, each as a share of what there is.
import { test } from 'tap'
import { CheckpointPolicy } from '../../src/snapshot/checkpoint-policy.ts'

const mebibyte = 1024 * 1024

function dueAfter(rows: number, bytes: number, held: { readonly objects: number; readonly bytes: number }): boolean {
  const policy = new CheckpointPolicy()
  policy.recordApplied(rows, bytes)
  return policy.isDue(() => held)
}

test('a checkpoint is due at an eighth of the rows, or a quarter of the bytes, and at a least amount of each', async (t) => {
  const empty = { objects: 0, bytes: 0 }
  t.strictSame(
    [9_999, 10_000].map((rows) => dueAfter(rows, 0, empty)),
    [false, true],
  )
  t.strictSame(
    [64 * mebibyte - 1, 64 * mebibyte].map((bytes) => dueAfter(0, bytes, empty)),
    [false, true],
  )
  const large = { objects: 800_000, bytes: 1024 * mebibyte }
  t.strictSame(
    [99_999, 100_000].map((rows) => dueAfter(rows, 0, large)),
    [false, true],
  )
  t.strictSame(
    [256 * mebibyte - 1, 256 * mebibyte].map((bytes) => dueAfter(0, bytes, large)),
    [false, true],
  )
})

test('what is applied adds up until a checkpoint starts', async (t) => {
  const policy = new CheckpointPolicy()
  const isDue = () => policy.isDue(() => ({ objects: 0, bytes: 0 }))
  for (let i = 0; i < 9; i++) policy.recordApplied(1_000, 0)
  t.notOk(isDue())
  policy.recordApplied(1_000, 0)
  t.ok(isDue())
  policy.reset()
  t.notOk(isDue() || policy.isWorthwhile())
  policy.recordApplied(9_999, 64 * mebibyte - 1)
  t.notOk(isDue(), 'nothing of before counts')
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
