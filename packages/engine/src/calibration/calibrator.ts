// Chooses ef for the searches of a collection that state a recall, and keeps the measurements for it up to date as the collection changes.
// What it knows is derived from the collection and its queries: nothing in the log or in a checkpoint depends on it, and a file next to them
// keeps it over restarts. Measurements run in the background, one at a time in the engine.
import { EngineError } from '../errors.ts'
import type {
  CalibrationCounts,
  CalibrationTable,
  FieldCalibration,
  ReceivedQueries,
  SearchRecall,
} from '../model/calibration.ts'
import type { Replica } from '../replica/replica.ts'
import type { EfChooser, RecallSearch } from '../search/ef-chooser.ts'
import { type MeasuredSearch, measureCurves, readsPerQuery } from './measure-curves.ts'
import { makeProbes } from './probe-queries.ts'
import { QuerySample } from './query-sample.ts'
import type { CalibrationQueue } from './queue.ts'
import type { ShareCurve } from './shares.ts'
import type { CalibrationStore, KeptMeasurement, Measurement } from './store.ts'
import { chooseFrom, findKind, measuredLimit } from './table.ts'
import { changedRows, takeWitnesses } from './witnesses.ts'
import { keepAlive, WorkPace } from './work-pace.ts'

/** From this many received queries on, they are used next to probes. */
const receivedMin = 50
/** From this many on, they are used alone. */
const receivedEnough = 200
/** After the next measurement with received queries, there is another one after this many times as many. */
const receivedGrowth = 4
/** Components that the exact searches of a measurement may compare: about ten seconds of CPU. To read a vector from disk takes as long as many. */
const comparedMax = 6e10
const comparedPerRead = 4e5
const queriesMin = 200
const queriesMax = 1_000
/** Changed rows, as a share of the rows that were measured, that make a measurement untrue. */
const changedShareMax = 0.2
const changedMin = 100
/** A measurement waits this many times as long as the previous one took. */
const pauseFactor = 9

interface Measured extends Measurement {
  /** True until the collection has counted this many changes. Then the changed rows are determined. */
  readonly trueUntil: number
  /** Measured again when so many queries were received. */
  readonly receivedNext: number
}

class Calibration {
  readonly search: MeasuredSearch
  measured: Measured | undefined
  running: Promise<void> | undefined
  progress: { done: number; queries: number } | undefined
  error: string | undefined
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

/** What a calibrator needs of its collection. */
export interface CalibratorHost {
  readonly queue: CalibrationQueue
  readonly store: CalibrationStore
  readonly collectionId: number
  /** The replica that serves. Throws if there is none. */
  replica(): Replica
  /** Called when `table` returns another table than before. */
  onTable(): void
}

export class Calibrator implements EfChooser {
  readonly #host: CalibratorHost
  readonly #fields = new Map<number, CalibratedField>()
  #changes = 0
  #searches = 0
  #unreachable = 0
  #table: CalibrationTable | undefined
  /** The smallest `trueUntil` of the measurements in the table that are true. */
  #tableUntil = Number.POSITIVE_INFINITY

  constructor(host: CalibratorHost) {
    this.#host = host
  }

  /** Counts objects that were written or deleted. */
  addChanges(objects: number): void {
    this.#changes += objects
    if (this.#changes > this.#tableUntil) this.changed()
  }

  /** Call it when another replica serves, or when a measurement ended or became untrue. */
  changed(): void {
    this.#table = undefined
    this.#tableUntil = Number.POSITIVE_INFINITY
    this.#host.onTable()
  }

  /** Everything that was measured, from which this thread and others choose ef. */
  table(): CalibrationTable {
    const { generation } = this.#host.replica()
    if (this.#table?.generation === generation) return this.#table
    this.#tableUntil = Number.POSITIVE_INFINITY
    const kinds = this.#measurements().map(({ search, measured }) => {
      const isTrue = this.#isTrue(measured)
      if (isTrue) this.#tableUntil = Math.min(this.#tableUntil, measured.trueUntil)
      const { fieldIndex, k: limit, rescore } = search
      const { curves, rowCurves } = measured
      return { fieldIndex, limit, rescore, isTrue, curves, ...(rowCurves && { rowCurves }) }
    })
    this.#table = { form: 1, generation, kinds }
    return this.#table
  }

