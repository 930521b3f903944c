// SIGKILL under mixed load, repeatedly on one directory: while clients write, while a checkpoint is written, while the server stops, and
// while it starts. After every kill the directory opens with what the clients know. Sometimes copies of the directory are opened from their
// newest checkpoint and from as much of the log as exists, and must agree.
import { cp, readdir, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openEngine } from '@annal/engine'
import { openWorkerPool, type WorkerPool } from '@annal/engine/testing'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { docsDefinition, grown, newClient, runClient } from './kill-loop-client.ts'
import { mixture, settle, type WireObject } from './kill-loop-oracle.ts'
import { send, temporaryDirectory } from './running-app.ts'
import { type RunningProcess, startProcess } from './running-process.ts'

const seed = chosenSeed()
const cycles = Number(process.env.ANNAL_ROUNDS ?? (process.env.ANNAL_LONG === '1' ? 1_000 : 10))
const clientCount = 5
/** Number of cycles between comparisons of copies of the directory. */
const compareEvery = 5

// The file may take as long as its cycles.
const timeout = 300_000 + cycles * 20_000
tap.setTimeout(timeout)

type End = 'load' | 'checkpoint' | 'stopping' | 'starting'

test(`${cycles} kills lose nothing, add nothing, and split nothing, seed ${seed}`, {
  timeout,
}, async (t) => {
  const random = seededRandom(seed)
  const dataDir = path.join(await temporaryDirectory(t), 'data')
  const pool = await openWorkerPool({ threads: 1 })
  t.teardown(() => pool.close())
  const clients = Array.from({ length: clientCount }, (_, i) => newClient(`c${i}`))
  const faults: string[] = []
  const load = { acknowledged: 0, reads: 0 }
  const counts = { compared: 0, load: 0, checkpoint: 0, stopping: 0, starting: 0 }
  let running: RunningProcess | undefined
  t.teardown(() => running?.child.kill('SIGKILL'))
  for (let cycle = 0; cycle < cycles && faults.length === 0; cycle++) {
    const end = endOf(cycle, random)
    counts[end]++
    if (end === 'starting')
      for (let kills = 1 + random.below(3); kills > 0; kills--) await killWhileStarting(dataDir, random)
    running = startProcess({ NDD_DATA_DIR: dataDir })
    const url = await running.serving
    if (cycle === 0) await send(url, 'POST', '/api/v2/collection', { json: docsDefinition })
    faults.push(...(await settle(url, clients)))
    const reading = readAll(url, load, faults)
    const writing = clients.map((client, i) =>
      runClient(client, url, { random, bulk: end === 'checkpoint' && i < 2, faults, load }),
    )
    const clientsEnd = Promise.all([...writing, reading])
    const begun = Promise.all([grown(() => load.acknowledged, clientsEnd), grown(() => load.reads, clientsEnd)])
    await endIt(running, end, { dataDir, random, begun })
    await clientsEnd
    await running.ended
    if (cycle % compareEvery === compareEvery - 1) {
      faults.push(...(await compareCopies(dataDir, pool)))
      counts.compared++
    }
    if (faults.length > 0) t.comment(`cycle ${cycle}, ended in ${end}`)
  }
  const last = startProcess({ NDD_DATA_DIR: dataDir })
  running = last
  faults.push(...(await settle(await last.serving, clients)))
  last.child.kill('SIGTERM')
  t.equal((await last.ended).code, 0)
  t.strictSame(faults, [], `seed ${seed}`)
  t.ok(load.acknowledged > cycles && load.reads > cycles, 'there was load')
  t.comment(JSON.stringify({ seed, cycles, ...load, ...counts }))
})

function endOf(cycle: number, random: Random): End {
  if (cycle % 20 === 3) return 'checkpoint'
  return random.chance(0.1) ? 'stopping' : random.chance(0.1) ? 'starting' : 'load'
}

