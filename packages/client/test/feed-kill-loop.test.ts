// SIGKILL of the server and of its consumers under writes, again and again. Consumers follow the change feed, and those that are killed continue
// at their cursors. At the end, what each got is compared with the log: every event at least once, in order, none missing.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { until } from '../../server/test/eventually.ts'
import { freePort } from '../../server/test/free-port.ts'
import { type AnnalError, type Client, connect, denseField } from '../src/index.ts'
import { mortalServer } from './mortal-server.ts'

const seed = chosenSeed()
const kills = process.env.ANNAL_LONG === '1' ? 100 : 3
const writers = 3

tap.setTimeout(kills * 60_000 + 120_000)

const consumerProgram = fileURLToPath(new URL('feed-consumer.ts', import.meta.url))

interface Consumer {
  /** LSNs by session, in the order in which they came. */
  sessions(): number[][]
  /** Ends it with SIGKILL and starts it again. */
  kill?(): Promise<void>
  /** Resolves when it has got the record. */
  reached(lsn: number): Promise<void>
}

test(`${kills} kills lose no event, seed ${seed}`, { timeout: kills * 60_000 + 120_000 }, async (t) => {
  const random = seededRandom(seed)
  const port = await freePort()
  const server = await mortalServer(t, { NDD_SERVER_PORT: String(port) })
  const client = connect({ url: server.url, retriesMax: 0 })
  const films = await client.createCollection({ name: 'films', fields: [denseField('v', { dimension: 2 })] })
  let isOver = false
  let written = 0
  const writing = Array.from({ length: writers }, async (_, writer) => {
    for (let i = 0; !isOver; i++) {
      const id = `${writer}-${i % 50}`
      const failed = await films
        .upsert([{ id, filter: { n: i }, fields: { v: [i, writer] } }])
        .catch((error: AnnalError) => error)
      if ('code' in failed) await sleep(20)
      else written++
    }
  })
  const consumers = [
    lastingConsumer(client),
    lastingConsumer(client),
    ...['c0', 'c1'].map((cursor) => mortalConsumer(t, server.url, cursor)),
  ]
  let consumerKills = 0
  for (let kill = 0; kill < kills; kill++) {
    const enough = written + 1 + random.below(30)
    await until(() => written >= enough)
    await server.kill()
    for (const { kill: end } of consumers) {
      if (end === undefined || random.chance(0.3)) continue
      await end()
      consumerKills++
    }
    await server.start()
    // Also while the server answers.
    if (random.chance(0.5)) await consumers.at(-1)?.kill?.()
  }
  isOver = true
  await Promise.all(writing)
  const { lsn } = await films.upsert([{ id: 'last', fields: { v: [1, 1] } }])
  await Promise.all(consumers.map((consumer) => consumer.reached(lsn)))
  const log = await lsnsOf(client)
  t.ok(written > kills && log.includes(lsn), `${written} writes`)
  for (const [i, consumer] of consumers.entries()) {
    const sessions = consumer.sessions()
    const seen = new Set<number>()
    // The server was away when others began.
    for (const session of sessions.filter(({ length }) => length > 0)) {
      t.strictSame(
        session,
        [...new Set(session)].sort((a, b) => a - b),
        `consumer ${i}: in order`,
      )
      const first = session[0] ?? lsn
      t.strictSame(
        log.filter((one) => one < first && !seen.has(one)),
        [],
        `consumer ${i}: nothing skipped at ${first}`,
      )
      for (const one of session) seen.add(one)
    }
    t.strictSame(
      [...seen].sort((a, b) => a - b),
      log,
      `consumer ${i}: every event`,
    )
  }
  const counts = consumers.map((consumer) => consumer.sessions().length)
  t.comment(JSON.stringify({ seed, kills, consumerKills, written, sessions: counts }))
})

/** A consumer of this process, whose session survives the kills of the server. */
function lastingConsumer(client: Client): Consumer {
  const session: number[] = []
  const end = new AbortController()
  const run = (async () => {
    for await (const { lsn } of client.changes({ from: 1 }, { signal: end.signal })) session.push(lsn)
  })()
  return {
    sessions: () => [session],
    async reached(lsn) {
      await until(() => session.includes(lsn))
      end.abort()
      await run
    },
  }
}

/** A consumer in a process of its own. */
function mortalConsumer(t: Test, url: string, cursor: string): Consumer {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'annal-consumer-'))
  const file = path.join(dir, 'lsns')
  const args = ['--conditions=annal-source', consumerProgram, url, cursor, file]
  const start = () => spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  let child = start()
  const end = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
  t.teardown(async () => {
    await end()
    rmSync(dir, { recursive: true, force: true })
  })
  const sessions = () => {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
    return text.split('begin\n').map((session) => session.split('\n').filter(Boolean).map(Number))
  }
  return {
    sessions,
    async kill() {
      if (child.exitCode !== null) throw new Error(`the consumer ended with ${child.exitCode}`)
      await end()
      child = start()
    },
    async reached(lsn) {
      await until(() => sessions().some((session) => session.includes(lsn)))
      await end()
    },
  }
}

async function lsnsOf(client: Client): Promise<number[]> {
  const lsns: number[] = []
  for (let from: number | undefined = 1; from !== undefined; ) {
    const page: Awaited<ReturnType<Client['history']['events']>> = await client.history.events({
      from,
      collection: 'films',
      limit: 500,
    })
    lsns.push(...page.events.map(({ lsn }) => lsn))
    from = page.next
  }
  return lsns
}
