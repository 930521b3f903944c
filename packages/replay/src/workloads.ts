// The workloads of `annal bench generate`, as events and searches. Everything derives from the seed.
import type { FieldSchema, JsonObject, SearchRequest } from '@annal/engine'
import type { Event, ObjectsUpserted } from '@annal/engine/events'
import type { TraceEntry } from './trace.ts'

/** The kinds of traces that `generateTrace` makes. */
export const workloads = ['load', 'churn', 'drift', 'tenants', 'hybrid'] as const
/** The kind of a generated trace. */
export type Workload = (typeof workloads)[number]

/** The size of a generated trace. */
export interface WorkloadSize {
  /** Number of objects alive at any time. */
  readonly objects: number
  readonly dimension: number
  /** Objects per upsert, at most 1,000. */
  readonly batch: number
  /** Searches per thousand objects written. */
  readonly queriesPerThousand: number
  readonly seed: number
}

/** Time of the first event; one second of log time is a thousand objects. */
const timeFirst = Date.UTC(2026, 0, 1)
const collectionId = 1
const clusters = 64
const vocabulary = 20_000

export function* workloadEntries(workload: Workload, size: WorkloadSize): Generator<TraceEntry, void> {
  yield* new Maker(workload, size).entries()
}

class Maker {
  readonly #workload: Workload
  readonly #size: WorkloadSize
  readonly #random: () => number
  readonly #centers: Float32Array[]
  #written = 0
  #queries = 0
  #next = 0

  constructor(workload: Workload, size: WorkloadSize) {
    this.#workload = workload
    this.#size = size
    this.#random = seeded(size.seed)
    this.#centers = Array.from({ length: clusters }, () => this.#gaussian(size.dimension))
  }

