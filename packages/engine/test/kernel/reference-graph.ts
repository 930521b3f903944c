// The graph of the kernel in plain TypeScript: no SIMD, no shared memory, no threads, one row at a time. The kernel must build the same
// graph, link for link.
import type { DenseSchemaParams } from '../../src/model/schema.ts'
import { levelOf } from '../../src/vector/dense/level.ts'

const f = Math.fround

export interface Row {
  readonly code: Int32Array
  readonly a: number
  readonly factor: number
}

/** Encodes vectors as rows, and computes the key of one row with another as the query. */
export interface Codes {
  encode(vector: Float32Array, params: DenseSchemaParams): Row
  key(query: Row, row: Row, params: DenseSchemaParams): number
}
interface Entry {
  readonly key: number
  readonly id: number
  expanded: boolean
}

/** Nearest integer, ties to even, as the hardware rounds. */
export function nearest(x: number): number {
  const low = Math.floor(x)
  const rest = x - low
  if (rest !== 0.5) return Math.round(x)
  return low % 2 === 0 ? low : low + 1
}

/** Sum of four lanes, each accumulated in single precision in order. */
export function laneSum(n: number, term: (i: number) => number): number {
  const lanes = [0, 0, 0, 0]
  for (let i = 0; i < n; i++) lanes[i % 4] = f((lanes[i % 4] ?? 0) + f(term(i)))
  const [a = 0, b = 0, c = 0, d = 0] = lanes
  return f(f(a + b) + f(c + d))
}

/** A row of an arena without a center. */
export function encode(vector: Float32Array, params: DenseSchemaParams): Row {
  const lanes = Math.ceil(vector.length / 16) * 16
  const x = (i: number) => vector[i] ?? 0
  let most = 0
  for (const value of vector) most = Math.max(most, Math.abs(value))
  const inverse = most > 0 ? f(63 / most) : 0
  const code = Int32Array.from({ length: lanes }, (_, i) => nearest(f(x(i) * inverse)))
  const square = laneSum(lanes, (i) => x(i) * x(i))
  const term = (i: number) => f(x(i) * (code[i] ?? 0))
  // Sixteen dimensions at a time: lanes of the four vectors are added in pairs before they are added to the sum.
  const sums = [0, 0, 0, 0]
  for (let i = 0; i < lanes; i += 16)
    for (let lane = 0; lane < 4; lane++) {
      const pairs = f(f(term(i + lane) + term(i + 4 + lane)) + f(term(i + 8 + lane) + term(i + 12 + lane)))
      sums[lane] = f((sums[lane] ?? 0) + pairs)
    }
  const [a = 0, b = 0, c = 0, d = 0] = sums
  const along = f(f(a + b) + f(c + d))
  const beyond = params.spaceType === 'cosine' && (params.rules ?? 1) > 1 && square === 0 ? 1 : 0
  return { code, a: params.spaceType === 'ip' ? -0 : f(square + beyond), factor: along > 0 ? f(square / along) : 0 }
}

/** Each step in single precision. */
function key(query: Row, row: Row, { spaceType }: DenseSchemaParams): number {
  let dot = 0
  for (let i = 0; i < row.code.length; i++) dot += (query.code[i] ?? 0) * (row.code[i] ?? 0)
  const gain = spaceType === 'ip' ? query.factor : f(2 * query.factor)
  return f(f(query.a + row.a) - f(f(gain * row.factor) * f(dot)))
}

export class ReferenceGraph {
  readonly #params: DenseSchemaParams
  readonly #codes: Codes
  readonly #rows: Row[] = []
  /** By ordinal, then by level. */
  readonly links: number[][][] = []
  /** By ordinal, if the row follows another row that a walk cannot distinguish from it. */
  readonly leaders: number[] = []
  readonly #classes = new Map<string, number>()
  readonly #led = new Set<number>()
  #entry = -1
  #linked = 0

  constructor(params: DenseSchemaParams, codes: Codes = { encode, key }) {
    this.#params = params
    this.#codes = codes
  }

