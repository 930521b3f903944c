// Chooses ef for the searches of a collection that state a recall, and keeps the measurements that this needs true as the collection changes.
// What it knows is derived from the collection and its queries: it is in memory only, and nothing in the log or in a checkpoint depends on
// it. Measurements run in the background, one at a time in the engine.
import { EngineError } from '../errors.ts'
import { efMax } from '../limits.ts'
import type { FieldCalibration, SearchRecall } from '../model/calibration.ts'
import type { Replica } from '../replica/replica.ts'
import type { EfChooser, RecallSearch } from '../search/ef-chooser.ts'
import { type MeasuredSearch, measureCurves, readsPerQuery } from './measure-curves.ts'
import { makeProbes } from './probe-queries.ts'
import { QuerySample } from './query-sample.ts'
import type { CalibrationQueue } from './queue.ts'
import { chooseForShare, type ShareCurve } from './shares.ts'
import { WorkPace } from './work-pace.ts'

/** Values of k that are measured. A search uses the next larger one: at the same ef, its recall is higher. */
const measuredLimits = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 4_096]

/** From this many received queries on, they are used instead of probes. */
const receivedMin = 200
/** After the next measurement with received queries, there is another one after this many times as many. */
const receivedGrowth = 4
/** Components that the exact searches of a measurement may compare: about ten seconds of CPU. To read a vector from disk takes as long as many. */
const comparedMax = 6e10
const comparedPerRead = 4e5
const queriesMin = 200
const queriesMax = 1_000
/** Changed objects, as a share of the rows that were measured, that make a measurement untrue. */
const changedShareMax = 0.2
const changedMin = 100
/** Meanwhile its values of ef are raised by this factor. */
const staleFactor = 1.25
/** A measurement waits this many times as long as the previous one took. */
const pauseFactor = 9

interface Measured {
  readonly curves: readonly ShareCurve[]
  readonly generation: number
  readonly rows: number
  readonly changes: number
  readonly queries: number
  readonly source: 'received' | 'rows'
  /** Measured again when so many queries were received. */
  readonly receivedNext: number
  readonly at: number
}

class Calibration {
  readonly search: MeasuredSearch
  measured: Measured | undefined
  running: Promise<void> | undefined
  progress: { done: number; queries: number } | undefined
  error: string | undefined
  busyMs = 0
  /** Not measured again before this time, by the clock of `performance`. */
  restUntil = 0

  constructor(search: MeasuredSearch) {
    this.search = search
  }
}

interface CalibratedField {
  readonly sample: QuerySample
  readonly calibrations: Map<string, Calibration>
}

export class Calibrator implements EfChooser {
  readonly #queue: CalibrationQueue
  readonly #replica: () => Replica
  readonly #fields = new Map<number, CalibratedField>()
  #changes = 0

  /** `replica` returns the replica that serves, and throws if there is none. */
  constructor(queue: CalibrationQueue, replica: () => Replica) {
    this.#queue = queue
    this.#replica = replica
  }

  /** Counts objects that were written or deleted. */
  addChanges(objects: number): void {
    this.#changes += objects
  }

  /** Chooses ef for a search, and starts a measurement if there is none that is true. */
  choose(search: RecallSearch): SearchRecall {
    const { fieldIndex, k, target, matches, query } = search
    const { sample, calibrations } = this.#field(search)
    if (query !== undefined) sample.add(query)
    const calibration = calibrationOf(calibrations, search)
    const { measured } = calibration
    const isTrue = measured !== undefined && this.#isTrue(measured)
    if (!isTrue || sample.seen >= measured.receivedNext) this.#startWhenDue(calibration, sample)
    if (measured === undefined) return { target, ef: uncalibratedEf(target, k), calibrated: false }
    const rows = this.#replica().rowsAt(fieldIndex)
    const share = matches === undefined ? 1 : Math.min(1, matches / Math.max(1, rows))
    const { ef, expected, reached } = chooseForShare(measured.curves, share, target)
    const chosen = Math.max(k, Math.min(efMax, isTrue ? ef : Math.ceil(ef * staleFactor)))
    return { target, ef: chosen, expected, reachable: reached, calibrated: isTrue }
  }

  /** Measures as soon as no other measurement runs, whether it is due or not. Rejects if the measurement failed. */
  async calibrate(search: MeasuredSearch & { readonly sample?: number | undefined }): Promise<FieldCalibration> {
    const { sample, calibrations } = this.#field(search)
    const calibration = calibrationOf(calibrations, search)
    while (calibration.running !== undefined) await calibration.running
    await this.#start(calibration, sample, search.sample)
    if (calibration.error !== undefined) throw new EngineError('cancelled', `not calibrated: ${calibration.error}`)
    return describe(calibration, sample, this.#isTrueOf(calibration))
  }

  /** What was measured, by field and search. */
  describe(): readonly FieldCalibration[] {
    return [...this.#fields.values()].flatMap(({ sample, calibrations }) =>
      [...calibrations.values()].map((calibration) => describe(calibration, sample, this.#isTrueOf(calibration))),
    )
  }

  /** Resolves when no measurement runs. Those of a closed collection end soon. */
  async settled(): Promise<void> {
    for (const { calibrations } of this.#fields.values()) for (const { running } of calibrations.values()) await running
  }

  #field({ fieldIndex, definition }: Pick<RecallSearch, 'fieldIndex' | 'definition'>): CalibratedField {
    const known = this.#fields.get(fieldIndex)
    if (known !== undefined) return known
    const field = { sample: new QuerySample(definition.params.dimension), calibrations: new Map() }
    this.#fields.set(fieldIndex, field)
    return field
  }

  #isTrueOf({ measured }: Calibration): boolean {
    return measured !== undefined && this.#isTrue(measured)
  }

  /** Whether the collection is still close to what was measured. */
  #isTrue({ generation, rows, changes }: Measured): boolean {
    return (
      generation === this.#replica().generation &&
      this.#changes - changes <= Math.max(changedMin, rows * changedShareMax)
    )
  }

  #startWhenDue(calibration: Calibration, sample: QuerySample): void {
    if (calibration.running !== undefined || performance.now() < calibration.restUntil) return
    void this.#start(calibration, sample)
  }

