// Writes are repeated with their keys at random, at once and much later, in a life in which the machine stops at random disk calls: killed,
// or without power. Each write has its effect once, and each repetition gets the answer of the first. A model has the objects in the order of
// the first runs, so a write that runs again puts an old value back and is found.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { World } from '../crash/simulated-machine.ts'

const long = process.env.ANNAL_LONG === '1'
const seed = chosenSeed()
const lives = long ? 400 : 3
const stopsOfLife = 6
const idCount = 12
const keysMax = 40

tap.setTimeout(long ? 7_200_000 : 600_000)

const fields = [
  { name: 'v', type: 'vector', params: { dimension: 2, space_type: 'l2', precision: 'float32' } },
] as const

/** Values by id; undefined for a collection that does not exist. */
type Contents = ReadonlyMap<string, number> | undefined

interface Write {
  readonly key: string
  /** The content after the write, and its answer without the LSN, given the content before. */
  effect(before: Contents): { readonly after: Contents; readonly answer: object }
  run(engine: Engine): Promise<{ readonly lsn?: number }>
}

function someWrite(random: Random, key: string, value: number, before: Contents): Write {
  const ids = Array.from({ length: 1 + random.below(5) }, () => `${random.below(idCount)}`)
  const distinct = [...new Set(ids)]
  const films = (engine: Engine) => engine.database().collection('films')
  if (before === undefined)
    return {
      key,
      effect: () => ({ after: new Map(), answer: {} }),
      run: async (engine) => {
        await engine.database().createCollection({ name: 'films', fields }, { requestKey: key })
        return {}
      },
    }
  const kind = random.below(20)
  const change = (apply: (next: Map<string, number>) => object) => (content: Contents) => {
    const after = new Map(content)
    const answer = apply(after)
    return { after, answer }
  }
  if (kind === 0)
    return {
      key,
      effect: () => ({ after: undefined, answer: {} }),
      run: (engine) => engine.database().deleteCollection('films', { requestKey: key }),
    }
  if (kind < 4)
    return {
      key,
      effect: change((next) => ({ deleted: distinct.filter((id) => next.delete(id)) })),
      run: (engine) => films(engine).delete(ids, { requestKey: key }),
    }
  if (kind < 6) {
    const bound = value - random.below(30)
    return {
      key,
      effect: change((next) => {
        const gone = [...next].filter(([, held]) => held < bound)
        for (const [id] of gone) next.delete(id)
        return { deleted: gone.length }
      }),
      run: (engine) => films(engine).deleteWhere([{ x: { $lt: bound } }], { requestKey: key }),
    }
  }
  if (kind < 10)
    return {
      key,
      effect: change((next) => {
        const there = distinct.filter((id) => next.has(id))
        for (const id of there) next.set(id, value)
        return { updated: there.length }
      }),
      run: (engine) =>
        films(engine).updateFilters(
          distinct.map((id) => ({ id, filter: { x: value } })),
          { requestKey: key },
        ),
    }
  const objects = distinct.map((id) => ({ id, filter: { x: value }, fields: { v: [1, Number(id)] } }))
  return {
    key,
    effect: change((next) => {
      for (const id of distinct) next.set(id, value)
      return { upserted: distinct.length }
    }),
    run: (engine) => films(engine).upsert(objects, { requestKey: key }),
  }
}

async function read(engine: Engine): Promise<Contents> {
  if (
    !engine
      .database()
      .collections()
      .some(({ name }) => name === 'films')
  )
    return undefined
  const { objects } = await engine.database().collection('films').scroll({ limit: 100 })
  return new Map(objects.map(({ id, filter }) => [id, Number(filter.x)]))
}

function textOf(contents: Contents): string {
  return contents === undefined ? 'none' : JSON.stringify([...contents].sort(([a], [b]) => Number(a) - Number(b)))
}

/** What the client of a life knows. */
interface Known {
  contents: Contents
  /** Writes with their answers, oldest first. */
  readonly done: { readonly write: Write; readonly answer: string }[]
  /** A write without an answer. */
  pending: Write | undefined
}

const pool = await openWorkerPool({ threads: 1 })
tap.teardown(() => pool.close())

class Life {
  readonly #world: World
  readonly #random: Random
  readonly #known: Known = { contents: undefined, done: [], pending: undefined }
  readonly counts = { writes: 0, repeated: 0, together: 0, resolved: 0, stops: 0 }
  #value = 0
  #isOver = false

  constructor(dir: string, random: Random) {
    this.#world = new World(dir, random)
    this.#random = random
  }

  async live(): Promise<void> {
    try {
      await this.#live()
    } finally {
      this.#isOver = true
    }
  }