  /** Appends rows and links them in sub-batches, as one apply does. */
  insert(vectors: readonly Float32Array[]): void {
    const first = this.#rows.length
    for (const vector of vectors) this.#rows.push(this.#codes.encode(vector, this.#params))
    for (let next = first; next < this.#rows.length; ) {
      const length = Math.max(1, Math.min(256, Math.floor(this.#linked / 20)))
      const nodes: number[] = []
      for (; next < this.#rows.length && nodes.length < length; next++) if (this.#isNode(next)) nodes.push(next)
      this.#link(nodes)
    }
  }

  /** Whether the row becomes a node. If it follows another row, that row drops its last neighbor if its list is full. */
  #isNode(id: number): boolean {
    const row = this.#rows[id]
    if (row === undefined || (this.#params.rules ?? 1) < 2) return true
    const bits = (x: number) => new Uint32Array(Float32Array.of(x).buffer)[0] ?? 0
    const name = [row.code.join(' '), this.#params.spaceType === 'ip' ? 0 : bits(row.a) >>> 8, bits(row.factor) >>> 8]
    const leader = this.#classes.get(name.join('|'))
    if (leader === undefined) {
      this.#classes.set(name.join('|'), id)
      this.links[id] = Array.from({ length: this.#level(id) + 1 }, () => [])
      return true
    }
    this.leaders[id] = leader
    this.links[id] = []
    this.#led.add(leader)
    this.#setList(leader, 0, this.#list(leader, 0).slice(0, this.#degree(leader, 0)))
    return false
  }

  #degree(id: number, level: number): number {
    if (level > 0) return this.#params.M
    return 2 * this.#params.M - (this.#led.has(id) ? 1 : 0)
  }

  /** Whether every row can be reached, so that the kernel has nothing to reconnect. */
  isWhole(): boolean {
    const seen = new Set([this.#entry])
    for (const id of seen) for (const list of this.links[id] ?? []) for (const other of list) seen.add(other)
    return seen.size === this.links.length - Object.keys(this.leaders).length
  }

  #link(nodes: readonly number[]): void {
    for (const id of nodes) this.links[id] = Array.from({ length: this.#level(id) + 1 }, () => [])
    const forward: number[][][] = []
    for (const [i, id] of nodes.entries()) forward.push(this.#findNeighbors(id, nodes.slice(0, i)))
    const nodeAt = (i: number) => nodes[i] ?? -1
    forward.forEach((lists, i) => {
      lists.forEach((list, level) => {
        this.#setList(nodeAt(i), level, [...list])
      })
    })
    forward.forEach((lists, i) => {
      for (let level = lists.length - 1; level >= 0; level--)
        for (const target of lists[level] ?? []) this.#connect(target, nodeAt(i), level)
    })
    for (const id of nodes) if (this.#entry < 0 || this.#level(id) > this.#level(this.#entry)) this.#entry = id
    this.#linked += nodes.length
  }

  #findNeighbors(id: number, earlier: readonly number[]): number[][] {
    const forward: number[][] = []
    const { M, efConstruction } = this.#params
    const top = this.#entry < 0 ? -1 : this.#level(this.#entry)
    let level = this.#level(id)
    for (; level > top; level--) forward[level] = this.#choose(this.#merged([], id, earlier, level), M)
    if (level < 0) return forward
    let pool = this.#approach(id, level)
    for (; level >= 0; level--) {
      pool = this.#walk(id, pool, efConstruction, level)
      forward[level] = this.#choose(this.#merged(pool, id, earlier, level), M)
    }
    return forward
  }

  #merged(pool: readonly Entry[], id: number, earlier: readonly number[], level: number): Entry[] {
    const all = [...pool]
    for (const other of earlier) if (this.#level(other) >= level) all.push(this.#entryFor(id, other))
    return all.sort(byKey).slice(0, this.#params.efConstruction)
  }

  #approach(id: number, level: number): Entry[] {
    let node = this.#entryFor(id, this.#entry)
    let l = this.#level(this.#entry)
    for (; l > (level === 0 ? 1 : level); l--) node = this.#descend(id, node, l)
    const pool = [node]
    return level === 0 && l === 1 ? this.#walk(id, pool, 8, 1) : pool
  }

  #descend(id: number, from: Entry, level: number): Entry {
    let best = from
    for (;;) {
      const here = best
      for (const other of this.#list(here.id, level)) {
        const entry = this.#entryFor(id, other)
        if (entry.key < best.key) best = entry
      }
      if (best === here) return best
    }
  }

  #walk(id: number, seeds: readonly Entry[], wanted: number, level: number): Entry[] {
    const pool = seeds.slice(0, wanted).map((entry) => ({ ...entry, expanded: false }))
    const seen = new Set(seeds.map((entry) => entry.id))
    for (;;) {
      const next = pool.find((entry) => !entry.expanded)
      if (next === undefined) return pool
      next.expanded = true
      for (const other of this.#list(next.id, level)) {
        if (seen.has(other)) continue
        seen.add(other)
        pool.push(this.#entryFor(id, other))
        pool.sort(byKey)
        if (pool.length > wanted) pool.pop()
      }
    }
  }

  #choose(sorted: readonly Entry[], most: number): number[] {
    const chosen: number[] = []
    for (const { id, key } of sorted) {
      if (chosen.length === most) break
      if (chosen.every((other) => !(this.#key(id, other) < key))) chosen.push(id)
    }
    return chosen
  }

  #connect(target: number, id: number, level: number): void {
    const list = this.#list(target, level)
    const degree = this.#degree(target, level)
    if (list.includes(id)) return
    if (list.length < degree) {
      list.push(id)
      return
    }
    const sorted = [...list, id].map((other) => this.#entryFor(target, other)).sort(byKey)
    this.#setList(target, level, this.#choose(sorted, degree))
  }

  #list(id: number, level: number): number[] {
    return this.links[id]?.[level] ?? []
  }
  #setList(id: number, level: number, list: number[]): void {
    const levels = this.links[id]
    if (levels !== undefined) levels[level] = list
  }
  #level(id: number): number {
    return levelOf(id, this.#params.M)
  }
  #entryFor(from: number, id: number): Entry {
    return { key: this.#key(from, id), id, expanded: false }
  }

  /** Key of `to` with the row of `from` as the query. */
  #key(from: number, to: number): number {
    const query = this.#rows[from]
    const row = this.#rows[to]
    if (query === undefined || row === undefined) throw new Error('rows exist')
    return this.#codes.key(query, row, this.#params)
  }
}

function byKey(a: Entry, b: Entry): number {
  return a.key - b.key || a.id - b.id
}
