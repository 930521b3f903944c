// Engines of different versions on one log: the older one stops by name at a record that it does not know, and has applied nothing of it.
import tap, { test } from 'tap'
import { openDirectory } from '../search/rig.ts'
import { openNode, simulate } from './nodes.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

test('an engine stops at a record of a newer version, and does not open behind it', async (t) => {
  const world = simulate(t)
  const failed = Promise.withResolvers<Error>()
  const first = await openNode(t, world)
  const dataDir = await openDirectory(t)
  const second = await openNode(t, world, { dataDir, onFailed: failed.resolve })
  await first.lead(1)
  await first.engine.control.putSetting('theme', 'dark')
  await second.engine.whenApplied(first.engine.lsnApplied, 60_000)
  const { lsnApplied } = second.engine
  // The log does not look into records, so this is what a newer engine appends.
  await first.log.append({ type: 250, version: 1, payload: Buffer.from('new') })
  t.match(await failed.promise, { code: 'format_too_new', message: /type 250.*requires a newer version/ })
  t.equal(second.engine.lsnApplied, lsnApplied)
  t.match(second.engine.health(), { status: 'failed' })
  await second.close().catch(() => undefined)
  await t.rejects(openNode(t, world, { dataDir }), { code: 'format_too_new' })
})
