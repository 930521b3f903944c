// Measures how the recall of a field's searches grows with ef: runs queries as searches run them, for some values of ef and some shares of
// matching rows, and compares their results with exact ones. Each query is measured as of one version. Writes continue between two queries.
import { efMax } from '../limits.ts'
import { isCoarse } from '../model/choices.ts'
import type { DenseFieldSchema } from '../model/schema.ts'
import type { Originals } from '../originals/originals.ts'
import type { Replica } from '../replica/replica.ts'
import type { Matches } from '../search/field-run.ts'
import { maxSim } from '../search/max-sim.ts'
import { vectorsOf } from '../search/rank-originals.ts'
import { type DenseTask, plainSearch } from '../search/request.ts'
import { candidatesMaxFor, efLeastFor } from '../search/rescore.ts'
import { runTask } from '../search/run-task.ts'
import { walkEntriesMax } from '../vector/dense/scratch.ts'
import type { DenseField } from '../vector/field.ts'
import { meanOf } from './recall-curve.ts'
import { measuredShares, randomMatches, type ShareCurve } from './shares.ts'

/** Which searches are measured. */
export interface MeasuredSearch {
  readonly fieldIndex: number
  readonly definition: DenseFieldSchema
  readonly k: number
  /** As in the request. */
  readonly rescore: boolean
}

/** What a measurement needs of its owner. */
export interface MeasureHost {
  /** The replica that serves now. Throws if the measurement is no longer wanted. */
  replica(): Replica
  /** Called between pieces of work that take about a millisecond, so that others run. */
  rest(): Promise<void>
  /** Called after each query. */
  onQuery(): void
}

/** Ratio of two measured values of ef. */
const efStep = Math.SQRT2
const efFirstMin = 8
/** Higher values of ef are not measured when almost everything was found, or when the last steps found hardly more. */
const enough = 0.9995
const flatSteps = 3
const flatGain = 2e-4
/** Queries measured before that is decided. Few queries show that most is found, but not that no more will be. */
const queriesAtOnce = 100
const flatQueriesMin = 200

/** Measures the curve of each share. The curve of a share without matches has one point with a recall of 1. */
export async function measureCurves(
  search: MeasuredSearch,
  queries: readonly Float32Array[],
  host: MeasureHost,
): Promise<readonly ShareCurve[]> {
  const allowed = await matchesOfShares(search, host)
  const ladder = efsFrom(efLeast(search))
  const steps = measuredShares.map(() => new Steps(ladder.length))
  for (const [i, query] of queries.entries()) {
    const replica = host.replica()
    const { version } = replica
    const release = replica.pins.pin(version)
    try {
      const good = await goodHits({ search, query, replica, version, allowed, host })
      for (const [share, matches] of allowed.entries()) {
        const truth = good[share] as GoodHits
        for (const rung of (steps[share] as Steps).wanted()) {
          const found = await run(search, query, ladder[rung] as number, { replica, version, matches })
          steps[share]?.add(rung, shareFound(found, truth))
          await host.rest()
        }
      }
    } finally {
      release()
    }
    host.onQuery()
    if ((i + 1) % queriesAtOnce === 0) for (const step of steps) step.shorten()
  }
  return measuredShares.map((share, i) => ({ share, points: (steps[i] as Steps).points(ladder, queries.length) }))
}

/** Searches use at least this ef. */
function efLeast({ definition, k, rescore }: MeasuredSearch): number {
  return rescore ? efLeastFor(k, definition.params.precision) : k
}

/** Ascending to the largest ef. */
function efsFrom(least: number): number[] {
  const efs: number[] = []
  for (let ef = Math.max(least, efFirstMin); ef < efMax; ef *= efStep) efs.push(Math.round(ef))
  return [...efs, Math.max(least, efMax)]
}

/** The shares of results found, by query and step of the ladder. */
class Steps {
  readonly #found: number[][]
  #last: number

