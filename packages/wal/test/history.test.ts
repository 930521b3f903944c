// The history of a log: its end is not taken for damage, and damage is not taken for its end.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { durableLsnOf, historySegments, nodeVfs, openFileLog, readHistory, readLogFiles } from '../src/index.ts'

const vfs = nodeVfs()
const end = Number.MAX_SAFE_INTEGER

/** A log of three records and, with `reopen`, an empty segment after them. */
async function logOf(t: Test) {
  const dir = mkdtempSync(join(tmpdir(), 'annal-history-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const open = () => openFileLog({ dir, freeBytesHard: 0, tipSync: 'commit' })
  const log = await open()
  for (const text of ['a', 'b', 'c']) await log.append({ type: 16, version: 1, payload: Buffer.from(text.repeat(100)) })
  await log.close()
  return { dir, open }
}

async function lsnsIn(dir: string, range: { readonly from?: number; readonly lsnDurable?: number } = {}) {
  const lsns: number[] = []
  for await (const { lsn } of readHistory({ vfs, dirs: [dir] }, { from: 1, to: end, ...range })) lsns.push(lsn)
  return lsns
}

async function filesIn(dir: string) {
  const lsns: number[] = []
  for await (const { lsn } of readLogFiles({ vfs, dir })) lsns.push(lsn)
  return lsns
}

test('an empty newest segment is the end of the history, not a gap', async (t) => {
  const { dir, open } = await logOf(t)
  const log = await open()
  t.teardown(() => log.close())
  t.equal(readdirSync(dir).filter((name) => name.endsWith('.wal')).length, 2)
  t.same(await filesIn(dir), [1, 2, 3])
  for (const from of [1, 3, 4, 5]) await t.rejects(lsnsIn(dir, { from }), { code: 'lsn_not_held' }, `from LSN ${from}`)
})

test('a damaged record is not the end of the history if a later one or TIP proves that it was durable', async (t) => {
  const { dir } = await logOf(t)
  const [name = ''] = readdirSync(dir).filter((each) => each.endsWith('.wal'))
  const path = join(dir, name)
  const good = readFileSync(path)
  const offsetOf = (text: string) => good.indexOf(text)
  for (const [text, lsn] of [
    ['aaaa', 1],
    ['bbbb', 2],
  ] as const) {
    const bad = Buffer.from(good)
    bad[offsetOf(text)] = 0
    writeFileSync(path, bad)
    await t.rejects(lsnsIn(dir), { code: 'log_damaged', details: { lsn } }, `LSN ${lsn}`)
    await t.rejects(filesIn(dir), { code: 'log_damaged', details: { lsn } }, `LSN ${lsn}, without opening the log`)
  }
  const cut = good.subarray(0, offsetOf('cccc') - 48)
  writeFileSync(path, cut)
  await t.rejects(lsnsIn(dir), { code: 'lsn_not_held' }, 'without TIP, it ends there')
  const lsnDurable = await durableLsnOf(vfs, dir)
  await t.rejects(lsnsIn(dir, { lsnDurable }), { code: 'log_damaged', details: { lsn: 3 } })
  writeFileSync(path, Buffer.concat([cut, Buffer.alloc(20, 7)]))
  await t.rejects(lsnsIn(dir), { code: 'lsn_not_held' }, 'a torn record is an end')
})

test('a segment that moves to the archive while directories are listed is no gap', async (t) => {
  const { dir, open } = await logOf(t)
  for (let start = 0; start < 3; start++) await (await open()).close()
  const archive = join(dir, 'archive')
  await vfs.makeDirectory(archive)
  const names = readdirSync(dir)
    .filter((name) => name.endsWith('.wal'))
    .sort()
  const [first = '', second = ''] = names
  const move = async (name: string) => {
    await vfs.link(join(dir, name), join(archive, name))
    await vfs.remove(join(dir, name))
  }
  await move(first)
  let lists = 0
  const list = async (path: string) => {
    const listed = await vfs.list(path)
    if (++lists === 1) await move(second)
    return listed
  }
  const segments = await historySegments({ vfs: { ...vfs, list }, dirs: [archive, dir] })
  t.same(
    segments.map(({ name }) => name),
    names,
  )
  t.equal(segments[1]?.path, join(archive, second), 'its file in the archive stays')
})
