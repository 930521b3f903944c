// Bodies of every shape to every route that accepts one, in a separate server: each is refused with a stable code, memory grows by at most
// the body and 64 MiB, and health responds. The long form sends 95 MiB each, and honest upserts of that size.
import { test } from 'tap'
import { errorCodes } from '../src/errors.ts'
import { listRoutes, otherRoutes, queryRoutes, sendBody, types } from './hostile-clients.ts'
import { chunksOf, frames, hostileShapes, type Shape } from './hostile-shapes.ts'
import { temporaryDirectory } from './running-app.ts'
import { startWatchedProcess, type WatchedProcess } from './watched-process.ts'

const mebibyte = 1_048_576
const isLong = process.env.ANNAL_LONG === '1'
/** Shapes whose names match; all of them by default. */
const shapesWanted = new RegExp(process.env.ANNAL_SHAPES ?? '')
const hostileBytes = isLong ? 95 * mebibyte : 300_000
const headroom = 64 * mebibyte

const queryBytes = 8 * mebibyte - 1_024

interface Tally {
  bodies: number
  refused: number
  /** Refused because of its headers; the client may be unable to read the reply. */
  cut: number
  /** Accepted: an empty list, a route without a use for a body, or entries of filter updates that lack a part. */
  skipped: number
  grownMost: number
  turnMs: number
  turnCpuMs: number
  readonly slowest: string[]
}

test('bodies of every shape to every route are refused, with memory bounded', { timeout: 3_600_000 }, async (t) => {
  const dataDir = await temporaryDirectory(t)
  const server = startWatchedProcess({ NDD_DATA_DIR: dataDir, NDD_LOG_LEVEL: 'silent' })
  t.teardown(async () => {
    server.child.kill('SIGTERM')
    await server.ended
  })
  const url = await server.serving
  const made = await fetch(`${url}/api/v1/index/create`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ index_name: 'docs', dim: 4, space_type: 'l2', precision: 'float32' }),
  })
  t.equal(made.status, 200)
  const tally: Tally = { bodies: 0, refused: 0, cut: 0, skipped: 0, grownMost: 0, turnMs: 0, turnCpuMs: 0, slowest: [] }
  const codes = new Map<string, number>()
  const attack = async (route: string, shape: Shape, declares: boolean, bytes = hostileBytes): Promise<void> => {
    const [method, path] = route.split(' ') as [string, string]
    const before = (await server.memory()).now
    await server.resetPeak()
    const reply = await sendBody(url, {
      ...{ method, path, type: types[shape.format], bytes, declares },
      chunks: chunksOf(shape, bytes),
    }).catch((error: Error) => ({ status: 0, code: `no reply: ${error.message}` }))
    const grown = (await server.memory()).peak - before
    const name = `${route}: ${shape.format}, ${shape.name}, ${declares ? 'with' : 'without'} Content-Length`
    tally.bodies += 1
    if (reply.status >= 400) tally.refused += 1
    if (reply.status === 0) tally.cut += 1
    if (reply.status === 200 || reply.status === 202) tally.skipped += 1
    codes.set(`${reply.status} ${reply.code}`, (codes.get(`${reply.status} ${reply.code}`) ?? 0) + 1)
    tally.grownMost = Math.max(tally.grownMost, grown)
    const known = reply.code !== undefined && errorCodes.includes(reply.code)
    const isList = listRoutes.some(([list]) => list === route)
    const isExpected =
      (reply.status >= 400 && reply.status < 500 && known) ||
      (reply.status === 0 && !isList) ||
      (reply.status === 200 && (path.includes('filters') || shape.name === 'spaces' || method === 'DELETE')) ||
      // These routes need no body.
      (reply.status < 300 && /(backup|vacuum|shrink|rebuild)$/.test(path))
    if (!isExpected) t.fail(`${name}: ${reply.status} ${reply.code}`)
    if (grown > bytes + headroom) t.fail(`${name}: memory grew by ${(grown / mebibyte).toFixed(0)} MiB`)
    if (!isLong) return
    const turn = await server.longestTurn()
    if (turn.cpuMs > 50) tally.slowest.push(`${name}: ${turn.cpuMs} ms of the processor`)
    tally.turnMs = Math.max(tally.turnMs, turn.clockMs)
    tally.turnCpuMs = Math.max(tally.turnCpuMs, turn.cpuMs)
  }
  await server.longestTurn()
  for (const [route, frame] of listRoutes) {
    for (const shape of wantedShapes(frames[frame], hostileBytes)) {
      for (const declares of [true, false]) await attack(route, shape, declares)
    }
  }
  const general = wantedShapes(frames.objects, hostileBytes)
  for (const [i, route] of otherRoutes().entries()) {
    const shapes = isLong ? general : general.filter((_, index) => index % 6 === i % 6)
    for (const shape of shapes)
      for (const declares of isLong ? [true, false] : [i % 2 === 0]) await attack(route, shape, declares)
  }
  // As large as allowed, because larger ones are refused before they are read.
  if (isLong) {
    const largest = wantedShapes(frames.objects, queryBytes)
    for (const route of queryRoutes) for (const shape of largest) await attack(route, shape, true, queryBytes)
  }
  t.equal(tally.refused + tally.cut + tally.skipped, tally.bodies, 'all are refused, or skipped')
  t.comment(`${JSON.stringify(tally)} ${JSON.stringify([...codes])}`)
  t.equal((await fetch(`${url}/api/v1/health`)).status, 200)
  t.equal(server.child.exitCode, null, 'the same process serves')
})