  constructor(length: number) {
    this.#found = Array.from({ length }, () => [])
    this.#last = length
  }

  /** The steps that are still measured. */
  wanted(): number[] {
    return Array.from({ length: this.#last }, (_, step) => step)
  }

  add(step: number, share: number): void {
    this.#found[step]?.push(share)
  }

  /** Leaves out the steps that are not worth their work. */
  shorten(): void {
    const recalls = this.#found.slice(0, this.#last).map((shares) => meanOf(shares).recall)
    const mayBeFlat = (this.#found[0]?.length ?? 0) >= flatQueriesMin
    const end = recalls.findIndex((recall, step) => {
      const earlier = recalls[step - flatSteps]
      return recall >= enough || (mayBeFlat && earlier !== undefined && recall - earlier < flatGain)
    })
    // Two steps after the first one that finds enough remain: later queries may need them.
    if (end >= 0) this.#last = Math.min(this.#last, end + 3)
  }

  /** Only steps that all queries took are comparable. */
  points(ladder: readonly number[], queries: number) {
    return ladder.flatMap((ef, step) => {
      const shares = this.#found[step] as number[]
      return step < this.#last && shares.length === queries ? [{ ef, ...meanOf(shares) }] : []
    })
  }
}

async function matchesOfShares(
  { fieldIndex }: MeasuredSearch,
  host: MeasureHost,
): Promise<readonly (Matches | undefined)[]> {
  const replica = host.replica()
  const field = replica.dense[fieldIndex] as DenseField
  const ordinals = replica.filters
    .evaluate([])
    .bitmap.toOrdinals()
    .filter((ordinal) => field.has(ordinal, replica.version))
  await host.rest()
  return measuredShares.map((share) => {
    if (share === 1) return undefined
    const bitmap = randomMatches(ordinals, share)
    return { bitmap, count: bitmap.count }
  })
}

interface RunState {
  readonly replica: Replica
  readonly version: number
  readonly matches: Matches | undefined
}

async function run(search: MeasuredSearch, query: Float32Array, ef: number, state: RunState): Promise<Uint32Array> {
  const { fieldIndex, definition, k, rescore } = search
  const source = { kind: 'vector', query } as const
  const task: DenseTask = { kind: 'dense', fieldIndex, definition, k, ef, scoreThreshold: undefined, source }
  // A search that does not say whether it rescores may do so.
  const input = rescore || isCoarse(definition.params.precision) ? { ...plainSearch, rescore } : plainSearch
  const { found } = await runTask(task, { ...state, input, room: undefined })
  return found.ordinals
}

/** The exact result, and rows that are equally similar. */
interface GoodHits {
  readonly ordinals: ReadonlySet<number>
  /** At most k. */
  readonly count: number
}

function shareFound(found: Uint32Array, { ordinals, count }: GoodHits): number {
  if (count === 0) return 1
  let good = 0
  for (const ordinal of found) if (ordinals.has(ordinal)) good++
  return Math.min(1, good / count)
}

interface Exact {
  readonly search: MeasuredSearch
  readonly query: Float32Array
  readonly replica: Replica
  readonly version: number
  readonly allowed: readonly (Matches | undefined)[]
  readonly host: MeasureHost
}

/** Rows in the order of a scan that contain the exact results among all rows and among most filters. */
const scannedMin = 1_000
/** Original vectors read at a time. */
const readAtOnce = 64

/** The exact result of each share. */
async function goodHits({ search, query, replica, version, allowed, host }: Exact): Promise<readonly GoodHits[]> {
  const field = replica.dense[search.fieldIndex] as DenseField
  const needed = candidatesNeeded(search)
  const all = await field.scan(query, { k: Math.min(walkEntriesMax, Math.max(scannedMin, 2 * needed)), version })
  await host.rest()
  const scanned: Ranked[] = []
  for (const matches of allowed) {
    const inAll = [...all.ordinals.keys()].filter((i) => matches?.bitmap.has(all.ordinals[i] as number) ?? true)
    const isEnough = inAll.length >= Math.min(needed, matches?.count ?? 0)
    scanned.push(
      isEnough
        ? select(all, inAll.slice(0, needed))
        : await field.scan(query, { k: needed, version, ordinals: (matches as Matches).bitmap.toOrdinals() }),
    )
    await host.rest()
  }
  const similarities = await originalSimilarities(search, query, replica, scanned, host)
  return scanned.map((ranked) => bestOf(search.k, ranked, similarities))
}

/**
 * Number of rows, in the order of a scan, that contain the best k by the original vectors. Rows of 8 bits and more hardly differ from them;
 * searches of coarser ones are rescored by default.
 */
function candidatesNeeded({ definition, k }: MeasuredSearch): number {
  const needed = isCoarse(definition.params.precision)
    ? 4 * candidatesMaxFor(k, definition.params.precision)
    : Math.ceil(1.5 * k) + 4
  return Math.min(walkEntriesMax, needed)
}

/** About as many original vectors are read for each query. */
export function readsPerQuery(search: MeasuredSearch, replica: Replica): number {
  if (originalsOf(search, replica) === undefined) return 0
  const { definition, k, rescore } = search
  const rescored = rescore ? stepsMostly * candidatesMaxFor(k, definition.params.precision) : 0
  return measuredShares.length * (candidatesNeeded(search) + rescored)
}

/** Most curves need so many steps. */
const stepsMostly = 4

function originalsOf({ fieldIndex }: MeasuredSearch, replica: Replica): Originals | undefined {
  const originals = replica.originals[fieldIndex]
  return originals?.owner.isPartial ? undefined : originals
}

type Ranked = { readonly ordinals: Uint32Array; readonly similarities: Float32Array }

function select({ ordinals, similarities }: Ranked, places: readonly number[]): Ranked {
  return {
    ordinals: Uint32Array.from(places, (i) => ordinals[i] as number),
    similarities: Float32Array.from(places, (i) => similarities[i] as number),
  }
}

/** Of each scanned row by its original vector, which is read once. Undefined if the field keeps none. */
async function originalSimilarities(
  search: MeasuredSearch,
  query: Float32Array,
  replica: Replica,
  scanned: readonly Ranked[],
  host: MeasureHost,
): Promise<ReadonlyMap<number, number> | undefined> {
  const originals = originalsOf(search, replica)
  if (originals === undefined) return undefined
  const { dimension, spaceType } = search.definition.params
  const source = vectorsOf(originals, dimension)
  const ordinals = [...new Set(scanned.flatMap((ranked) => [...ranked.ordinals]))]
  const similarities = new Map<number, number>()
  for (let from = 0; from < ordinals.length; from += readAtOnce) {
    const some = ordinals.slice(from, from + readAtOnce)
    for (const [i, vectors] of (await source.read(some)).entries())
      similarities.set(some[i] as number, maxSim(query, vectors, dimension, spaceType))
    await host.rest()
  }
  return similarities
}

/** The best k by the original vectors if the field keeps them, else by its rows. */
function bestOf(
  k: number,
  { ordinals, similarities }: Ranked,
  originals: ReadonlyMap<number, number> | undefined,
): GoodHits {
  const ranked = Array.from(ordinals, (ordinal, i) => ({
    ordinal,
    similarity: originals?.get(ordinal) ?? (similarities[i] as number),
  }))
  ranked.sort((a, b) => b.similarity - a.similarity)
  const count = Math.min(k, ranked.length)
  const last = ranked[count - 1]?.similarity ?? 0
  const least = last - Math.abs(last) * 1e-6
  const good = ranked.filter(({ similarity }) => similarity >= least).map(({ ordinal }) => ordinal)
  return { ordinals: new Set(good), count }
}
