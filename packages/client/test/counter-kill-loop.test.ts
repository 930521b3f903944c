// The server is killed at random while 32 clients add to one counter, first by conditions on its LSN, then by increments. At the end, the counter
// is what was acknowledged as applied: no increment is lost, and none is applied twice.
import { setTimeout as sleep } from 'node:timers/promises'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { until } from '../../server/test/eventually.ts'
import { freePort } from '../../server/test/free-port.ts'
import { connect, denseField } from '../src/index.ts'
import { mortalServer } from './mortal-server.ts'

const seed = chosenSeed()
const isLong = process.env.ANNAL_LONG === '1'
const kills = isLong ? 20 : 3
const increments = Number(process.env.ANNAL_INCREMENTS ?? (isLong ? 10_000 : 60))
const timeout = kills * 60_000 + increments * 100
tap.setTimeout(2 * timeout)

for (const way of ['conditions', 'increments'] as const)
  test(`a counter by ${way} is exact over ${kills} kills, seed ${seed}`, { timeout }, async (t) => {
    const random = seededRandom(seed)
    const server = await mortalServer(t, { NDD_SERVER_PORT: String(await freePort()) })
    const client = connect({ url: server.url, retriesMax: 1_000, timeoutMs: 300_000 })
    const counters = await client.createCollection({ name: 'counters', fields: [denseField('v', { dimension: 2 })] })
    await counters.upsert([{ id: 'c', filter: { n: 0 }, fields: { v: [1, 2] } }])
    let [applied, conflicts, repeated] = [0, 0, 0]
    const faults: string[] = []

    async function nextValue() {
      const stored = await counters.get('c')
      if (stored === undefined) throw new Error('the counter is gone')
      return { filter: { n: Number(stored.filter.n) + 1 }, ifLsn: stored.lsn }
    }

    async function add(idempotencyKey: string): Promise<void> {
      const change = way === 'increments' ? { increment: { n: 1 } } : await nextValue()
      const write = () => counters.patch([{ id: 'c', ...change }], { idempotencyKey })
      const { results } = await write()
      if (results?.[0]?.status === 'ok') applied++
      else {
        conflicts++
        // Clients that read the same value would conflict again and again.
        await sleep(random.below(200))
      }
      if (!random.chance(0.2)) return
      const again = await write()
      repeated++
      if (JSON.stringify(again.results) !== JSON.stringify(results))
        faults.push(JSON.stringify([results, again.results]))
    }

    const adding = Array.from({ length: 32 }, async (_, writer) => {
      for (let i = 0; applied < increments; i++) await add(`${writer}-${i}`)
    })
    const killing = (async () => {
      for (let kill = 0; kill < kills; kill++) {
        const enough = Math.floor((increments * (kill + random.next())) / kills)
        await until(() => applied >= enough)
        await server.kill()
        await server.start()
      }
    })()
    await Promise.all([...adding, killing])
    const last = await counters.get('c')
    t.equal(last?.filter?.n, applied, 'the counter is the sum of what was acknowledged')
    t.strictSame(faults, [], 'a repetition gets the first verdict')
    t.ok(repeated > 0 && (way === 'increments' ? conflicts === 0 : conflicts > 0))
    t.comment(JSON.stringify({ seed, way, kills, applied, conflicts, repeated }))
  })
