// SIGKILL of the server under writes, again and again, while consumers follow the change feed, are stopped, and continue at their cursors. At
// the end, what each got is compared with the log: every event at least once, in order, none missing.
import { setTimeout as sleep } from 'node:timers/promises'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { until } from '../../server/test/eventually.ts'
import { freePort } from '../../server/test/free-port.ts'
import { type AnnalError, type Client, connect, denseField } from '../src/index.ts'
import { mortalServer } from './mortal-server.ts'

const seed = chosenSeed()
const kills = process.env.ANNAL_LONG === '1' ? 100 : 3
const writers = 3

tap.setTimeout(kills * 60_000 + 120_000)

interface Consumer {
  /** LSNs by session, in the order in which they came. */
  readonly sessions: number[][]
  readonly stopped: Promise<void>
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
  let lsnEnd = Number.POSITIVE_INFINITY
  const consumers = Array.from({ length: 4 }, (_, i) => consumerOf(client, `c${i}`, i < 2, () => lsnEnd, random))
  for (let kill = 0; kill < kills; kill++) {
    const enough = written + 1 + random.below(30)
    await until(() => written >= enough)
    await server.kill()
    await server.start()
  }
  isOver = true
  await Promise.all(writing)
  const { lsn } = await films.upsert([{ id: 'last', fields: { v: [1, 1] } }])
  lsnEnd = lsn
  await Promise.all(consumers.map(({ stopped }) => stopped))
  const log = await lsnsOf(client)
  t.ok(written > kills && log.includes(lsn), `${written} writes`)
  for (const [i, { sessions }] of consumers.entries()) {
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
  t.comment(JSON.stringify({ seed, kills, written, sessions: consumers.map(({ sessions }) => sessions.length) }))
})

/** A consumer that resumes is one session; the others are stopped at random and continue at their cursor. */
function consumerOf(
  client: Client,
  cursor: string,
  isLasting: boolean,
  lsnEnd: () => number,
  random: { below(n: number): number; chance(p: number): boolean },
): Consumer {
  const sessions: number[][] = []
  const run = async () => {
    for (let isDone = false; !isDone; ) {
      const session: number[] = []
      sessions.push(session)
      try {
        for await (const { lsn } of client.changes(isLasting ? { from: 1 } : { cursor, from: 1 })) {
          session.push(lsn)
          if (lsn >= lsnEnd()) {
            isDone = true
            break
          }
          if (!isLasting && random.chance(0.2)) await client.cursors.acknowledge(cursor, lsn)
          if (!isLasting && random.chance(0.01)) break
        }
      } catch (error) {
        // The server is away when the session begins, or when it acknowledges.
        if (!(error as AnnalError).retryable) throw error
        await sleep(50)
      }
    }
  }
  return { sessions, stopped: run() }
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
