// The words of a replica that readers read while its owner publishes further versions.
import { test } from 'tap'
import { VersionHeader } from '../../src/sharing/version-header.ts'

test('a reader keeps the facts of the version that it pinned while later ones are published', async (t) => {
  const owner = new VersionHeader(2)
  const reader = new VersionHeader(2, owner.words)
  owner.publish({ version: 7, lsn: 37, count: 5, expiryFirst: Number.POSITIVE_INFINITY, rows: [5, 4] })
  t.ok(reader.pin(7))
  owner.publish({ version: 8, lsn: 38, count: 6, expiryFirst: Number.POSITIVE_INFINITY, rows: [6, 4] })
  // The record of the version after the next is where that of version 7 was.
  owner.publish({ version: 9, lsn: 2 ** 32 + 39, count: 7, expiryFirst: Number.POSITIVE_INFINITY, rows: [7, 6] })
  t.same([reader.pinnedLsn, reader.pinnedRows(0), reader.pinnedRows(1)], [37, 5, 4])
  t.notOk(reader.pin(7), 'an earlier version cannot be pinned any more')
  t.ok(reader.pin(9))
  t.same([reader.pinnedLsn, reader.pinnedRows(0), reader.pinnedRows(1)], [2 ** 32 + 39, 7, 6])
})
