// The walk of a field with heads in plain TypeScript: sorted lists in place of the pool, of the heap of rows that wait, and of marks. The
// kernel must compare the same heads and codes, expand the same rows, and end with the same ones.

/** What the walk needs of a graph and of a query. A list of ordinals gives a list of numbers. */
export interface ScreenedGraph {
  readonly entry: number
  readonly linksAtBase: number
  levelOf(id: number): number
  list(id: number, level: number): readonly number[]
  estimates(ids: readonly number[]): readonly number[]
  bounds(ids: readonly number[]): readonly number[]
  keys(ids: readonly number[]): readonly number[]
}

interface Entry {
  readonly key: number
  readonly id: number
  expanded: boolean
}

const inOrder = (a: Entry, b: Entry) => a.key - b.key || a.id - b.id
const entriesOf = (ids: readonly number[], keys: readonly number[]): Entry[] =>
  ids.map((id, i) => ({ id, key: keys[i] as number, expanded: false }))

export class ScreenedWalk {
  readonly #graph: ScreenedGraph
  readonly #ef: number
  heads = 0
  codes = 0
  hops = 0

  constructor(graph: ScreenedGraph, ef: number) {
    this.#graph = graph
    this.#ef = ef
  }

  /** The ordinals of the pool, the nearest first. */
  run(): number[] {
    const seeds = this.#seeds()
    const visited = new Set(seeds.map(({ id }) => id))
    let pool = seeds.slice(0, this.#ef)
    let waiting: Entry[] = []
    const isFull = () => pool.length === this.#ef
    const limit = () => (isFull() ? (pool.at(-1) as Entry).key : Number.POSITIVE_INFINITY)
    const width = Math.max(1, Math.min(8, Math.floor(256 / this.#graph.linksAtBase)))
    for (;;) {
      const most = 8 + Math.floor(waiting.length / 16)
      if (waiting.some(({ key }) => key <= limit())) {
        const compared = waiting.slice(0, most).filter(({ key }) => key <= limit())
        waiting = compared.length < most ? [] : waiting.slice(compared.length)
        pool = [...pool, ...this.#compare(compared.map(({ id }) => id))].sort(inOrder).slice(0, this.#ef)
      } else {
        waiting = []
      }
      const fresh = this.#expand(pool, width, 0, visited)
      if (fresh === undefined && waiting.length === 0) return pool.map(({ id }) => id)
      if (fresh === undefined) continue
      this.heads += fresh.length
      const near = entriesOf(fresh, this.#graph.bounds(fresh)).filter(({ key }) => !(key > limit()))
      waiting = [...waiting, ...near].sort(inOrder)
    }
  }

  /** Where a walk of level 0 begins: found by heads, and then compared. */
  #seeds(): Entry[] {
    const { entry } = this.#graph
    let [best] = entriesOf([entry], this.#graph.estimates([entry])) as [Entry]
    this.heads++
    const visited = new Set<number>()
    let level = this.#graph.levelOf(entry)
    for (; level > 1; level--)
      for (let before: Entry | undefined; before !== best; ) {
        before = best
        best = [best, ...this.#estimate(this.#expand([best], 1, level, visited) ?? [])].sort(inOrder)[0] as Entry
        before.expanded = false
      }
    let beam = [best]
    const met = new Set([best.id])
    for (let fresh: number[] | undefined = []; level === 1 && fresh !== undefined; ) {
      fresh = this.#expand(beam, 2, 1, met)
      beam = [...beam, ...this.#estimate(fresh ?? [])].sort(inOrder).slice(0, 4)
    }
    return this.#compare(beam.map(({ id }) => id)).sort(inOrder)
  }

  /** Lists what is not visited around the first entries that are not expanded; undefined if all are. */
  #expand(pool: readonly Entry[], width: number, level: number, visited: Set<number>): number[] | undefined {
    const open = pool.filter(({ expanded }) => !expanded).slice(0, width)
    if (open.length === 0) return undefined
    this.hops += open.length
    const fresh: number[] = []
    for (const entry of open) {
      entry.expanded = true
      for (const id of this.#graph.list(entry.id, level)) {
        if (visited.has(id)) continue
        visited.add(id)
        fresh.push(id)
      }
    }
    return fresh
  }

  #estimate(ids: readonly number[]): Entry[] {
    this.heads += ids.length
    return entriesOf(ids, this.#graph.estimates(ids))
  }

  #compare(ids: readonly number[]): Entry[] {
    this.codes += ids.length
    return entriesOf(ids, this.#graph.keys(ids))
  }
}
