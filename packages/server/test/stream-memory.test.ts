// What large honest transfers take of memory: backups that are downloaded, uploaded, and restored, and bodies that pass through the
// dashboard's process. A stream takes the same whatever its length; a restored collection takes what it accounts for. The short form
// sends little and proves the paths; the long form sends more than 95 MiB and bounds the memory.
import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import http from 'node:http'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { eventually } from './eventually.ts'
import { sendBody } from './hostile-clients.ts'
import { temporaryDirectory } from './running-app.ts'
import { startWatchedProcess, type WatchedProcess } from './watched-process.ts'

const mebibyte = 1_048_576
const isLong = process.env.ANNAL_LONG === '1'
const dimension = 4_096
const objects = isLong ? 6_000 : 100
const headroom = 64 * mebibyte
const dashboardProcess = fileURLToPath(new URL('dashboard-process.ts', import.meta.url))

type Json = Readonly<Record<string, unknown>>

async function call(url: string, method: string, route: string, body?: object): Promise<Json> {
  const response = await fetch(`${url}/api/v2${route}`, {
    method,
    ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${route}: ${response.status} ${text}`)
  return text.startsWith('{') ? (JSON.parse(text) as Json) : {}
}

function vectorText(seed: number, digits: number): string {
  const number = (i: number): string => ((((seed * dimension + i) * 7_919) % 100_003) / 100_003 - 0.5).toFixed(digits)
  return `[${Array.from({ length: dimension }, (_, i) => number(i)).join(',')}]`
}

const short = Array.from({ length: 16 }, (_, i) => vectorText(i, 8))
/** With these, a thousand objects are as many bytes as an upsert may have. */
const long = Array.from({ length: 16 }, (_, i) => vectorText(i, 20))

function* upsertOf(from: number, count: number): Generator<Buffer> {
  const vectors = from < 2_000 ? long : short
  yield Buffer.from('{"objects":[')
  for (let i = from; i < from + count; i++)
    yield Buffer.from(`${i === from ? '' : ','}{"id":"o${i}","fields":{"dense":${vectors[i % 16]}}}`)
  yield Buffer.from(']}')
}

/** An upload whose bytes come from the disk, so that this process holds none of them. */
function upload(url: string, name: string, file: string, bytes: number | undefined): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/x-tar', ...(bytes !== undefined && { 'content-length': bytes }) }
    const request = http.request(`${url}/api/v2/backups/upload?name=${name}`, { method: 'POST', headers })
    request.on('error', reject)
    request.on('response', (response) => response.resume().on('end', () => resolve(response.statusCode ?? 0)))
    createReadStream(file).on('error', reject).pipe(request)
  })
}

async function download(url: string, name: string, file: string): Promise<void> {
  const request = http.get(`${url}/api/v2/backups/${name}/download`)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`download: ${response.statusCode}`)
  await pipeline(response, createWriteStream(file))
}

/** What the collections of a server take, as it counts it itself. */
async function memoryOf(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const parts = [...text.matchAll(/^annal_memory_bytes\{[^}]*\} (\S+)$/gm)].map(([, bytes]) => Number(bytes))
  return parts.reduce((sum, bytes) => sum + bytes, 0)
}

/** Runs the work and compares how much the memory of a process grew meanwhile. */
async function bounded(t: Test, watched: WatchedProcess, what: string, most: number, work: () => Promise<unknown>) {
  const before = (await watched.memory()).now
  await watched.resetPeak()
  await work()
  const grown = (await watched.memory()).peak - before
  const sentence = `${what}: memory grew by ${(grown / mebibyte).toFixed(0)} MiB, at most ${(most / mebibyte).toFixed(0)} MiB`
  if (isLong) t.ok(grown <= most, sentence)
  else t.comment(sentence)
}

async function started(
  t: Test,
  environment: Readonly<Record<string, string>>,
  main?: string,
): Promise<[WatchedProcess, string]> {
  const watched = startWatchedProcess(environment, [], main)
  t.teardown(async () => {
    watched.child.kill('SIGTERM')
    await watched.ended
  })
  return [watched, await watched.serving]
}

test('backups and bodies that pass through take the same memory whatever their length', {
  timeout: 3_600_000,
}, async (t) => {
  const dir = await temporaryDirectory(t)
  const [server, url] = await started(t, { NDD_DATA_DIR: path.join(dir, 'data'), NDD_LOG_LEVEL: 'silent' })
  const [dashboard, through] = await started(t, { NDD_SERVER_URL: url }, dashboardProcess)
  const params = { dimension, space_type: 'l2', precision: 'int8' }
  await call(url, 'POST', '/collection', { name: 'large', fields: [{ name: 'dense', type: 'vector', params }] })
  for (let from = 0; from < objects; from += 1_000) {
    const chunks = [...upsertOf(from, Math.min(1_000, objects - from))]
    const bytes = chunks.reduce((sum, { length }) => sum + length, 0)
    const send = async (declares: boolean) => {
      const target = { method: 'POST', path: '/api/v2/collection/large/objects', type: 'application/json' }
      const reply = await sendBody(through, { ...target, bytes, chunks, declares })
      t.equal(reply.status, 200, `${reply.code ?? ''}`)
    }
    await bounded(
      t,
      dashboard,
      `${(bytes / mebibyte).toFixed(0)} MiB of an upsert through the dashboard`,
      headroom,
      () => send(from % 2_000 === 0),
    )
  }
  await call(url, 'POST', '/collection/large/backup', { name: 'one' })
  await eventually(async () => (await call(url, 'GET', '/status/backup')).status !== 'running' || undefined)
  const file = path.join(dir, 'one.tar')
  await bounded(t, server, 'download', headroom, () => download(url, 'one', file))
  const { size } = await stat(file)
  const length = `${(size / mebibyte).toFixed(0)} MiB`
  t.ok(!isLong || size > 95 * mebibyte, length)
  await bounded(t, dashboard, `download of ${length} through the dashboard`, headroom, () =>
    download(through, 'one', `${file}-2`),
  )
  t.equal((await stat(`${file}-2`)).size, size)
  // An upload is proved by building the collection once more, and a restore builds it to stay.
  const collection = await memoryOf(url)
  for (const [i, bytes] of [size, undefined].entries()) {
    const what = `upload of ${length} ${bytes === undefined ? 'without' : 'with'} Content-Length`
    await bounded(t, server, what, headroom + collection, async () =>
      t.equal(await upload(url, `copy${i}`, file, bytes), 201),
    )
  }
  await bounded(t, dashboard, `upload of ${length} through the dashboard`, headroom, async () =>
    t.equal(await upload(through, 'copy2', file, undefined), 201),
  )
  await bounded(t, server, 'restore', headroom + collection, () =>
    call(url, 'POST', '/backups/copy0/restore', { target_collection_name: 'restored' }),
  )
  const count = await call(url, 'POST', '/collection/restored/objects/count', {})
  t.equal(count.count, objects)
})
