// Where the log of a directory ends that is restored elsewhere: behind its newest record, whatever follows, and never at damage.
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openEngine, restoreDataDirectory } from '@annal/engine'
import { type Test, test } from 'tap'
import { denseField, dimension, openedEngine, temporaryDirectory } from './rig.ts'

const text = (n: number) => `text-of-object-${n}`

/** A closed directory whose log ends with three objects. */
async function directoryOf(t: Test) {
  const dataDir = await temporaryDirectory(t)
  const engine = await openEngine({ dataDir, threads: 1 })
  const a = await engine.database().createCollection({ name: 'a', fields: [denseField()] })
  const lsns: number[] = []
  for (let n = 0; n < 3; n++) {
    const v = Array.from({ length: dimension }, (_, i) => n + i + 1)
    lsns.push((await a.upsert([{ id: `${n}`, meta: { text: text(n) }, fields: { v } }])).lsn)
  }
  await engine.close()
  const restored = async (moment: { readonly lsn?: number; readonly timeMs?: number }) => {
    const to = join(await temporaryDirectory(t), 'restored')
    await restoreDataDirectory({ from: dataDir, to, ...moment })
    const there = await openedEngine(t, { dataDir: to })
    return there.database().collection('a').count().count
  }
  return { dataDir, lsns, restored }
}

test('a directory is restored to its end while its newest segment has no record yet', async (t) => {
  const { dataDir, restored } = await directoryOf(t)
  await openedEngine(t, { dataDir })
  t.equal(await restored({}), 3)
  t.equal(
    await restored({ timeMs: Date.now() + 1e9 }).catch(({ code }) => code),
    'restore_unreachable',
    'in the future',
  )
})

test('a restore to the end, or to a time, refuses a log that is damaged before its end', async (t) => {
  for (const n of [1, 2]) {
    const { dataDir, lsns, restored } = await directoryOf(t)
    const [name = ''] = (await readdir(join(dataDir, 'wal'))).filter((each) => each.endsWith('.wal')).sort()
    const path = join(dataDir, 'wal', name)
    const bytes = await readFile(path)
    const offset = bytes.indexOf(text(n))
    t.ok(offset > 0)
    bytes[offset] = 0
    await writeFile(path, bytes)
    for (const moment of [{}, { timeMs: Date.now() }])
      await t.rejects(restored(moment), { code: 'restore_unreachable', message: new RegExp(name) }, `object ${n}`)
    t.equal(await restored({ lsn: (lsns[n] ?? 0) - 1 }), n, 'up to the damage')
    await t.rejects(restored({ lsn: lsns[n] ?? 0 }), { code: 'restore_unreachable' })
  }
})

test('a damaged segment that was sealed does not keep the records before it from being restored', async (t) => {
  const { dataDir, lsns, restored } = await directoryOf(t)
  for (let start = 0; start < 2; start++) await (await openEngine({ dataDir, threads: 1 })).close()
  const [name = ''] = (await readdir(join(dataDir, 'wal'))).filter((each) => each.endsWith('.wal')).sort()
  const path = join(dataDir, 'wal', name)
  const bytes = await readFile(path)
  bytes[bytes.indexOf(text(1))] = 0
  await writeFile(path, bytes)
  t.equal(await restored({ lsn: (lsns[1] ?? 0) - 1 }), 1)
  for (const moment of [{}, { lsn: lsns[1] ?? 0 }, { lsn: lsns[2] ?? 0 }])
    await t.rejects(restored(moment), { code: 'restore_unreachable' }, JSON.stringify(moment))
})
