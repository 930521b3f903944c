// Power cuts while clients write, repeatedly: data that was not synced is lost, and everything that was acknowledged exists after the next
// boot. Needs a loop-mounted ext4; the test reports if that is not available.
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { docsDefinition, grown, newClient, runClient } from './kill-loop-client.ts'
import { settle } from './kill-loop-oracle.ts'
import { makeDisk, type PowerCutDisk } from './power-cut-disk.ts'
import { send } from './running-app.ts'
import { startProcess } from './running-process.ts'

const seed = chosenSeed()
const cuts = process.env.ANNAL_LONG === '1' ? 300 : 5
const clientCount = 4
const timeout = 300_000 + cuts * 30_000

tap.setTimeout(timeout)

const base = await mkdtemp(path.join(os.tmpdir(), 'annal-power-'))
const disk: PowerCutDisk | Error = await makeDisk(base).catch((error: Error) => error)
const skip = disk instanceof Error && `no disk whose power can be cut: ${disk.message.trim()}`

test(`${cuts} power cuts under load lose nothing that was acknowledged, seed ${seed}`, { timeout, skip }, async (t) => {
  if (disk instanceof Error) return
  t.teardown(() => disk.remove())
  const random = seededRandom(seed)
  const dataDir = path.join(disk.dir, 'data')
  const clients = Array.from({ length: clientCount }, (_, i) => newClient(`c${i}`))
  const faults: string[] = []
  const load = { acknowledged: 0 }
  for (let cut = 0; cut < cuts && faults.length === 0; cut++) {
    const running = startProcess({ NDD_DATA_DIR: dataDir })
    t.teardown(() => running.child.kill('SIGKILL'))
    const url = await running.serving
    if (cut === 0) await send(url, 'POST', '/api/v2/collection', { json: docsDefinition })
    faults.push(...(await settle(url, clients)))
    // A file system that is shut down may still report a sync of data that it does not write, which a bare loop of write and fdatasync
    // shows, too. So replies after the cut was requested count as unknown, not as acknowledged.
    let ordered = false
    const uncertain = () => ordered
    const writing = clients.map((client) =>
      runClient(client, url, { random, bulk: false, faults: [], load, uncertain }),
    )
    await Promise.all([sleep(50 + random.below(250)), grown(() => load.acknowledged, Promise.all(writing))])
    // Every third cut is during the checkpoint of an orderly stop.
    if (cut % 3 === 2) running.child.kill('SIGTERM')
    await sleep(random.below(30))
    ordered = true
    await disk.cut()
    await Promise.all(writing.map((one) => endOfClient(one, running.ended)))
    running.child.kill('SIGKILL')
    await running.ended
    await disk.boot()
    if (faults.length > 0) t.comment(`cut ${cut}`)
  }
  const last = startProcess({ NDD_DATA_DIR: dataDir })
  t.teardown(() => last.child.kill('SIGKILL'))
  faults.push(...(await settle(await last.serving, clients)))
  last.child.kill('SIGTERM')
  t.equal((await last.ended).code, 0)
  t.strictSame(faults, [], `seed ${seed}`)
  t.ok(load.acknowledged > cuts, `${load.acknowledged} operations acknowledged before ${cuts} cuts`)
  t.comment(JSON.stringify({ seed, cuts, ...load }))
})

if (disk instanceof Error) await rm(base, { recursive: true })

/** The end of the client; a server without a disk exits, and its clients get no more replies. */
async function endOfClient(client: Promise<void>, end: Promise<unknown>): Promise<void> {
  return Promise.race([client, end.then(() => sleep(2_000))])
}
