// The walk of a field without heads in plain TypeScript, one entry at a time: a sorted list in place of the pool, a set in place of marks. The
// kernel must compare the same codes, expand the same rows, and end with the same ones.

/** What the walk needs of a graph and of a query. A list of ordinals gives a list of keys. */
export interface WalkedGraph {
  readonly entry: number
  readonly linksAtBase: number
  levelOf(id: number): number
  list(id: number, level: number): readonly number[]
  keys(ids: readonly number[]): readonly number[]
}

interface Entry {
  readonly key: number
  readonly id: number
  expanded: boolean
}

const inOrder = (a: Entry, b: Entry) => a.key - b.key || a.id - b.id

export class ReferenceWalk {
  readonly #graph: WalkedGraph
  readonly #ef: number
  codes = 0
  hops = 0

  constructor(graph: WalkedGraph, ef: number) {
    this.#graph = graph
    this.#ef = ef
  }

  /** The ordinals of the pool, the nearest first. */
  run(): number[] {
    const most = Math.max(1, Math.min(8, Math.floor(256 / this.#graph.linksAtBase)))
    const width = Math.min(most, Math.max(2, this.#ef - 8))
    return this.#walk(this.#seeds(), this.#ef, 0, width).map(({ id }) => id)
  }

  #seeds(): Entry[] {
    const { entry } = this.#graph
    let [best] = this.#compare([entry]) as [Entry]
    const compared = new Set<number>()
    let level = this.#graph.levelOf(entry)
    for (; level > 1; level--)
      for (let before: Entry | undefined; before !== best; ) {
        before = best
        this.hops++
        for (const near of this.#compare(this.#fresh(before.id, level, compared))) if (near.key < best.key) best = near
      }
    return level === 1 ? this.#walk([best], 4, 1, 1) : [best]
  }

  /** Expands the best entries of a pool of `ef`, `width` at a time, until all are expanded. */
  #walk(seeds: readonly Entry[], ef: number, level: number, width: number): Entry[] {
    let pool = seeds.slice(0, ef).map((entry) => ({ ...entry, expanded: false }))
    const visited = new Set(seeds.map(({ id }) => id))
    for (;;) {
      const open = pool.filter(({ expanded }) => !expanded).slice(0, width)
      if (open.length === 0) return pool
      this.hops += open.length
      for (const entry of open) entry.expanded = true
      const fresh = open.flatMap(({ id }) => this.#fresh(id, level, visited))
      pool = [...pool, ...this.#compare(fresh)].sort(inOrder).slice(0, ef)
    }
  }

  #fresh(id: number, level: number, visited: Set<number>): number[] {
    // A list may name a row twice: rows that are linked again are linked one after another (hnsw/reconnect.ts).
    return this.#graph.list(id, level).filter((other) => !visited.has(other) && visited.add(other))
  }

  #compare(ids: readonly number[]): Entry[] {
    this.codes += ids.length
    const keys = this.#graph.keys(ids)
    return ids.map((id, i) => ({ id, key: keys[i] as number, expanded: false }))
  }
}