async function endIt(
  { child }: RunningProcess,
  end: End,
  { dataDir, random, begun }: { readonly dataDir: string; readonly random: Random; readonly begun: Promise<unknown> },
): Promise<void> {
  if (end === 'checkpoint') {
    await checkpointBegins(dataDir)
    await sleep(random.below(40))
  } else await Promise.all([begun, sleep(50 + random.below(250))])
  if (end === 'stopping') {
    child.kill('SIGTERM')
    await sleep(random.below(60))
  }
  child.kill('SIGKILL')
}

/** Waits for the directory of a new checkpoint. Under bulk load one is due soon; otherwise the kill happens anyway. */
async function checkpointBegins(dataDir: string): Promise<void> {
  for (let i = 0; i < 3_000; i++) {
    const names: string[] = await readdir(path.join(dataDir, 'checkpoints')).catch(() => [])
    if (names.some((name) => name.startsWith('tmp-'))) return
    await sleep(2)
  }
}

/** Kills between the first access to the directory and the first reply. */
async function killWhileStarting(dataDir: string, random: Random): Promise<void> {
  const { child, serving, ended } = startProcess({ NDD_DATA_DIR: dataDir })
  const served = serving.then(
    () => true,
    () => true,
  )
  const locked = path.join(dataDir, 'LOCK')
  for (let i = 0; i < 2_000 && !(await lockIsOf(locked, child.pid)); i++) if (await within(served, 1)) break
  await within(served, random.below(80))
  child.kill('SIGKILL')
  await ended
}

async function lockIsOf(file: string, pid: number | undefined): Promise<boolean> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return new RegExp(`\\b${pid}\\b`).test(text)
}

async function within(done: Promise<boolean>, ms: number): Promise<boolean> {
  return Promise.race([done, sleep(ms).then(() => false)])
}

/** Searches until the server is gone, and counts; every hit must be of one version. */
async function readAll(url: string, load: { reads: number }, faults: string[]): Promise<void> {
  for (;;) {
    const fields = { v: { query: [load.reads * 7, 50, 1, 0], limit: 50 } }
    const answer = await send(url, 'POST', '/api/v2/collection/docs/search', {
      json: { fields, include_vectors: true },
      accept: 'application/json',
    }).catch(() => undefined)
    if (answer === undefined || answer.status === 503) return
    if (answer.status !== 200) {
      faults.push(`a search was answered ${answer.status} ${answer.text}`)
      return
    }
    load.reads++
    faults.push(...hitsOf(answer.json()).flatMap((hit) => mixture(hit) ?? []))
  }
}

function hitsOf(body: unknown): WireObject[] {
  const { results } = body as { results: { v: (WireObject & { vector: number[] })[] } }
  return results.v.map((hit) => ({ ...hit, fields: { v: { vector: hit.vector } } }))
}

/** Opens one copy from the newest checkpoint, and one from the oldest that the log allows. */
async function compareCopies(dataDir: string, pool: WorkerPool): Promise<string[]> {
  const digests: string[] = []
  for (const replayed of [false, true]) {
    const copy = `${dataDir}-copy`
    await cp(dataDir, copy, { recursive: true })
    if (replayed) await removeCheckpoints(copy)
    const engine = await openEngine({ dataDir: copy }, { pool })
    const database = engine.database()
    const names = database.collections().map(({ name }) => name)
    digests.push(names.map((name) => `${name} ${database.collection(name).stateDigest()}`).join(', '))
    await engine.close()
    await rm(copy, { recursive: true })
  }
  const [loaded, replayed] = digests
  return loaded === replayed ? [] : [`from the checkpoint: ${loaded}; from the log: ${replayed}`]
}

async function removeCheckpoints(dataDir: string): Promise<void> {
  const segments = (await readdir(path.join(dataDir, 'wal'))).filter((name) => name.endsWith('.wal')).sort()
  const whole = Number(segments[0]?.slice(21, 41)) === 1
  const checkpoints = (await readdir(path.join(dataDir, 'checkpoints')).catch(() => [])).sort().reverse()
  const old = whole ? checkpoints : checkpoints.slice(0, checkpoints.length - 1)
  for (const name of old) await rm(path.join(dataDir, 'checkpoints', name), { recursive: true })
}
