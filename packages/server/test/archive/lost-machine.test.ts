// A machine that is lost: the server is killed at a random moment and its directory is removed. The bucket alone gives a directory with a
// state that the server had, with everything that the server reported as uploaded, and with NDD_ACK=archive everything it acknowledged.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { openEngine, restoreDataDirectory } from '@annal/engine'
import { openWorkerPool, type WorkerPool } from '@annal/engine/testing'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { restoreArchive } from '../../src/archive/restore-archive.ts'
import { ObjectServer, soundObjects } from '../cluster/object-server.ts'
import { until } from '../eventually.ts'
import { commandProgram } from '../programs.ts'
import { send, temporaryDirectory } from '../running-app.ts'
import { startProcess } from '../running-process.ts'
import { digestsOf } from './rig.ts'

const seed = chosenSeed()
const isLong = process.env.ANNAL_LONG === '1'
const rounds = isLong ? 50 : 5

tap.setTimeout(rounds * 120_000)

interface Acknowledged {
  readonly lsn: number
  readonly atMs: number
}

test(`${rounds} machines are lost, seed ${seed}`, async (t) => {
  t.comment(`ANNAL_SEED=${seed}`)
  const random = seededRandom(seed)
  const server = new ObjectServer(random, { ...soundObjects, delayMs: 5, loseReply: 0.01, refuse: 0.01 })
  await server.listen(t)
  const dir = await temporaryDirectory(t)
  const pool = await openWorkerPool({ threads: 1 })
  t.teardown(() => pool.close())
  let dataDir = path.join(dir, 'first')
  let objects = 0
  let lostMsMax = 0
  let lostWrites = 0
  for (let round = 0; round < rounds; round++) {
    const isConfirmed = round % 2 === 1
    const from = `s3://annal/round-${round}`
    const running = startProcess({
      ...{ NDD_DATA_DIR: dataDir, NDD_ARCHIVE_S3: from },
      ...(isConfirmed && { NDD_ACK: 'archive', NDD_ARCHIVE_REQUIRED: 'on' }),
    })
    t.teardown(() => running.child.kill('SIGKILL'))
    const url = await running.serving
    if (round === 0) {
      const index = { index_name: 'docs', dim: 4, space_type: 'l2', precision: 'int8' }
      t.equal((await send(url, 'POST', '/api/v1/index/create', { json: index })).status, 200)
    }
    // A directory that is not new needs a checkpoint in the bucket first.
    await until(async () => (await send(url, 'GET', '/api/v2/health')).json().status === 'ok')
    const killAfter = isLong ? 50 + random.below(400) : 3 + random.below(40)
    const acknowledged: Acknowledged[] = []
    let lsnUploaded = 0
    for (let i = 0; i < killAfter; i++) {
      const json = { objects: [{ id: `o${objects++}`, fields: { dense: vectorOf(objects) } }] }
      const reply = await send(url, 'POST', '/api/v2/collection/docs/objects', { json })
      // The bucket may be late, for example while the system stops this process. Then the write is not acknowledged.
      if (reply.status === 503 && reply.text.includes('archive_') && !reply.text.includes('nothing is archived')) {
        t.comment(`${reply.text} ${running.stderr()}`)
        continue
      }
      if (reply.status !== 200) throw new Error(`a write was answered ${reply.status} ${reply.text}`)
      acknowledged.push({ lsn: Number(reply.json().lsn), atMs: Date.now() })
      if (i % 10 === 0) lsnUploaded = await uploadedLsn(url)
    }
    running.child.kill('SIGKILL')
    const killedMs = Date.now()
    await running.ended

    const restored = path.join(dir, `restored-${round}`)
    const lsn = await restore(from, restored, round === rounds - 1)
    const lost = acknowledged.filter((one) => one.lsn > lsn)
    // A marker of the log may be newer than the last write.
    const reported = lost.filter((one) => one.lsn <= lsnUploaded)
    t.strictSame(reported, [], `restored to LSN ${lsn}, reported as uploaded ${lsnUploaded}`)
    lostWrites += lost.length
    if (lost[0]) lostMsMax = Math.max(lostMsMax, killedMs - lost[0].atMs)
    if (isConfirmed) t.strictSame(lost, [], 'everything that was acknowledged is there')
    const own = path.join(dir, `own-${round}`)
    await restoreDataDirectory({ from: dataDir, to: own, lsn })
    t.strictSame(await digestsIn(restored, pool), await digestsIn(own, pool), `round ${round}: the digests are equal`)
    await rm(own, { recursive: true })
    await rm(dataDir, { recursive: true })
    dataDir = restored
  }
  t.comment(JSON.stringify({ seed, rounds, objects, lostWrites, lostMsMax }))
})

function vectorOf(i: number): number[] {
  return [i % 7, i % 11, i % 13, 1]
}

async function uploadedLsn(url: string): Promise<number> {
  const { text } = await send(url, 'GET', '/metrics')
  return Number(/^annal_bucket_archive_lsn (\d+)/m.exec(text)?.[1])
}

/** Restores with the command line, or in this process, which is quicker. */
async function restore(from: string, to: string, withCommand: boolean): Promise<number> {
  if (!withCommand) return (await restoreArchive({ from, to })).lsn
  const child = spawn(process.execPath, [...commandProgram, 'restore', from, to, '--json'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, err] = ['', '']
  child.stdout.on('data', (bytes: Buffer) => {
    out += bytes.toString()
  })
  child.stderr.on('data', (bytes: Buffer) => {
    err += bytes.toString()
  })
  const [code] = (await once(child, 'close')) as [number]
  if (code !== 0) throw new Error(`annal restore ended with ${code}: ${err}`)
  return (JSON.parse(out) as { lsn: number }).lsn
}

async function digestsIn(dataDir: string, pool: WorkerPool) {
  const engine = await openEngine({ dataDir }, { pool })
  try {
    return digestsOf(engine)
  } finally {
    await engine.close()
  }
}
