// A server in a control group with 1 GiB of memory, under honest load, without and with attackers outside of the group that send hostile
// bodies to every route: it is not restarted, stays below 700 MB, and replies to every honest request. Long form only, because it takes
// minutes. The slowdown of honest requests is printed, and compared with its limits if ANNAL_QUIET=1 states that nothing else runs on the
// machine. ANNAL_BODIES sets another number of bodies than 1,000.
import { execFile } from 'node:child_process'
import os from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test } from 'tap'
import { type MemoryCgroup, makeMemoryCgroup } from './memory-cgroup.ts'
import { temporaryDirectory } from './running-app.ts'
import { startWatchedProcess } from './watched-process.ts'

const isLong = process.env.ANNAL_LONG === '1'
const isQuiet = process.env.ANNAL_QUIET === '1'
const bodies = Number(process.env.ANNAL_BODIES ?? 1_000)
const gibibyte = 2 ** 30
const rssMax = 700e6
const p999MoreMax = 250
const mostMoreMax = 1_000
/** Honest requests start at this interval, regardless of earlier replies. */
const everyMs = 20
const quietRequests = 3_000
const dimension = 64

const made = isLong ? await makeMemoryCgroup(gibibyte) : undefined
const skip = isLong ? made === undefined && 'no memory control group can be made here' : 'long form only'

test('hostile bodies next to honest load, in 1 GiB', { skip, timeout: 3_600_000 }, async (t) => {
  const group = made as MemoryCgroup
  const dataDir = await temporaryDirectory(t)
  const server = startWatchedProcess({ NDD_DATA_DIR: dataDir, NDD_LOG_LEVEL: 'silent' }, group.join)
  t.teardown(async () => {
    server.child.kill('SIGTERM')
    await server.ended
    await group.remove()
  })
  const url = await server.serving
  await fill(url)
  const peak = async (): Promise<number> => (await server.memory()).peak
  const turn = async (): Promise<string> => {
    const { clockMs, cpuMs } = await server.longestTurn()
    return `longest turn ${clockMs} ms, ${cpuMs} ms of the processor`
  }
  await turn()
  const before = await honestLoad(url, (sent) => sent >= quietRequests)
  t.comment(`without attackers: ${shown(before)}, ${megabytes(await peak())}, ${await turn()}`)
  let isOver = false
  const attacker = fileURLToPath(new URL('hostile-attacker.ts', import.meta.url))
  const attacking = attack([attacker, url, String(bodies)]).finally(() => {
    isOver = true
  })
  const during = await honestLoad(url, (sent) => isOver && sent >= quietRequests)
  const tally = await attacking
  t.comment(`with attackers: ${shown(during)}, ${megabytes(await peak())}, ${await turn()}`)
  t.comment(`${bodies} hostile bodies: ${tally.trim()}`)
  const after = await honestLoad(url, (sent) => sent >= quietRequests)
  t.comment(`without attackers again: ${shown(after)}, ${await turn()}`)
  const load = os.loadavg().map((one) => one.toFixed(1))
  t.comment(`load of the machine ${load.join(' ')}, ${os.availableParallelism()} cores, cgroup v${group.version}`)
  t.equal(server.child.exitCode, null, 'the same process serves')
  t.equal(await group.kills(), 0, 'the kernel ended none')
  t.ok((await peak()) < rssMax, `at most ${megabytes(await peak())} of memory`)
  for (const { failures } of [before, during, after]) t.same(failures, [], 'every honest request is answered')
  const [p999, most] = [
    during.p999 - Math.max(before.p999, after.p999),
    during.most - Math.max(before.most, after.most),
  ]
  t.comment(`p99.9 ${p999.toFixed(0)} ms more than without attackers, the longest ${most.toFixed(0)} ms more`)
  if (!isQuiet) return
  t.ok(p999 <= p999MoreMax, `p99.9 at most ${p999MoreMax} ms more`)
  t.ok(most <= mostMoreMax, `the longest at most ${mostMoreMax} ms more`)
})