function wantedShapes(...given: Parameters<typeof hostileShapes>): readonly Shape[] {
  return hostileShapes(...given).filter(({ name }) => shapesWanted.test(name))
}

interface Honest {
  readonly name: string
  readonly path: string
  readonly type: string
  readonly chunks: () => Iterable<Buffer>
}

test('honest upserts at the limit are accepted, with memory bounded', {
  skip: !isLong,
  timeout: 3_600_000,
}, async (t) => {
  for (const honest of honestBodies(95 * mebibyte)) {
    if (!shapesWanted.test(honest.name)) continue
    const dataDir = await temporaryDirectory(t)
    const server = startWatchedProcess({ NDD_DATA_DIR: dataDir, NDD_LOG_LEVEL: 'silent' })
    const url = await server.serving
    for (const [name, type, params] of collections) {
      const made = await fetch(`${url}/api/v2/collection`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name, fields: [{ name: 'dense', type, params }] }),
      })
      t.equal(made.status, 200, `${name}: ${await made.text()}`)
    }
    await sendHonest(server, url, honest, t)
    server.child.kill('SIGTERM')
    await server.ended
  }
})

const dense = { dimension: 4_096, space_type: 'l2', precision: 'float32' }
const collections: [string, string, object][] = [
  ['large', 'vector', dense],
  ['small', 'vector', { ...dense, dimension: 4 }],
  ['multi', 'multi_vector', { ...dense, dimension: 1_024, pooling: 'mean' }],
  ['sparse', 'sparse', { sparse_model: 'default' }],
]

