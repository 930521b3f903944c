// A directory that leaves a cluster: its own log begins behind what its checkpoint has.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { createIdentity, type Lsn, nodeVfs, openDataDirectory } from '../../src/index.ts'
import { makeSingleDirectory } from '../../src/replicated/index.ts'

for (const lsnReached of [10, 13])
  test(`no record gets the number of one that a part of the checkpoint has: LSN 10 to ${lsnReached}`, async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'annal-single-'))
    t.teardown(() => rmSync(dir, { recursive: true, force: true }))
    await createIdentity({ dir, vfs: nodeVfs() })
    t.equal(await makeSingleDirectory({ dir, newestCheckpoint: async () => ({ lsn: 10, lsnReached }) }), lsnReached)
    const open = () => openDataDirectory({ dir, findStart: async () => 11 as Lsn, lsnReached: () => lsnReached })
    const { log, close } = await open()
    t.equal((await log.append({ type: 16, version: 1, payload: Buffer.from('a') })).lsn, lsnReached + 1)
    await close()
    const again = await open()
    const lsns: number[] = []
    for await (const { lsn } of again.log.read(11 as Lsn)) lsns.push(lsn)
    t.same(lsns, [lsnReached + 1])
    await again.close()
  })

test('a log that ends before the newest record of the caller is refused, and not changed', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'annal-reached-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const first = await openDataDirectory({ dir })
  for (const text of ['a', 'b', 'c']) await first.log.append({ type: 16, version: 1, payload: Buffer.from(text) })
  const { lsnLast } = first.log.state()
  await first.close()
  const open = (lsnReached: number) =>
    openDataDirectory({ dir, findStart: async () => 2 as Lsn, lsnReached: () => lsnReached })
  await t.rejects(open(lsnLast + 5), { code: 'log_damaged', message: /the checkpoint says that LSN \d+ was durable/ })
  await (await open(lsnLast)).close()
})
