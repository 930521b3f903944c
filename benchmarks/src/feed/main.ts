// What consumers of the change feed cost writers: writes a second and CPU time of the server for each write, without and with consumers that read
// every change over HTTP in a process of their own, by turns.
//
//   npm run bench:feed -- [--consumers 100] [--connections 8] [--objects 10] [--rows 20000] [--rounds 12] [--seconds 1]
//
// `--objects` is the number of objects of a write, and `--rows` the size of the collection, whose objects the writes replace.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type BenchedServer, startServer } from '../http/server-process.ts'
import { readOptions } from '../options.ts'

const { consumers, connections, objects, rows, rounds, seconds } = readOptions({
  consumers: 100,
  connections: 8,
  objects: 10,
  rows: 20_000,
  rounds: 12,
  seconds: 1,
})
const dimension = 128
const loadBatch = 500
const bodiesKept = 256

let state = 42
const random = () => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state / 2 ** 32
}
const object = (n: number) => ({
  id: `object-${n}`,
  meta: { title: `title of ${n}` },
  filter: { group: n % 10 },
  fields: { v: Array.from({ length: dimension }, () => Math.round(random() * 1e4) / 1e4) },
})
const bodyOf = (ids: readonly number[]) => JSON.stringify({ objects: ids.map(object) })

interface Turn {
  readonly writesPerSecond: number
  readonly cpuMsPerWrite: number
  readonly bytes: number
}

const agent = new http.Agent({ keepAlive: true, maxSockets: connections })

async function post(port: number, route: string, body: string): Promise<void> {
  const request = http.request({ port, path: `/api/v2${route}`, method: 'POST', agent })
  request.setHeader('content-type', 'application/json')
  request.end(body)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  response.resume()
  await once(response, 'end')
  if (response.statusCode !== 200) throw new Error(`${route}: ${response.statusCode}`)
}

async function cpuMs(server: BenchedServer): Promise<number> {
  return [...(await server.cpu()).values()].reduce((sum, ms) => sum + ms, 0)
}

async function turn(server: BenchedServer, count: number, bodies: readonly string[]): Promise<Turn> {
  const child =
    count > 0
      ? fork(fileURLToPath(new URL('consumers.ts', import.meta.url)), [`${server.port}`, `${count}`])
      : undefined
  if (child) await once(child, 'message')
  const [beganMs, before] = [performance.now(), await cpuMs(server)]
  let writes = 0
  await Promise.all(
    Array.from({ length: connections }, async (_, i) => {
      for (let at = i; performance.now() - beganMs < seconds * 1_000; at += connections) {
        await post(server.port, '/collection/feed/objects', bodies[at % bodies.length] as string)
        writes++
      }
    }),
  )
  const tookMs = performance.now() - beganMs
  // What the last writes cause is part of their cost.
  await sleep(100)
  const cpu = (await cpuMs(server)) - before
  let bytes = 0
  if (child) {
    child.send('stop')
    const [last] = (await once(child, 'message')) as [{ readonly bytes: number }]
    bytes = last.bytes
    await once(child, 'exit')
  }
  return { writesPerSecond: writes / (tookMs / 1_000), cpuMsPerWrite: cpu / writes, bytes }
}

const median = (list: readonly number[]) => [...list].sort((a, b) => a - b)[list.length >> 1] as number
const shown = (list: readonly number[], digits: number) =>
  `${median(list).toFixed(digits)} (${Math.min(...list).toFixed(digits)} to ${Math.max(...list).toFixed(digits)})`

const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-feed-'))
const server = await startServer({ dataDir })
try {
  const params = { dimension, space_type: 'cosine' }
  await post(
    server.port,
    '/collection',
    JSON.stringify({ name: 'feed', fields: [{ name: 'v', type: 'vector', params }] }),
  )
  const numbersFrom = (from: number, count: number) => Array.from({ length: count }, (_, i) => (from + i) % rows)
  for (let from = 0; from < rows; from += loadBatch)
    await post(server.port, '/collection/feed/objects', bodyOf(numbersFrom(from, loadBatch)))
  const bodies = Array.from({ length: bodiesKept }, (_, i) => bodyOf(numbersFrom(i * objects, objects)))
  await turn(server, consumers, bodies)
  await turn(server, 0, bodies)
  const pairs: (readonly [without: Turn, following: Turn])[] = []
  for (let round = 0; round < rounds; round++) {
    const first = await turn(server, round % 2 === 0 ? 0 : consumers, bodies)
    const second = await turn(server, round % 2 === 0 ? consumers : 0, bodies)
    pairs.push(round % 2 === 0 ? [first, second] : [second, first])
  }
  console.log(
    `${consumers} consumers, ${connections} connections of writers, ${objects} objects a write, ${rows} rows, ${rounds} rounds`,
  )
  console.log(
    `writes a second without: ${shown(
      pairs.map(([one]) => one.writesPerSecond),
      0,
    )}`,
  )
  console.log(
    `writes a second with:    ${shown(
      pairs.map(([, one]) => one.writesPerSecond),
      0,
    )}`,
  )
  console.log(
    `ratio of writes:         ${shown(
      pairs.map(([one, other]) => other.writesPerSecond / one.writesPerSecond),
      3,
    )}`,
  )
  console.log(
    `ratio of server CPU:     ${shown(
      pairs.map(([one, other]) => other.cpuMsPerWrite / one.cpuMsPerWrite),
      3,
    )}`,
  )
  console.log(
    `MB delivered in a turn:  ${shown(
      pairs.map(([, { bytes }]) => bytes / 1e6),
      1,
    )}`,
  )
} finally {
  agent.destroy()
  await server.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
