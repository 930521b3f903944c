// SIGTERM and SIGINT under load, repeatedly on one directory: the process exits with 0, everything that it acknowledged exists, the log
// records the close, and the next start has nothing to replay. Also when the signal arrives twice, and while the server starts.
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { nodeVfs, verifyLog } from '@annal/wal'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { docsDefinition, grown, newClient, runClient } from './kill-loop-client.ts'
import { settle } from './kill-loop-oracle.ts'
import { send, temporaryDirectory } from './running-app.ts'
import { startProcess } from './running-process.ts'

const seed = chosenSeed()
const long = process.env.ANNAL_LONG === '1'
const stops = long ? 50 : 8
const clientCount = 4
const timeout = stops * 40_000

tap.setTimeout(timeout)

test(`${stops} stops under load are orderly, seed ${seed}`, { timeout }, async (t) => {
  const random = seededRandom(seed)
  const dataDir = path.join(await temporaryDirectory(t), 'data')
  const clients = Array.from({ length: clientCount }, (_, i) => newClient(`c${i}`))
  const faults: string[] = []
  const load = { acknowledged: 0 }
  let longestMs = 0
  for (let stop = 0; stop < stops && faults.length === 0; stop++) {
    if (stop % 5 === 4) faults.push(...(await stopWhileStarting(dataDir, random.below(300))))
    const running = startProcess({ NDD_DATA_DIR: dataDir })
    t.teardown(() => running.child.kill('SIGKILL'))
    const url = await running.serving
    if (stop === 0) await send(url, 'POST', '/api/v2/collection', { json: docsDefinition })
    else faults.push(...(await nothingReplayed(url)))
    faults.push(...(await settle(url, clients)))
    const bulk = stop % 3 === 2
    const writing = clients.map((client, i) => runClient(client, url, { random, bulk: bulk && i === 0, faults, load }))
    await Promise.all([sleep(50 + random.below(400)), grown(() => load.acknowledged, Promise.all(writing))])
    const from = performance.now()
    running.child.kill(stop % 2 === 0 ? 'SIGTERM' : 'SIGINT')
    if (random.chance(0.3)) running.child.kill('SIGTERM')
    const { code, signal } = await running.ended
    longestMs = Math.max(longestMs, performance.now() - from)
    await Promise.all(writing)
    if (code !== 0) faults.push(`stop ${stop} ended with ${code ?? signal}: ${running.stderr()}`)
    const report = await verifyLog({ vfs: nodeVfs(), dir: path.join(dataDir, 'wal') })
    if (!report.cleanlyClosed) faults.push(`stop ${stop}: the log does not say that it was closed`)
  }
  const last = startProcess({ NDD_DATA_DIR: dataDir })
  t.teardown(() => last.child.kill('SIGKILL'))
  faults.push(...(await settle(await last.serving, clients)))
  last.child.kill('SIGTERM')
  t.equal((await last.ended).code, 0)
  t.strictSame(faults, [], `seed ${seed}`)
  t.ok(load.acknowledged > stops, `${load.acknowledged} operations were acknowledged`)
  // The time depends on the machine; the long run needs a quiet one.
  if (long) t.ok(longestMs <= 10_000, `the longest stop took ${Math.round(longestMs)} ms`)
  t.comment(JSON.stringify({ seed, stops, ...load, longestMs: Math.round(longestMs) }))
})

/** The last checkpoint of the previous stop covers every record of the log. */
async function nothingReplayed(url: string): Promise<string[]> {
  const { lsn } = (await send(url, 'GET', '/api/v2/stats')).json() as { lsn: { applied: number; checkpoint: number } }
  return lsn.applied === lsn.checkpoint ? [] : [`records up to ${lsn.applied} after checkpoint ${lsn.checkpoint}`]
}

/** Before the program begins, a signal ends the process. */
async function stopWhileStarting(dataDir: string, afterMs: number): Promise<string[]> {
  const { child, ended, stderr } = startProcess({ NDD_DATA_DIR: dataDir })
  await sleep(afterMs)
  child.kill('SIGTERM')
  const { code, signal } = await ended
  return code === 0 || signal === 'SIGTERM' ? [] : [`a stop while starting ended with ${code ?? signal}: ${stderr()}`]
}
