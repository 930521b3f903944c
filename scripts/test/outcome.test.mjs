// A file that fails next to others and passes alone fails the run, unless it is listed with a reason.
import { test } from 'tap'
import { outcomeOf } from '../testing/outcome.mjs'

const steady = { file: 'a.test.ts', passed: 3, failed: 0, skipped: 1 }
const failed = { file: 'b.test.ts', passed: 1, failed: 2, skipped: 0 }
const passedAlone = new Map([['b.test.ts', { file: 'b.test.ts', passed: 3, failed: 0, skipped: 0 }]])

test('a file that passed alone afterwards fails the run all the same', async (t) => {
  t.same(outcomeOf([steady, failed], passedAlone, {}), { passed: 4, failed: 2, skipped: 1 })
})

test('a listed file counts as it did alone', async (t) => {
  t.same(outcomeOf([steady, failed], passedAlone, { 'b.test.ts': 'a reason' }), { passed: 6, failed: 0, skipped: 1 })
})

test('a listed file that failed both times fails the run', async (t) => {
  t.same(outcomeOf([steady, failed], new Map(), { 'b.test.ts': 'a reason' }), { passed: 4, failed: 2, skipped: 1 })
})