  #start(calibration: Calibration, sample: QuerySample, queries?: number): Promise<void> {
    const running = this.#queue.add(async () => {
      const began = performance.now()
      try {
        calibration.measured = await this.#measure(calibration, sample, queries)
        calibration.error = undefined
      } catch (error) {
        // The collection was deleted, closed, or rebuilt meanwhile, or a disk failed. The next search starts another measurement.
        calibration.error = (error as Error).message
      }
      calibration.busyMs = performance.now() - began
      calibration.restUntil = performance.now() + pauseFactor * calibration.busyMs
      calibration.running = undefined
      calibration.progress = undefined
    })
    calibration.running = running
    return running
  }

  async #measure(calibration: Calibration, sample: QuerySample, wanted: number | undefined): Promise<Measured> {
    const { search } = calibration
    const { fieldIndex, definition } = search
    const { generation } = this.#replica()
    const changes = this.#changes
    const rows = this.#replica().rowsAt(fieldIndex)
    const compared = rows * definition.params.dimension + readsPerQuery(search, this.#replica()) * comparedPerRead
    const count = wanted ?? Math.max(queriesMin, Math.min(queriesMax, Math.floor(comparedMax / Math.max(1, compared))))
    const isReceived = sample.size >= Math.min(receivedMin, count)
    const { seen } = sample
    const pace = new WorkPace()
    const rest = () => pace.rest()
    const host = { replica: () => this.#replicaOf(generation), rest }
    calibration.progress = { done: 0, queries: count }
    const queries = isReceived
      ? sample.take(count)
      : await makeProbes({ fieldIndex, definition, ...host }, rows === 0 ? 0 : count)
    const progress = { done: 0, queries: queries.length }
    calibration.progress = progress
    const onQuery = () => {
      progress.done++
    }
    const curves = await measureCurves(search, queries, { ...host, onQuery })
    return {
      ...{ curves, generation, rows, changes },
      queries: queries.length,
      source: isReceived ? 'received' : 'rows',
      receivedNext: isReceived ? receivedGrowth * seen : receivedMin,
      at: Date.now(),
    }
  }

  /** The replica that is measured. Throws if another one serves now, or none does. */
  #replicaOf(generation: number): Replica {
    const replica = this.#replica()
    if (replica.generation === generation) return replica
    throw new EngineError('cancelled', 'the collection was rebuilt')
  }
}

function calibrationOf(
  calibrations: Map<string, Calibration>,
  { fieldIndex, definition, k, rescore }: Pick<RecallSearch, 'fieldIndex' | 'definition' | 'k' | 'rescore'>,
): Calibration {
  const limit = measuredLimits.find((one) => one >= k) ?? k
  const key = `${limit} ${rescore}`
  const known = calibrations.get(key)
  if (known !== undefined) return known
  const calibration = new Calibration({ fieldIndex, definition, k: limit, rescore })
  calibrations.set(key, calibration)
  return calibration
}

/** Enough on all sets of benchmarks/results/recall.md: 64 for .90, 97 for .95, 254 for .99, with k up to 10. */
export function uncalibratedEf(target: number, k: number): number {
  const ef = (16 / (1 - target) ** 0.6) * Math.max(1, Math.sqrt(k / 10))
  return Math.max(k, Math.min(efMax, Math.ceil(ef)))
}

function describe(calibration: Calibration, sample: QuerySample, isTrue: boolean): FieldCalibration {
  const { search, measured, running, progress, error, busyMs } = calibration
  return {
    field: search.definition.name,
    limit: search.k,
    rescore: search.rescore,
    state:
      running !== undefined
        ? 'running'
        : measured === undefined
          ? error === undefined
            ? 'none'
            : 'failed'
          : isTrue
            ? 'current'
            : 'outdated',
    received: sample.seen,
    ...(progress && { progress: { ...progress } }),
    ...(error !== undefined && { error }),
    ...(measured && {
      queries: measured.queries,
      source: measured.source,
      rows: measured.rows,
      measuredAt: measured.at,
      tookMs: busyMs,
      curves: measured.curves.map(({ share, points }) => ({
        share,
        points: points.map(({ ef, recall, error: deviation }) => ({ ef, recall, error: deviation })),
      })),
    }),
  }
}