async function sendHonest(
  server: WatchedProcess,
  url: string,
  honest: Honest,
  t: { ok(ok: unknown, m: string): unknown; comment(m: string): void },
) {
  const chunks = [...honest.chunks()]
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0)
  const before = (await server.memory()).now
  await server.longestTurn()
  await server.resetPeak()
  const reply = await sendBody(url, {
    method: 'POST',
    path: honest.path,
    type: honest.type,
    bytes,
    chunks,
    declares: true,
  })
  const grown = (await server.memory()).peak - before
  // The first search after an upsert of sparse vectors counts their terms.
  await fetch(`${url}/api/v2/collection/sparse/search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ fields: { dense: { query: { indices: [1, 2], values: [1, 1] } } } }),
  }).then((answer) => answer.text())
  const turn = await server.longestTurn()
  t.ok(reply.status === 200, `${honest.name}: ${reply.status} ${reply.code}`)
  t.ok(
    grown <= 8 * bytes + headroom,
    `${honest.name}: memory grew by ${(grown / mebibyte).toFixed(0)} MiB for ${(bytes / mebibyte).toFixed(0)} MiB`,
  )
  t.comment(`${honest.name}: longest turn ${turn.clockMs} ms, ${turn.cpuMs} ms of the processor`)
}

/** Upserts of about this many bytes, or the maximum for a record of 64 MiB in the log. */
function honestBodies(bytes: number): Honest[] {
  const path = (name: string): string => `/api/v2/collection/${name}/objects`
  const json = types.json
  const number = (i: number): string => (((i * 7_919) % 100_003) / 100_003 - 0.5).toFixed(8)
  const vectorText = (dimension: number, seed: number): string =>
    `[${Array.from({ length: dimension }, (_, i) => number(seed * dimension + i)).join(',')}]`
  const vectors = Array.from({ length: 16 }, (_, i) => vectorText(4_096, i))
  const objects = (name: string, count: number, object: (i: number) => string): Honest => ({
    name,
    path: path(name.split(' ')[0] as string),
    type: json,
    *chunks() {
      yield Buffer.from('{"objects":[')
      for (let i = 0; i < count; i++) yield Buffer.from(`${i === 0 ? '' : ','}${object(i)}`)
      yield Buffer.from(']}')
    },
  })
  const large = (vectors[0] as string).length
  const members = Array.from({ length: 2_000 }, (_, i) => vectorText(1_024, i)).join(',')
  const filter = `{${Array.from({ length: 250 }, (_, i) => `"key${i}":"${'v'.repeat(200)}${i}"`).join(',')}}`
  return [
    objects(
      'large vectors in JSON',
      Math.min(1_000, Math.floor(bytes / (large + 40))),
      (i) => `{"id":"o${i}","fields":{"dense":${vectors[i % 16]}}}`,
    ),
    objects('large vectors of zeros', 1_000, (i) => `{"id":"o${i}","fields":{"dense":[${'0,'.repeat(4_095)}0]}}`),
    objects(
      'small vectors with meta',
      1_000,
      (i) => `{"id":"o${i}","meta":{"t":"${'m'.repeat(60_000)}"},"fields":{"dense":[1,2,3,${i}]}}`,
    ),
    objects(
      'small vectors with filters',
      1_000,
      (i) => `{"id":"o${i}","filter":${filter},"fields":{"dense":[1,2,3,${i}]}}`,
    ),
    objects('multi vectors of one object', 1, (i) => `{"id":"o${i}","fields":{"dense":[${members}]}}`),
    objects(
      'sparse vectors',
      1_000,
      (i) =>
        `{"id":"o${i}","fields":{"dense":{"indices":[${Array.from({ length: 4_000 }, (_, index) => index * 17 + (i % 16)).join(',')}],"values":[${'0.5,'.repeat(3_999)}1]}}}`,
    ),
    objects(
      'sparse vectors without a term in common',
      500,
      (i) =>
        `{"id":"o${i}","fields":{"dense":{"indices":[${Array.from({ length: 8_000 }, (_, index) => i * 8_000 + index).join(',')}],"values":[${'1,'.repeat(7_999)}1]}}}`,
    ),
    msgpackLarge('large vectors in MessagePack', path('large'), 1_000, floats(4_096)),
    msgpackLarge('large vectors of small integers', path('large'), 1_000, Buffer.alloc(4_096, 1)),
  ]
}

function floats(count: number): Buffer {
  const bytes = Buffer.alloc(5 * count)
  for (let i = 0; i < count; i++) {
    bytes[5 * i] = 0xca
    bytes.writeFloatBE((i % 97) / 97, 5 * i + 1)
  }
  return bytes
}

function msgpackLarge(name: string, path: string, count: number, vector: Buffer): Honest {
  const head = Buffer.from(`91dd${count.toString(16).padStart(8, '0')}`, 'hex')
  const object = (i: number): Buffer =>
    Buffer.concat([
      Buffer.from('94a5', 'hex'),
      Buffer.from(String(10_000 + i)),
      Buffer.from('c400a081a564656e7365', 'hex'),
      Buffer.from('dd00001000', 'hex'),
      vector,
    ])
  return {
    name,
    path,
    type: types.msgpack,
    *chunks() {
      yield head
      for (let i = 0; i < count; i++) yield object(i)
    },
  }
}
