// The same random requests, valid and malformed, to a server with one serving thread and to one with three, which hold the same content: the
// same bytes come back but for request ids, dates, times, and the order of equal scores. Also to two servers with one thread, which shows
// that the comparison is sound. ANNAL_REQUESTS sets the number of requests.
import { chosenSeed } from '@annal/wal/testing'
import { type Test, test } from 'tap'
import { choicesFrom } from './differential/choices.ts'
import { difference } from './differential/comparable.ts'
import { contents } from './differential/contents.ts'
import { describedRequests } from './differential/described-requests.ts'
import { hotRequest } from './differential/hot-requests.ts'
import { type Exchange, type Exchanged, exchange } from './differential/raw-connection.ts'
import { rawExchange } from './differential/raw-requests.ts'
import { readDescription } from './openapi/description.ts'
import { send, temporaryDirectory } from './running-app.ts'
import { startProcess } from './running-process.ts'

const isLong = process.env.ANNAL_LONG === '1'
const requestsWanted = Number(process.env.ANNAL_REQUESTS ?? (isLong ? 100_000 : 250))
const seed = chosenSeed()
const description = await readDescription()
const token = 'a-token-of-the-differential-test'

async function startServer(t: Test, threads: number, environment: Readonly<Record<string, string>>): Promise<number> {
  const running = startProcess({
    NDD_DATA_DIR: await temporaryDirectory(t),
    NDD_NUM_SERVER_THREADS: `${threads}`,
    ...environment,
  })
  t.teardown(async () => {
    running.child.kill('SIGKILL')
    await running.ended
  })
  const url = await running.serving
  const headers = { authorization: token }
  for (const { path, json } of contents(choicesFrom(seed))) {
    const { status, text } = await send(url, 'POST', path, { json, headers })
    if (status !== 200) throw new Error(`${path}: ${text}`)
  }
  return Number(new URL(url).port)
}

async function compare(t: Test, threads: readonly [number, number], environment: Readonly<Record<string, string>>) {
  t.comment(`ANNAL_SEED=${seed}, ${requestsWanted} requests`)
  const ports = await Promise.all(threads.map((count) => startServer(t, count, environment)))
  const choices = choicesFrom(seed)
  const described = describedRequests(description)
  // The servers have different ports, and their names do not depend on it.
  const tokens = environment.NDD_AUTH_TOKEN === undefined ? [] : [token, `Bearer ${token}`, ` ${token} `]
  const authority = { host: 'localhost', tokens }
  const statuses = new Map<string, number>()
  let sent = 0
  let stalled = 0
  while (sent < requestsWanted) {
    const next = rawExchange(choices, authority, () => (choices.chance(0.8) ? hotRequest(choices) : described(choices)))
    const [first, second] = (await Promise.all(ports.map((port) => exchange(port, next)))) as [Exchanged, Exchanged]
    const methods = next.turns.flatMap((turn) => turn.methods)
    sent += methods.length
    stalled += Number(first.isStalled) + Number(second.isStalled)
    const found = difference(first.bytes, second.bytes, methods, {
      isCut: next.isCut,
      isPipelined: next.turns.some((turn) => turn.methods.length > 1),
      mayMove: threads[0] !== threads[1],
    })
    if (found !== undefined || first.isStalled !== second.isStalled) {
      t.fail(`request ${sent}: ${found ?? 'one server did not reply'}`, {
        sent: printed(next),
        replies: [first, second].map(({ bytes, isStalled }) => [isStalled, bytes.toString('latin1').slice(0, 4_000)]),
      })
      return
    }
    if (/HTTP\/1\.1 500/.test(first.bytes.toString('latin1'))) {
      t.fail(`request ${sent}: an internal error`, { sent: printed(next), reply: first.bytes.toString('latin1') })
      return
    }
    for (const [status] of first.bytes.toString('latin1').matchAll(/(?<=HTTP\/1\.1 )\d{3}/g))
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  t.comment(`${sent} requests; replies by status: ${JSON.stringify(Object.fromEntries([...statuses].sort()))}`)
  t.ok((statuses.get('200') ?? 0) > 0.25 * sent, 'many are valid')
  t.ok((statuses.get('400') ?? 0) > 0.1 * sent, 'many are rejected')
  t.ok(stalled <= 0.005 * sent, `${stalled} requests without a reply`)
}

function printed({ turns }: Exchange): string[] {
  return turns.flatMap(({ parts }) => parts.map((part) => JSON.stringify(part.toString('latin1')).slice(0, 4_000)))
}

for (const threads of [
  [1, 1],
  [1, 3],
] as const) {
  const name = `${threads.join(' and ')} serving threads reply alike`
  test(name, { timeout: 3_600_000 }, (t) => compare(t, threads, {}))
}

test('1 and 3 serving threads reply alike to the holder of a token', { timeout: 3_600_000 }, (t) =>
  compare(t, [1, 3], { NDD_AUTH_TOKEN: token }),
)
