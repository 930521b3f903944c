// What readers do when the thread or the process of their engine ends without closing it: every call ends, with `closed` where the owner has to
// answer, and the directory opens again with every acknowledged write.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, rm } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { openEngine, type ReaderHandle } from '@annal/engine'
import { attachReader } from '@annal/engine/reader'
import tap, { type Test, test } from 'tap'
import { openDirectory } from '../search/rig.ts'
import { ReaderThread } from './reader-thread.ts'

tap.setTimeout(300_000)

const query = new Float32Array([7, 0])
const search = { field: 'dense', query, limit: 3, ef: 10 }
const request = { fields: { dense: { query, limit: 3 } } }

interface Owned {
  readonly owner: Worker
  readonly lsn: number
  readonly readers: readonly ReaderThread[]
  readonly unused: ReaderHandle
}

/** An engine in a worker, with two readers in workers of their own and a handle that no reader uses. */
async function open(t: Test, dataDir: string): Promise<Owned> {
  const owner = new Worker(new URL('./owner-program.ts', import.meta.url), { workerData: { dataDir, readers: 3 } })
  t.teardown(() => owner.terminate())
  // A thread that throws ends with this event, too.
  owner.on('error', () => undefined)
  const [{ lsn, handles }] = (await once(owner, 'message')) as [{ lsn: number; handles: ReaderHandle[] }]
  const readers = handles.slice(0, 2).map((handle) => new ReaderThread(handle))
  t.teardown(() => Promise.all(readers.map(({ worker }) => worker.terminate())))
  await Promise.all(readers.map(({ attached }) => attached))
  return { owner, lsn, readers, unused: handles[2]! }
}

for (const end of ['terminate', 'exit', 'throw'] as const) {
  test(`readers of an engine whose thread ends (${end}) refuse, and every call ends`, async (t) => {
    const dataDir = await openDirectory(t)
    const { owner, lsn, readers, unused } = await open(t, dataDir)
    const [reader, other] = readers as [ReaderThread, ReaderThread]
    t.match(await reader.here('things', search), { lsn, hits: [{ id: '7' }, {}, {}] })
    // A record that never comes, for longer than the test may take.
    const waiting = reader.do({ kind: 'wait', collection: 'things', lsn: lsn + 1, timeoutMs: 10_000_000 })
    // Searches in the thread and calls of the owner go on until they are refused.
    const searches = other.do({ kind: 'until-refused', collection: 'things', search, request })
    const exited = new Promise((resolve) => owner.once('exit', resolve))
    if (end === 'terminate') void owner.terminate()
    else owner.postMessage(end)
    await exited
    t.match(await searches, { code: 'closed', wrong: 0 })
    t.equal(await waiting, false)
    await t.rejects(reader.do({ kind: 'search', collection: 'things', request }), { code: 'closed' })
    await t.rejects(reader.do({ kind: 'get', collection: 'things', ids: ['7'] }), { code: 'closed' })
    t.equal(await reader.do({ kind: 'exists', collection: 'things' }), false)
    t.equal(await reader.here('things', search), undefined)
    await t.rejects(attachReader(unused), { code: 'closed' })
    await reader.do({ kind: 'close' })
    // The lock is that of the process, which still runs.
    await t.rejects(openEngine({ dataDir }), { code: 'directory_locked' })
    const copy = await openDirectory(t)
    await cp(dataDir, copy, { recursive: true })
    await rm(path.join(copy, 'LOCK'))
    const engine = await openEngine({ dataDir: copy, threads: 1, readers: 1 })
    t.equal((await engine.database().collection('things').search(request)).results.dense?.[0]?.id, '7')
    t.equal(engine.database().collection('things').describe().objects, 100)
    await engine.close()
  })
}

test('a process with readers that is killed loses nothing', async (t) => {
  const dataDir = await openDirectory(t)
  const program = fileURLToPath(new URL('./owner-process.ts', import.meta.url))
  const child = spawn(process.execPath, ['--conditions=annal-source', program, dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  let acknowledged = 0
  for await (const bytes of child.stdout) {
    acknowledged = Math.max(acknowledged, ...String(bytes).trim().split('\n').map(Number))
    if (acknowledged >= 20) child.kill('SIGKILL')
  }
  t.equal((await exited)[1], 'SIGKILL')
  const engine = await openEngine({ dataDir, threads: 1, readers: 2 })
  t.teardown(() => engine.close())
  const { objects } = engine.database().collection('things').describe()
  t.ok(objects >= acknowledged, `${objects} objects, ${acknowledged} acknowledged`)
})
