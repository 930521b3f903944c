// SIGKILL under load, again and again on one directory: everything acknowledged is there, nothing is there that was never
// asked for, and a batch cut off by the kill is there wholly or not at all. The oracle lives here, not in the killed process.
import { test } from 'tap'
import { send, temporaryDirectory } from './running-app.ts'
import { startProcess } from './running-process.ts'

const seed = Number(process.env.ANNAL_SEED ?? Math.floor(Math.random() * 2 ** 31))
const cycles = process.env.ANNAL_LONG === '1' ? 200 : 20
const writers = 3
const idsPerWriter = 60
const batchSize = 12
const dim = 4

/** Ids to the version each must have; absent ids must be absent. */
type State = ReadonlyMap<string, number>

interface Writer {
  readonly name: string
  acknowledged: State
  /** What the state becomes if the operation under way was stored. */
  pending: State | undefined
}

/** mulberry32 */
function random(from: number): () => number {
  let state = from
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

test(`${cycles} kills under load lose nothing and invent nothing, seed ${seed}`, async (t) => {
  t.setTimeout(cycles * 15_000)
  const next = random(seed)
  const dataDir = await temporaryDirectory(t)
  const all: Writer[] = Array.from({ length: writers }, (_, i) => ({
    name: `w${i}`,
    acknowledged: new Map<string, number>(),
    pending: undefined,
  }))
  let version = 0
  let operations = 0
  const faults: string[] = []
  for (let cycle = 0; cycle <= cycles; cycle++) {
    const running = startProcess({ NDD_DATA_DIR: dataDir })
    t.teardown(() => running.child.kill('SIGKILL'))
    const url = await running.serving
    if (cycle === 0) {
      const json = { index_name: 'docs', dim, space_type: 'l2', precision: 'float32' }
      t.equal((await send(url, 'POST', '/api/v1/index/create', { json })).status, 200)
    }
    faults.push(...(await settle(url, all)).map((fault) => `cycle ${cycle}: ${fault}`))
    if (cycle === cycles) {
      running.child.kill('SIGTERM')
      t.equal((await running.ended).code, 0)
      break
    }
    const killAfterMs = 20 + next() * 200
    const loads = all.map(async (writer) => {
      for (;;) {
        const operation = someOperation(writer, next, ++version)
        writer.pending = operation.after
        const stored = await operation.run(url).catch(() => undefined)
        if (stored === undefined) return
        if (!stored) faults.push(`cycle ${cycle}: ${writer.name} was refused`)
        writer.acknowledged = operation.after
        writer.pending = undefined
        operations += 1
      }
    })
    setTimeout(() => running.child.kill('SIGKILL'), killAfterMs)
    await Promise.all(loads)
    await running.ended
  }
  t.strictSame(faults, [])
  t.ok(operations > cycles, `${operations} operations were acknowledged`)
  t.comment(`${operations} operations acknowledged in ${cycles} cycles`)
})

interface Operation {
  readonly after: State
  /** True when acknowledged, false when refused; rejects when no answer came. */
  run(url: string): Promise<boolean>
}

function someOperation(writer: Writer, next: () => number, version: number): Operation {
  const first = Math.floor(next() * (idsPerWriter - batchSize))
  const ids = Array.from({ length: batchSize }, (_, i) => `${writer.name}-${first + i}`)
  const after = new Map(writer.acknowledged)
  if (next() < 0.3) {
    for (const id of ids) after.delete(id)
    const json = { filter: [{ id: { $in: ids } }] }
    return {
      after,
      run: async (url) => (await send(url, 'DELETE', '/api/v1/index/docs/vectors/delete', { json })).status === 200,
    }
  }
  for (const id of ids) after.set(id, version)
  const json = ids.map((id) => ({ id, filter: { id }, meta: { version }, vector: [version, 1, 2, 3] }))
  return {
    after,
    run: async (url) => (await send(url, 'POST', '/api/v1/index/docs/vector/insert', { json })).status === 200,
  }
}

/** Compares what is stored with what may be stored, and takes what is found as the truth for the next cycle. */
async function settle(url: string, all: readonly Writer[]): Promise<string[]> {
  const faults: string[] = []
  let expected = 0
  for (const writer of all) {
    const found = await stored(url, writer, faults)
    const allowed = writer.pending === undefined ? [writer.acknowledged] : [writer.acknowledged, writer.pending]
    if (!allowed.some((state) => same(state, found))) {
      faults.push(
        `${writer.name}: ${describe(found, writer.acknowledged)}, or with what was under way ${describe(found, writer.pending)}`,
      )
    }
    writer.acknowledged = found
    writer.pending = undefined
    expected += found.size
  }
  const info = (await send(url, 'GET', '/api/v1/index/docs/info')).json()
  if (info.total_elements !== expected)
    faults.push(`${String(info.total_elements)} objects where ${expected} are known`)
  return faults
}

async function stored(url: string, writer: Writer, faults: string[]): Promise<State> {
  const found = new Map<string, number>()
  for (let i = 0; i < idsPerWriter; i++) {
    const id = `${writer.name}-${i}`
    const answer = await send(url, 'POST', '/api/v1/index/docs/vector/get', {
      json: { id },
      accept: 'application/json',
    })
    if (answer.status === 404) continue
    const object = answer.json() as { meta: { version: number }; filter: { id: string }; vector: number[] }
    if (object.vector[0] !== object.meta.version || object.filter.id !== id)
      faults.push(`${id} is mixed: ${answer.text}`)
    found.set(id, object.meta.version)
  }
  return found
}

function same(a: State, b: State): boolean {
  return a.size === b.size && [...a].every(([id, version]) => b.get(id) === version)
}

function describe(found: State, expected: State | undefined): string {
  if (expected === undefined) return 'nothing was under way'
  const lost = [...expected].filter(([id, version]) => found.get(id) !== version).length
  const phantom = [...found].filter(([id, version]) => expected.get(id) !== version).length
  return `${lost} lost, ${phantom} phantom`
}
