// The process of every-call.test.ts. Engines that were stopped never continue, and end with the process. Arguments: directory, seed,
// rounds, its number, and the number of processes that share the calls of a life. Prints the result on one line.
import { join } from 'node:path'
import type { Engine } from '@annal/engine'
import { openWorkerPool, type WorkerPool } from '@annal/engine/testing'
import { seededRandom } from '@annal/wal/testing'
import { type Contents, randomSteps, readContents, type Step, same, textOf } from './script.ts'
import { World } from './simulated-machine.ts'

/** A pool keeps the memories of abandoned engines, so it is replaced sometimes. */
const livesPerPool = 40

interface Known {
  contents: Contents
  /** The step that was running when the machine stopped. */
  pending: Step | undefined
}

/** Runs until the machine stops, or until the steps end and the engine is closed. */
async function runLife(world: World, steps: readonly Step[], known: Known, pool: WorkerPool): Promise<void> {
  const life = async (): Promise<void> => {
    const engine = await world.open(pool)
    for (const step of steps) {
      known.pending = step
      await step.run(engine)
      known.contents = step.after
      known.pending = undefined
    }
    await engine.close()
  }
  await Promise.race([life(), world.stopped()])
}

async function checkRecovered(world: World, known: Known, pool: WorkerPool): Promise<string | undefined> {
  const engine = await world.open(pool)
  const found = await readContents(engine)
  const { status, reasons } = engine.health()
  const digests = digestsOf(engine)
  await engine.close()
  const again = await world.open(pool)
  const digestsAgain = digestsOf(again)
  await again.close()
  const allowed = [known.contents, ...(known.pending ? [known.pending.after] : [])]
  if (!allowed.some((contents) => same(contents, found)))
    return `there is [${textOf(found)}], allowed is ${allowed.map((one) => `[${textOf(one)}]`).join(' or ')}`
  if (status !== 'ok') return `health is ${status}: ${reasons}`
  if (digests !== digestsAgain) return `digests ${digests} became ${digestsAgain}`
  known.contents = found
  known.pending = undefined
  return undefined
}

function digestsOf(engine: Engine): string {
  const database = engine.database()
  const digests = database.collections().map(({ name }) => `${name} ${database.collection(name).stateDigest()}`)
  return [engine.control.digest(), ...digests].join()
}

/** A first life without faults, a second that stops at call `stopAt`, stops during recovery, and the check. */
async function tryCall(dir: string, life: { seed: number; stopAt: number; pool: WorkerPool }): Promise<History> {
  const random = seededRandom(life.seed)
  const world = new World(dir, random)
  const known: Known = { contents: new Map(), pending: undefined }
  await runLife(world, randomSteps(known.contents, 1).slice(0, 6), known, life.pool)
  world.disk.operations = 0
  world.disk.stopAt(life.stopAt)
  await runLife(world, randomSteps(known.contents, 100), known, life.pool)
  const calls = world.disk.operations
  if (!world.disk.isStopped) return { fault: undefined, calls, kills: 0 }
  let kills = 1
  let how: 'kill' | 'power' = random.chance(0.5) ? 'kill' : 'power'
  world.disk.restart(how)
  const how1 = how
  for (let again = random.below(4); again > 0; again--) {
    world.disk.stopAt(1 + random.below(60))
    await runLife(world, [], { ...known }, life.pool)
    if (world.disk.isStopped) kills++
    how = random.chance(0.5) ? 'kill' : 'power'
    world.disk.restart(how)
  }
  const fault = await checkRecovered(world, known, life.pool).catch((error: Error) => String(error.stack))
  const label = known.pending?.label ?? 'between steps'
  const where = `seed ${life.seed}, ${how1} at call ${life.stopAt} (${label}), ${kills} stops`
  return { fault: fault && `${where}: ${fault}`, calls, kills }
}

interface History {
  readonly fault: string | undefined
  readonly calls: number
  readonly kills: number
}

/** Tries the calls of a life from `first` on, every `step`th, `rounds` times, until something is wrong. */
async function tryCalls(
  dir: string,
  plan: { seed: number; rounds: number; first: number; step: number },
): Promise<Tally> {
  const tally = { histories: 0, stops: 0, calls: 0, faults: [] as string[] }
  let pool = await openWorkerPool({ threads: 1 })
  for (let round = 0; round < plan.rounds; round++) {
    for (let stopAt = plan.first; tally.faults.length < 5; stopAt += plan.step) {
      const own = { seed: plan.seed + 10_000 * round + stopAt, stopAt, pool }
      const { fault, calls, kills } = await tryCall(join(dir, `${tally.histories}`), own)
      if (fault !== undefined) tally.faults.push(fault)
      tally.stops += kills
      tally.calls = calls
      if (++tally.histories % livesPerPool === 0) {
        await pool.close()
        pool = await openWorkerPool({ threads: 1 })
      }
      if (kills === 0) break
    }
  }
  return tally
}

export interface Tally {
  readonly histories: number
  readonly stops: number
  /** Number of disk calls of a life. */
  readonly calls: number
  readonly faults: readonly string[]
}

const [, , directory = '', ...numbers] = process.argv
const [seed = 0, rounds = 1, number = 0, processes = 1] = numbers.map(Number)
const tally = await tryCalls(directory, { seed, rounds, first: 1 + number, step: processes })
console.log(JSON.stringify(tally))
process.exit(0)