  *entries(): Generator<TraceEntry, void> {
    yield this.#event({ kind: 'collection-created', ...this.#created() })
    yield* this.#upserts(this.#size.objects)
    if (this.#workload === 'churn') yield* this.#churn()
    if (this.#workload === 'drift') yield* this.#drift()
    if (this.#workload === 'tenants') yield* this.#moves()
  }

  #created() {
    const params = {
      dimension: this.#size.dimension,
      spaceType: 'cosine',
      precision: 'int8',
      M: 16,
      efConstruction: 128,
    } as const
    const fields: FieldSchema[] = [{ kind: 'dense', name: 'dense', params }]
    if (this.#workload === 'hybrid')
      fields.push({ kind: 'sparse', name: 'sparse', params: { model: 'default', dimension: vocabulary } })
    return {
      timeMs: timeFirst,
      collectionId,
      databaseId: 1,
      name: this.#workload,
      fields,
      hashSeed: { low: 1, high: 2 },
    }
  }

  /** New objects, with searches in between. */
  *#upserts(count: number, firstId = this.#next): Generator<TraceEntry, void> {
    for (let done = 0; done < count; done += this.#size.batch) {
      const batch = Math.min(this.#size.batch, count - done)
      yield this.#event(this.#upsert(firstId + done, batch))
      this.#written += batch
      this.#next = Math.max(this.#next, firstId + done + batch)
      yield* this.#searches()
    }
  }

  *#searches(): Generator<TraceEntry, void> {
    while (this.#queries * 1_000 < this.#written * this.#size.queriesPerThousand) {
      this.#queries++
      yield { kind: 'query', lsn: 0, timeMs: this.#now(), collectionId, request: this.#request() }
    }
  }

  /** Ten rounds: in each, a tenth is deleted, a tenth is added, and the filters of a tenth are updated. */
  *#churn(): Generator<TraceEntry, void> {
    const tenth = Math.floor(this.#size.objects / 10)
    for (let round = 0; round < 10; round++) {
      yield* this.#deletes(round * tenth, tenth)
      yield* this.#upserts(tenth)
      for (let first = 0; first < tenth; first += this.#size.batch) {
        const ids = Array.from({ length: Math.min(this.#size.batch, tenth - first) }, (_, i) =>
          this.#id(this.#next - tenth + first + i),
        )
        const filters = ids.map(() => JSON.stringify(this.#filter()))
        yield this.#event({ kind: 'filters-replaced', timeMs: this.#now(), collectionId, ids, filters })
      }
    }
  }

  /** The centers move, new objects replace the oldest ones, and queries follow the data. */
  *#drift(): Generator<TraceEntry, void> {
    const step = Math.floor(this.#size.objects / 10)
    for (let round = 0; round < 10; round++) {
      for (const center of this.#centers) {
        const moved = this.#gaussian(center.length)
        for (let i = 0; i < center.length; i++) center[i] = 0.8 * (center[i] as number) + 0.6 * (moved[i] as number)
      }
      yield* this.#deletes(round * step, step)
      yield* this.#upserts(step)
    }
  }

  /** Tenants replace some of their objects. */
  *#moves(): Generator<TraceEntry, void> {
    const part = Math.floor(this.#size.objects / 5)
    yield* this.#upserts(part, Math.floor(this.#random() * (this.#size.objects - part)))
  }

  *#deletes(from: number, count: number): Generator<TraceEntry, void> {
    for (let first = 0; first < count; first += this.#size.batch) {
      const ids = Array.from({ length: Math.min(this.#size.batch, count - first) }, (_, i) =>
        this.#id(from + first + i),
      )
      yield this.#event({ kind: 'objects-deleted', timeMs: this.#now(), collectionId, ids })
    }
  }

  #upsert(firstId: number, count: number): ObjectsUpserted {
    const { dimension } = this.#size
    const objects = Uint32Array.from({ length: count }, (_, i) => i)
    const vectors = new Float32Array(count * dimension)
    for (let i = 0; i < count; i++) vectors.set(this.#vector(), i * dimension)
    const dense = [{ field: 0, objects, vectors, norms: new Float32Array(count).fill(1) }]
    const terms = Array.from({ length: this.#workload === 'hybrid' ? count : 0 }, () => this.#terms(40))
    const sparse = {
      field: 1,
      objects,
      counts: Uint32Array.from(terms, ({ indices }) => indices.length),
      indices: Uint32Array.from(terms.flatMap(({ indices }) => indices)),
      values: Float32Array.from(terms.flatMap(({ values }) => values)),
    }
    return {
      kind: 'objects-upserted',
      timeMs: this.#now(),
      collectionId,
      ids: Array.from(objects, (i) => this.#id(firstId + i)),
      metas: Array.from(objects, (i) => Buffer.from(JSON.stringify({ title: `Object ${firstId + i}` }))),
      filters: Array.from(objects, () => JSON.stringify(this.#filter())),
      dense,
      sparse: terms.length > 0 ? [sparse] : [],
      multi: [],
      text: [],
    }
  }

  #request(): SearchRequest {
    const dense = { query: this.#vector(), limit: 10 }
    if (this.#workload === 'hybrid')
      return { fields: { dense, sparse: { query: this.#terms(8), limit: 10 } }, fusion: { method: 'rrf', limit: 10 } }
    if (this.#workload !== 'tenants') return { fields: { dense } }
    const { tenant } = this.#filter()
    return { fields: { dense }, filter: [{ tenant: { $eq: tenant as string } }, { price: { $lt: 500 } }] }
  }

  /** Few tenants have many objects; many have few. */
  #filter(): JsonObject {
    const tenant = `tenant_${Math.floor(200 * this.#random() ** 3)}`
    return { tenant, price: Math.floor(this.#random() * 1_000), open: this.#random() < 0.5 }
  }

  /** Close to a center, with unit length. */
  #vector(): Float32Array {
    const center = this.#centers[Math.floor(this.#random() * clusters)] as Float32Array
    const noise = this.#gaussian(center.length)
    const vector = center.map((x, i) => x + 0.7 * (noise[i] as number))
    const length = Math.hypot(...vector)
    return vector.map((x) => x / length)
  }

  /** Terms with the frequencies of words. */
  #terms(most: number): { readonly indices: number[]; readonly values: number[] } {
    const drawn = Array.from({ length: most }, () => Math.floor(vocabulary * this.#random() ** 4))
    const indices = [...new Set(drawn)].sort((a, b) => a - b)
    return { indices, values: indices.map(() => Math.fround(0.2 + this.#random())) }
  }

  #gaussian(dimension: number): Float32Array {
    return Float32Array.from({ length: dimension }, () => {
      const radius = Math.sqrt(-2 * Math.log(1 - this.#random()))
      return radius * Math.cos(2 * Math.PI * this.#random())
    })
  }

  #id(number: number): string {
    return `object_${number}`
  }

  #now(): number {
    return timeFirst + this.#written
  }

  #event(event: Event): TraceEntry {
    return { kind: 'event', lsn: 0, event }
  }
}

/** mulberry32: the same numbers for the same seed on every platform. */
function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