  /** Continues with the measurements that an earlier process kept. */
  async load(): Promise<void> {
    const { store, collectionId } = this.#host
    const kept = await store.read(collectionId)
    if (kept.length === 0) return
    const { generation, definition } = this.#host.replica()
    for (const { fieldIndex, limit, rescore, ...measurement } of kept) {
      const field = definition.fields[fieldIndex]
      if (field?.kind !== 'dense' || measurement.generation !== generation) continue
      const search = { fieldIndex, definition: field, k: limit, rescore }
      const calibration = calibrationOf(this.#field(search).calibrations, search)
      const changed = await changedRows(this.#host.replica(), fieldIndex, measurement)
      // The queries of before are gone, so it is not known how many there were.
      const { source, rowCurves } = measurement
      const enough = rowCurves ? receivedEnough : receivedGrowth * receivedEnough
      const receivedNext = source === 'received' ? enough : receivedMin
      calibration.measured = { ...measurement, trueUntil: this.#trueUntil(measurement, changed), receivedNext }
    }
    this.changed()
  }

  /** Chooses ef for a search, and starts a measurement if there is none that is true. */
  choose(search: RecallSearch): SearchRecall {
    const { fieldIndex, query } = search
    const { sample, calibrations } = this.#field(search)
    if (query !== undefined) sample.add(query)
    this.#measureIfNeeded(calibrationOf(calibrations, search), sample)
    const rows = this.#host.replica().rowsAt(fieldIndex)
    const choice = chooseFrom(findKind(this.table(), search), { ...search, rows })
    this.#searches++
    if (choice.reachable === false) this.#unreachable++
    return choice
  }

  /** Takes the queries of searches that other threads ran, and starts a measurement if there is none that is true. */
  receive({ fieldIndex, k, rescore, seen, queries }: ReceivedQueries): void {
    const definition = this.#host.replica().definition.fields[fieldIndex]
    if (definition?.kind !== 'dense') return
    const search = { fieldIndex, definition, k, rescore }
    const { sample, calibrations } = this.#field(search)
    if (queries.length === 0) sample.skip(seen)
    for (const query of queries) sample.add(query, seen / queries.length)
    this.#measureIfNeeded(calibrationOf(calibrations, search), sample)
  }

  #measureIfNeeded(calibration: Calibration, sample: QuerySample): void {
    const { measured } = calibration
    const isTrue = measured !== undefined && this.#isTrue(measured)
    if (!isTrue || sample.seen >= measured.receivedNext) this.#startWhenDue(calibration, sample)
  }

  /** Measures as soon as no other measurement runs, whether it is due or not. Rejects if the measurement failed. */
  async calibrate(search: MeasuredSearch & { readonly sample?: number | undefined }): Promise<FieldCalibration> {
    const { sample, calibrations } = this.#field(search)
    const calibration = calibrationOf(calibrations, search)
    await keepAlive(async () => {
      while (calibration.running !== undefined) await calibration.running
      await this.#start(calibration, () => this.#measure(calibration, sample, search.sample))
    })
    if (calibration.error !== undefined) throw new EngineError('cancelled', `not calibrated: ${calibration.error}`)
    return describe(calibration, sample, this.#isTrueOf(calibration))
  }

  /** What was measured, by field and search. */
  describe(): readonly FieldCalibration[] {
    return [...this.#fields.values()].flatMap(({ sample, calibrations }) =>
      [...calibrations.values()].map((calibration) => describe(calibration, sample, this.#isTrueOf(calibration))),
    )
  }

  /** Since the start. */
  get counts(): Pick<CalibrationCounts, 'searches' | 'unreachable'> {
    return { searches: this.#searches, unreachable: this.#unreachable }
  }

  /** Resolves when no measurement runs. Those of a closed collection end soon. */
  async settled(): Promise<void> {
    await keepAlive(async () => {
      for (const { calibrations } of this.#fields.values())
        for (const { running } of calibrations.values()) await running
    })
  }

  #measurements(): { readonly search: MeasuredSearch; readonly measured: Measured }[] {
    return [...this.#fields.values()].flatMap(({ calibrations }) =>
      [...calibrations.values()].flatMap(({ search, measured }) => (measured ? [{ search, measured }] : [])),
    )
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
  #isTrue({ generation, trueUntil }: Measured): boolean {
    return generation === this.#host.replica().generation && this.#changes <= trueUntil
  }

  /** The number of changes up to which a measurement is true, when so many rows have changed since. In the past if it is not. */
  #trueUntil({ rows }: Pick<Measurement, 'rows'>, changed: number): number {
    const left = Math.max(changedMin, rows * changedShareMax) - changed
    return left < 0 ? -1 : this.#changes + left
  }

  #startWhenDue(calibration: Calibration, sample: QuerySample): void {
    if (calibration.running !== undefined || performance.now() < calibration.restUntil) return
    void this.#start(calibration, async () => {
      if (sample.seen < (calibration.measured?.receivedNext ?? 0) && (await this.#isFoundTrue(calibration))) return
      await this.#measure(calibration, sample, undefined)
    })
  }

  /** Whether hardly any row changed since the measurement, in spite of the counted changes. Then it is true for some more. */
  async #isFoundTrue(calibration: Calibration): Promise<boolean> {
    const { measured, search } = calibration
    if (measured === undefined || measured.generation !== this.#host.replica().generation) return false
    const changed = await changedRows(this.#host.replica(), search.fieldIndex, measured)
    calibration.measured = { ...measured, trueUntil: this.#trueUntil(measured, changed) }
    this.changed()
    return this.#isTrueOf(calibration)
  }

  #start(calibration: Calibration, work: () => Promise<void>): Promise<void> {
    const running = this.#host.queue.add(async () => {
      const began = performance.now()
      try {
        await work()
        calibration.error = undefined
      } catch (error) {
        // The collection was deleted, closed, or rebuilt meanwhile, or a disk failed. The next search starts another measurement.
        calibration.error = (error as Error).message
      }
      calibration.restUntil = performance.now() + pauseFactor * (performance.now() - began)
      calibration.running = undefined
      calibration.progress = undefined
    })
    calibration.running = running
    return running
  }

  /** Measures, and keeps the result on disk. */
  async #measure(calibration: Calibration, sample: QuerySample, wanted: number | undefined): Promise<void> {
    const began = performance.now()
    const { search } = calibration
    const { fieldIndex, definition } = search
    const replica = this.#host.replica()
    const { generation } = replica
    const changes = this.#changes
    const rows = replica.rowsAt(fieldIndex)
    const witnesses = await takeWitnesses(replica, fieldIndex)
    const compared = rows * definition.params.dimension + readsPerQuery(search, replica) * comparedPerRead
    const count = wanted ?? Math.max(queriesMin, Math.min(queriesMax, Math.floor(comparedMax / Math.max(1, compared))))
    const { seen } = sample
    const isReceived = sample.size >= Math.min(receivedMin, count)
    const pace = new WorkPace()
    const host = { replica: () => this.#replicaOf(generation), rest: () => pace.rest() }
    const progress = { done: 0, queries: count }
    calibration.progress = progress
    const measure = (queries: readonly Float32Array[]) =>
      measureCurves(search, queries, {
        ...host,
        onQuery() {
          progress.done++
        },
      })
    const probe = () => makeProbes({ fieldIndex, definition, ...host }, rows === 0 ? 0 : count)
    const queries = isReceived ? sample.take(count) : await probe()
    const known =
      isReceived && queries.length < Math.min(receivedEnough, count) ? this.#rowCurves(calibration) : undefined
    const needsRows = isReceived && queries.length < Math.min(receivedEnough, count) && known === undefined
    const probes = needsRows ? await probe() : []
    progress.queries = queries.length + probes.length
    const curves = await measure(queries)
    const rowCurves = needsRows ? await measure(probes) : known
    calibration.measured = {
      ...{ curves, generation, rows, witnesses, ...(rowCurves && { rowCurves }) },
      queries: queries.length,
      source: isReceived ? 'received' : 'rows',
      measuredAt: Date.now(),
      tookMs: performance.now() - began,
      trueUntil: changes + Math.max(changedMin, rows * changedShareMax),
      receivedNext: isReceived ? Math.max(receivedEnough, receivedGrowth * seen) : receivedMin,
    }
    this.changed()
    await this.#keep()
  }

  /** The curves of made queries, if the rows are still about the same. */
  #rowCurves({ measured }: Calibration): readonly ShareCurve[] | undefined {
    if (measured === undefined || !this.#isTrue(measured)) return undefined
    return measured.source === 'rows' ? measured.curves : measured.rowCurves
  }

  async #keep(): Promise<void> {
    const { store, collectionId } = this.#host
    const kept = this.#measurements().map(({ search, measured }): KeptMeasurement => {
      const { trueUntil: _, receivedNext: __, ...measurement } = measured
      const { fieldIndex, k: limit, rescore } = search
      return { fieldIndex, limit, rescore, ...measurement }
    })
    await store.write(collectionId, kept)
  }

  /** The replica that is measured. Throws if another one serves now, or none does. */
  #replicaOf(generation: number): Replica {
    const replica = this.#host.replica()
    if (replica.generation === generation) return replica
    throw new EngineError('cancelled', 'the collection was rebuilt')
  }
}

function calibrationOf(
  calibrations: Map<string, Calibration>,
  { fieldIndex, definition, k, rescore }: Pick<RecallSearch, 'fieldIndex' | 'definition' | 'k' | 'rescore'>,
): Calibration {
  const limit = measuredLimit(k)
  const key = `${limit} ${rescore}`
  const known = calibrations.get(key)
  if (known !== undefined) return known
  const calibration = new Calibration({ fieldIndex, definition, k: limit, rescore })
  calibrations.set(key, calibration)
  return calibration
}

function describe(calibration: Calibration, sample: QuerySample, isTrue: boolean): FieldCalibration {
  const { search, measured, running, progress, error } = calibration
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
      measuredAt: measured.measuredAt,
      tookMs: measured.tookMs,
      curves: measured.curves.map(({ share, points }) => ({
        share,
        points: points.map(({ ef, recall, error: deviation }) => ({ ef, recall, error: deviation })),
      })),
    }),
  }
}
