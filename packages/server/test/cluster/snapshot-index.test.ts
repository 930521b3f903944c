// The list of snapshots: what stays in it, and which snapshot is older than the retention.
import { test } from 'tap'
import {
  expiredAt,
  type Snapshot,
  type SnapshotList,
  withoutSnapshots,
  withSnapshot,
} from '../../src/cluster/snapshots/snapshot-index.ts'

const retentionMs = 1_000
const none: SnapshotList = { snapshots: [], marks: [] }

function snapshotAt(lsn: number, timeMs = lsn): Snapshot {
  return { lsn, lsnReached: lsn + 5, node: 'a', name: `s${lsn}`, bytes: 1, timeMs }
}

function listOf(snapshots: readonly Snapshot[], loading: readonly string[] = []): SnapshotList {
  const rule = { keep: 2, loading: new Set(loading), retentionMs }
  return snapshots.reduce((list, each) => withSnapshot(list, each, rule), none)
}

const lsnsOf = ({ snapshots }: SnapshotList) => snapshots.map(({ lsn }) => lsn)

test('the two newest snapshots stay, and those that a node loads', (t) => {
  const four = [10, 20, 30, 40].map((lsn) => snapshotAt(lsn))
  t.strictSame(lsnsOf(listOf(four)), [30, 40])
  t.strictSame(lsnsOf(listOf(four, ['s10'])), [10, 30, 40])
  t.end()
})

test('a snapshot that is not newer is not added', (t) => {
  const list = listOf([snapshotAt(10), snapshotAt(20)])
  for (const lsn of [15, 20])
    t.equal(withSnapshot(list, snapshotAt(lsn), { keep: 2, loading: new Set(), retentionMs }), list)
  t.end()
})

test('a list without a wrong snapshot is the same list', (t) => {
  const list = listOf([snapshotAt(10), snapshotAt(20)])
  t.equal(
    withoutSnapshots(list, () => false),
    list,
  )
  t.strictSame(lsnsOf(withoutSnapshots(list, ({ lsnReached }) => lsnReached > 20)), [10])
  t.end()
})

test('the newest snapshot beyond the retention is known, even when it is not kept', (t) => {
  const list = listOf([0, 500, 1_000, 1_500, 2_000].map((timeMs, n) => snapshotAt(n + 1, timeMs)))
  t.equal(expiredAt(listOf([]), 5_000, retentionMs), 0)
  t.equal(expiredAt(listOf([snapshotAt(1, 0)]), 1_000, retentionMs), 0)
  t.equal(expiredAt(list, 2_100, retentionMs), 3)
  t.equal(expiredAt(list, 2_501, retentionMs), 4)
  t.equal(expiredAt(list, 9_000, retentionMs), 5)
  t.end()
})

test('marks are few, however many snapshots there are', (t) => {
  const list = listOf(Array.from({ length: 5_000 }, (_, n) => snapshotAt(n + 1)))
  t.ok(list.marks.length <= 66, `${list.marks.length} marks`)
  t.ok(Math.abs(expiredAt(list, 5_000, retentionMs) - 4_000) < 20)
  t.end()
})

test('a snapshot of a node whose clock was ahead does not keep the retention from ending', (t) => {
  const list = listOf([snapshotAt(1, 0), snapshotAt(2, 1_000_000), snapshotAt(3, 600), snapshotAt(4, 1_200)])
  t.equal(expiredAt(list, 1_700, retentionMs), 3)
  t.equal(expiredAt(list, 2_300, retentionMs), 4)
  t.end()
})