  async #live(): Promise<void> {
    for (let stop = 0; stop <= stopsOfLife; stop++) {
      const isLast = stop === stopsOfLife
      if (isLast) return void (await this.#run(40))
      this.#world.disk.stopAt(20 + this.#random.below(900))
      // Without a limit of its steps, it runs until the machine stops, or fails.
      await Promise.race([this.#run(Number.POSITIVE_INFINITY), this.#stopped()])
      this.counts.stops++
      this.#world.disk.restart(this.#random.chance(0.5) ? 'kill' : 'power')
    }
  }

  async #stopped(): Promise<void> {
    while (!this.#world.disk.isStopped && !this.#isOver) await sleep(1)
  }

  async #run(steps: number): Promise<void> {
    const known = this.#known
    const engine = await this.#world.open(pool, { requestKeys: { max: keysMax } })
    await this.#settle(engine)
    for (let step = 0; step < steps; step++) {
      if (this.#random.chance(0.03)) await engine.checkpoint()
      if (this.#random.chance(0.4) && known.done.length > 0) await this.#repeatOld(engine)
      const write = someWrite(this.#random, `key-${++this.#value}`, this.#value, known.contents)
      known.pending = write
      await this.#finish(engine, write)
      this.counts.writes++
      if (step % 10 === 9) await this.#compare(engine, 'in between')
    }
    await this.#compare(engine, 'in the end')
    await engine.close()
  }

  /** After a start: the state is before or after the pending write, whose repetition tells. */
  async #settle(engine: Engine): Promise<void> {
    const { contents, pending } = this.#known
    const found = textOf(await read(engine))
    const allowed = [contents, ...(pending ? [pending.effect(contents).after] : [])].map(textOf)
    if (!allowed.includes(found)) throw new Error(`after a start ${found}, not ${allowed.join(' or ')}`)
    if (pending === undefined) return
    await this.#finish(engine, pending)
    this.counts.resolved++
    await this.#compare(engine, 'after the repetition')
  }

  async #finish(engine: Engine, write: Write): Promise<void> {
    const known = this.#known
    const isTogether = this.#random.chance(0.2)
    if (isTogether) this.counts.together++
    const answers = await Promise.all(Array.from({ length: isTogether ? 3 : 1 }, () => write.run(engine)))
    const { after, answer } = write.effect(known.contents)
    const [first, ...others] = answers.map((one) => JSON.stringify(one)) as [string, ...string[]]
    const { lsn: _, durable: __, ...facts } = JSON.parse(first)
    if (JSON.stringify(facts) !== JSON.stringify(answer))
      throw new Error(`${write.key} answers ${first}, not ${JSON.stringify(answer)}`)
    for (const other of others) if (other !== first) throw new Error(`${write.key} answers ${first} and ${other}`)
    known.contents = after
    known.done.push({ write, answer: first })
    known.pending = undefined
  }

  /** A key that is kept: among the newest, which is less than the limit. */
  async #repeatOld(engine: Engine): Promise<void> {
    const { done, contents } = this.#known
    const { write, answer } = done[Math.max(0, done.length - 1 - this.#random.below(keysMax))] as Known['done'][number]
    // The methods of a collection need it.
    if (contents === undefined && !('lsn' in JSON.parse(answer) && answer.split(',').length === 2)) return
    const before = engine.stats().lsnApplied
    const again = await repeated(write, engine)
    if (again === undefined) return
    if (again !== answer) throw new Error(`${write.key} answers ${again} instead of ${answer}`)
    if (engine.stats().lsnApplied !== before) throw new Error(`the repetition of ${write.key} appended a record`)
    this.counts.repeated++
  }

  async #compare(engine: Engine, when: string): Promise<void> {
    const [found, wanted] = [textOf(await read(engine)), textOf(this.#known.contents)]
    if (found !== wanted) throw new Error(`${when}: ${found} instead of ${wanted}`)
  }
}

/** Undefined if the write was about a collection that another one has replaced: through a handle, that is a different write. */
async function repeated(write: Write, engine: Engine): Promise<string | undefined> {
  try {
    return JSON.stringify(await write.run(engine))
  } catch (error) {
    const { code } = error as { readonly code?: string }
    if (code === 'request_key_reused' || code === 'collection_not_found') return undefined
    throw error
  }
}

test(`repeated writes have one effect and one answer, seed ${seed}`, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-repeats-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const total = { writes: 0, repeated: 0, together: 0, resolved: 0, stops: 0 }
  for (let n = 0; n < lives; n++) {
    const life = new Life(join(dir, `${n}`), seededRandom(seed + n))
    try {
      await life.live()
    } catch (error) {
      t.fail(`life ${n} of seed ${seed}: ${(error as Error).stack}`)
      break
    }
    for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += life.counts[name]
    await sleep(0)
  }
  t.ok(
    total.stops > lives && total.repeated > 10 * lives && total.resolved > lives,
    JSON.stringify({ seed, lives, ...total }),
  )
  t.comment(JSON.stringify({ seed, lives, ...total }))
})