async function attack(args: string[]): Promise<string> {
  const [program, ...rest] = ['nice', '-n', '19', process.execPath, '--conditions=annal-source', ...args]
  return (await promisify(execFile)(program as string, rest, { timeout: 3_000_000 })).stdout
}

interface Load {
  readonly requests: number
  readonly p50: number
  readonly p99: number
  readonly p999: number
  readonly most: number
  /** At most ten. */
  readonly failures: readonly string[]
}

/** Nine searches, half of them filtered, and one upsert alternate. Each is timed from when it was due. */
async function honestLoad(url: string, isOver: (sent: number) => boolean): Promise<Load> {
  const times: number[] = []
  const failures: string[] = []
  const open = new Set<Promise<void>>()
  const begun = performance.now()
  let sent = 0
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      for (; begun + sent * everyMs <= performance.now() && !isOver(sent); sent++) {
        const due = begun + sent * everyMs
        const running = honestRequest(url, sent)
          .catch((error: Error) => `${error.message}: ${error.cause}`)
          .then((failure) => {
            times.push(performance.now() - due)
            if (failure !== undefined && failures.length < 10) failures.push(failure)
          })
          .finally(() => open.delete(running))
        open.add(running)
      }
      if (!isOver(sent)) return
      clearInterval(timer)
      resolve()
    }, everyMs)
  })
  await Promise.all(open)
  times.sort((a, b) => a - b)
  const quantile = (share: number): number =>
    times[Math.min(times.length - 1, Math.floor(share * times.length))] as number
  return { requests: sent, p50: quantile(0.5), p99: quantile(0.99), p999: quantile(0.999), most: quantile(1), failures }
}

async function honestRequest(url: string, i: number): Promise<string | undefined> {
  const [path, body] =
    i % 10 === 9
      ? ['objects', { objects: Array.from({ length: 5 }, (_, index) => objectOf((i * 5 + index) % 20_000)) }]
      : [
          'search',
          {
            fields: { v: { query: vectorOf(i), limit: 10 } },
            ...(i % 2 === 0 && { filter: [{ color: { $eq: i % 7 } }] }),
          },
        ]
  const ask = () =>
    fetch(`${url}/api/v2/collection/honest/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(body),
    })
  // Retried like clients do, because the server may close an idle connection just as it is used again.
  const answer = await ask().catch(ask)
  const text = await answer.text()
  return answer.status === 200 ? undefined : `${answer.status} ${text.slice(0, 200)}`
}

function vectorOf(i: number): number[] {
  return Array.from({ length: dimension }, (_, index) => Math.sin(i * 31 + index * 7))
}

function objectOf(i: number) {
  return { id: `o${i}`, meta: { title: `object ${i}` }, filter: { color: i % 7 }, fields: { v: vectorOf(i) } }
}

/** The honest collection with 20,000 objects, and the one that is attacked. */
async function fill(url: string): Promise<void> {
  const post = async (path: string, body: object): Promise<void> => {
    const answer = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (answer.status !== 200) throw new Error(await answer.text())
  }
  const params = { dimension, space_type: 'cosine', precision: 'int8' }
  await post('/api/v2/collection', { name: 'honest', fields: [{ name: 'v', type: 'vector', params }] })
  for (let index = 0; index < 20_000; index += 1_000) {
    const objects = Array.from({ length: 1_000 }, (_, i) => objectOf(index + i))
    await post('/api/v2/collection/honest/objects', { objects })
  }
  await post('/api/v1/index/create', { index_name: 'docs', dim: 4, space_type: 'l2', precision: 'float32' })
}

function shown({ requests, p50, p99, p999, most }: Load): string {
  const [a, b, c, d] = [p50, p99, p999, most].map((ms) => ms.toFixed(1))
  return `${requests} requests, p50 ${a} ms, p99 ${b}, p99.9 ${c}, longest ${d}`
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`
}
