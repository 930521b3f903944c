// A server with little memory rejects writes with 507 before the kernel ends it, whatever honest clients write, keeps serving reads and deletes, and
// accepts writes again when something was dropped. By default 4 clients and the least memory that a server starts with; long form: more
// clients and more memory. `memory-figures.ts` prints where the memory goes.
import tap, { test } from 'tap'
import { memoryLimitMin } from '../src/memory-limit.ts'
import { eventually } from './eventually.ts'
import { type MemoryCgroup, makeMemoryCgroup } from './memory-cgroup.ts'
import { call, fill, filledDefinition, filledObject, missing } from './memory-load.ts'
import { allocator } from './memory-server.ts'
import { temporaryDirectory } from './running-app.ts'
import { startProcess } from './running-process.ts'

tap.setTimeout(3_600_000)

const isLong = process.env.ANNAL_LONG === '1'
const mebibyte = 2 ** 20
const rounds = [
  { mebibytes: memoryLimitMin / mebibyte, clients: 4 },
  ...(isLong
    ? [
        { mebibytes: 450, clients: 4 },
        { mebibytes: 450, clients: 64 },
        { mebibytes: 700, clients: 64 },
        { mebibytes: 1_144, clients: 4 },
      ]
    : []),
]

/** One group after another: the name has the number of this process. */
async function groupOf(bytes: number): Promise<MemoryCgroup | undefined> {
  return process.env.ANNAL_NO_CGROUP === '1' ? undefined : makeMemoryCgroup(bytes)
}

const probe = await groupOf(memoryLimitMin)
await probe?.remove()
const skip = probe === undefined && 'no memory control group can be created here'

for (const { mebibytes, clients } of rounds)
  test(`${clients} clients fill a server with ${mebibytes} MiB`, { skip, timeout: 3_600_000 }, async (t) => {
    const group = (await groupOf(mebibytes * mebibyte)) as MemoryCgroup
    const environment = { NDD_DATA_DIR: await temporaryDirectory(t), NDD_NUM_SERVER_THREADS: '2', ...allocator }
    let server = startProcess(environment, undefined, group.join)
    t.teardown(async () => {
      server.child.kill('SIGKILL')
      await server.ended
      await group.remove()
    })
    const url = await server.serving
    for (const name of ['kept', 'dropped'])
      t.equal((await call(url, 'POST', '/api/v2/collection', filledDefinition(name))).status, 200)
    const first = await fill({ url, collection: 'dropped', clients, batchesMax: 4 })
    t.same(first.failures, [])
    const filled = await fill({ url, collection: 'kept', clients, refusalsMax: 2 })
    t.comment(`${filled.acknowledged.length} batches acknowledged, ${filled.refused} refused: ${filled.lastRefusal}`)
    t.same(filled.failures, [], 'every other reply is 200, 503, or 507')
    t.match(JSON.parse(filled.lastRefusal), { code: 'memory_exhausted', field: 'memory' })
    t.ok(filled.acknowledged.length >= 2, 'it took some before')
    t.equal(await group.kills(), 0, 'the kernel ended nothing')
    const health = JSON.parse((await call(url, 'GET', '/api/v2/health')).text)
    t.match(health, { status: 'degraded' })
    t.same(await missing(url, 'kept', filled), [], 'everything acknowledged can be read')
    const { dense } = filledObject(1).fields
    const search = { fields: { dense: { query: dense, limit: 10 } } }
    t.equal((await call(url, 'POST', '/api/v2/collection/kept/search', search)).status, 200)
    const metrics = (await call(url, 'GET', '/metrics')).text
    t.match(metrics, new RegExp(`^annal_memory_limit_bytes ${mebibytes * mebibyte}$`, 'm'))
    t.match(metrics, /^annal_memory_refused_total [1-9]/m)

    t.equal((await call(url, 'DELETE', '/api/v2/collection/dropped')).status, 200, 'a drop goes on')
    for (const group of Array.from({ length: 20 }, (_, i) => `g${i}`)) {
      const filter = [{ group: { $eq: group } }]
      const reply = await call(url, 'DELETE', '/api/v2/collection/kept/objects', { filter })
      if (reply.status !== 200) t.equal(reply.status, 200, `deletes go on: ${reply.text}`)
    }
    const objects = Array.from({ length: 100 }, (_, i) => filledObject(10_000_000 + i))
    const again = await eventually(async () => {
      const reply = await call(url, 'POST', '/api/v2/collection/kept/objects', { objects })
      return reply.status === 200 ? reply : undefined
    })
    t.equal(again.status, 200, 'writes are accepted again')

    server.child.kill('SIGTERM')
    t.equal((await server.ended).code, 0)
    server = startProcess(environment, undefined, group.join)
    const restarted = await server.serving
    const wrong = await missing(restarted, 'kept', filled)
    const isDeleted = (id: string) => Number(id.slice(1)) % 97 < 20
    t.same(
      wrong.filter((id) => !isDeleted(id)),
      [],
      'a start with the same memory has everything',
    )
    t.equal(await group.kills(), 0)
  })

test('a server with less memory than it needs does not start', async (t) => {
  const megabytes = memoryLimitMin / mebibyte - 1
  const server = startProcess({ NDD_DATA_DIR: await temporaryDirectory(t), NDD_MEMORY_MAX_MB: String(megabytes) })
  t.equal((await server.ended).code, 64)
  t.match(server.stderr(), /this process may use only 255 MiB of memory, and a server needs at least 256 MiB/)
})
