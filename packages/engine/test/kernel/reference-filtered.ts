// The walk over allowed rows in plain TypeScript: no addresses, no prefetching, one row at a time. It reads the lists of the kernel and its
// keys, which other references compare, and must visit and return the same rows.

/** What the walk reads. */
export interface FilteredGraph {
  readonly M: number
  readonly rows: number
  /** The row at which searches enter. */
  readonly entry: number
  readonly levelOf: (row: number) => number
  readonly list: (row: number, level: number) => readonly number[]
  readonly key: (row: number) => number
  readonly isAllowed: (row: number) => boolean
  /** Whether a row is not allowed, or not visible. */
  readonly isHidden: (row: number) => boolean
  /** Allowed rows by ordinal, also those that do not exist. */
  readonly allowed: readonly number[]
  /** Keys of inner products are not distances. */
  readonly isIp: boolean
}

interface Entry {
  readonly row: number
  readonly key: number
  readonly hidden: boolean
  expanded: boolean
}

const f = Math.fround
const [enough, listsMin, sparsityMin, starts, expectedMin, checkAfter, far] = [12, 64, 2, 8, 4, 32, 1.5]
const [seeds, farSeeds, growth] = [32, 256, 4]

/** The visible rows of the pool, in order; undefined if the walk through hidden rows is chosen, which this does not cover. */
export function walkAllowed(
  graph: FilteredGraph,
  { k, ef }: { readonly k: number; readonly ef: number },
): readonly number[] | undefined {
  const { M, rows, key, isAllowed, isHidden, allowed, isIp } = graph
  const share = f(f(allowed.length) / f(rows))
  const sparsity = Math.floor(rows / Math.max(1, allowed.length))
  let pool = approach(graph)
  const countVisible = () => pool.filter(({ row }) => !isHidden(row)).length
  const widen = () => {
    if (graph.levelOf(pool[0]?.row ?? 0) > 0) pool = walkUpper(graph, pool, 1, Math.min(32, ef))
  }
  if (sparsity < sparsityMin) {
    if (countVisible() > 0) return undefined
    widen()
    if (countVisible() > 0) return undefined
  }
  widen()
  const isExcluded = f(share * f(pool.length)) >= expectedMin && countVisible() === 0
  const neighborhood = pool.length < starts || isIp ? Number.POSITIVE_INFINITY : (pool[starts - 1] as Entry).key
  const seen = new Set<number>()
  const entryOf = (row: number): Entry => ({ row, key: key(row), hidden: isHidden(row), expanded: false })
  let isFar = isExcluded
  let most = isFar ? ef * growth : ef
  pool = pool.slice(0, starts).map(({ row }) => entryOf(row))
  for (const { row } of pool) seen.add(row)

  /** Inserts rows, and returns the first position that changed. */
  const insert = (listed: readonly number[]): number => {
    let first = pool.length
    for (const row of listed) {
      const entry = entryOf(row)
      const visible = pool.filter(({ hidden }) => !hidden).length
      if (visible >= most && !isBefore(entry, pool[pool.length - 1] as Entry)) continue
      const found = pool.findIndex((other) => isBefore(entry, other))
      const place = found < 0 ? pool.length : found
      pool.splice(place, 0, entry)
      first = Math.min(first, place)
      cut()
    }
    return first
  }
  const cut = () => {
    let visible = 0
    const end = pool.findIndex(({ hidden }) => !hidden && ++visible === most)
    if (end >= 0) pool = pool.slice(0, end + 1)
  }
  const listSeeds = (count: number): number[] => {
    const step = Math.max(1, Math.floor(allowed.length / count))
    const chosen: number[] = []
    // One of each word of the bitmap.
    let next = step >> 1
    for (let i = 0; i < allowed.length; ) {
      const word = (allowed[i] as number) >> 5
      let after = i
      while (after < allowed.length && (allowed[after] as number) >> 5 === word) after++
      if (next < after) {
        chosen.push(allowed[next] as number)
        next = Math.max(next + step, after)
      }
      i = after
    }
    return chosen.filter((row) => !isHidden(row) && !seen.has(row) && seen.add(row))
  }
  const listAround = (row: number): number[] => {
    const listed: number[] = []
    const queue: number[] = []
    let met = 0
    const read = (node: number) => {
      for (const next of graph.list(node, 0)) {
        if (!isAllowed(next)) {
          if (!seen.has(next)) queue.push(next)
          continue
        }
        met++
        if (!seen.has(next)) listed.push(next)
        seen.add(next)
      }
    }
    read(row)
    let lists = 0
    for (let head = 0; head < queue.length && met < enough && lists < Math.max(listsMin, sparsity); head++) {
      const node = queue[head] as number
      if (seen.has(node)) continue
      seen.add(node)
      read(node)
      lists++
    }
    return listed
  }
  const excludesNeighborhood = (): boolean => {
    const fewer = Math.max(1, f(f(sparsity) / f(M)))
    const reach = f(f(f(far) * f(neighborhood)) * f(Math.sqrt(f(Math.sqrt(fewer)))))
    const eighth = pool.filter(({ hidden }) => !hidden)[starts - 1]
    return eighth !== undefined && eighth.key > reach
  }

  cut()
  insert(listSeeds(isFar ? farSeeds : seeds))
  let end = isFar ? ef : Number.POSITIVE_INFINITY
  let best = end
  let [current, expanded] = [0, 0]
  while (current < pool.length) {
    const entry = pool[current] as Entry
    if (entry.expanded) {
      current++
      continue
    }
    if (current >= end) {
      if (best >= k) break
      end += ef
      best = end
    }
    entry.expanded = true
    if (++expanded === checkAfter && !isFar && excludesNeighborhood()) {
      isFar = true
      most = ef * growth
      end = ef
      current = Math.min(current, insert(listSeeds(farSeeds)))
    }
    const first = insert(listAround(entry.row))
    best = Math.min(best, first)
    current = first <= current ? first : current + 1
  }
  return pool.filter(({ hidden }) => !hidden).map(({ row }) => row)
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.key < b.key || (a.key === b.key && a.row < b.row)
}

function approach(graph: FilteredGraph): Entry[] {
  let best: Entry = { row: graph.entry, key: graph.key(graph.entry), hidden: false, expanded: false }
  const top = graph.levelOf(graph.entry)
  for (let level = top; level > 1; level--)
    for (let moved = true; moved; ) {
      moved = false
      for (const row of graph.list(best.row, level)) {
        const key = graph.key(row)
        if (key >= best.key) continue
        best = { row, key, hidden: false, expanded: false }
        moved = true
      }
    }
  return top > 0 ? walkUpper(graph, [best], 1, 4) : [best]
}

/** Best-first over all rows of a level. */
function walkUpper(graph: FilteredGraph, from: readonly Entry[], level: number, ef: number): Entry[] {
  const pool: Entry[] = from.slice(0, ef).map((entry) => ({ ...entry, expanded: false }))
  const seen = new Set(from.map(({ row }) => row))
  for (;;) {
    const next = pool.find(({ expanded }) => !expanded)
    if (next === undefined) return pool
    next.expanded = true
    for (const row of graph.list(next.row, level)) {
      if (seen.has(row)) continue
      seen.add(row)
      const entry = { row, key: graph.key(row), hidden: false, expanded: false }
      const found = pool.findIndex((other) => isBefore(entry, other))
      pool.splice(found < 0 ? pool.length : found, 0, entry)
      if (pool.length > ef) pool.pop()
    }
  }
}
