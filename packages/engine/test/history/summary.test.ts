// The totals of a segment stay the same, whatever the length of its intervals.
import { test } from 'tap'
import type { RecordFacts } from '../../src/events/record-facts.ts'
import { SegmentSummary } from '../../src/history/summary.ts'

function fact(lsn: number, timeMs: number): RecordFacts {
  return { lsn, kind: 'objects-upserted', timeMs, bytes: 10, objects: 2, ids: [] }
}

test('many seconds are combined into fewer, longer intervals with the same totals', async (t) => {
  const summary = new SegmentSummary()
  const records = 20_000
  for (let lsn = 1; lsn <= records; lsn++) summary.add(1 + (lsn % 3), fact(lsn, lsn * 1_700))
  const cells = [...summary.cells]
  t.ok(cells.length <= 256, `${cells.length} cells`)
  t.ok(summary.widthMs > 1_000)
  t.equal(
    cells.reduce((sum, cell) => sum + cell.records, 0),
    records,
  )
  t.equal(
    cells.reduce((sum, cell) => sum + cell.written, 0),
    2 * records,
  )
  t.equal(Math.min(...cells.map(({ lsnFirst }) => lsnFirst)), 1)
  t.equal(Math.max(...cells.map(({ lsnLast }) => lsnLast)), records)
})

test('one second with more owners than fit is kept whole', async (t) => {
  const summary = new SegmentSummary()
  for (let owner = 1; owner <= 3_000; owner++) summary.add(owner, fact(owner, 5_500))
  t.equal([...summary.cells].length, 3_000)
  t.equal(summary.widthMs, 1_000)
})
