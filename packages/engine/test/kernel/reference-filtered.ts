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
  /** The node of a row: itself, the row that it follows, or undefined for a removed row that follows none. */
  readonly nodeOf: (row: number) => number | undefined
  /** Whether a row of a node is allowed. */
  readonly isAllowed: (node: number) => boolean
  /** Whether no row of a node is allowed and visible. */
  readonly isHidden: (node: number) => boolean
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
const [enoughMin, listsMin, sparsityMin, starts, expectedMin, checkAfter, far] = [12, 64, 2, 8, 3, 16, 1.5]
const [seeds, farPlacesMin, farPlacesMax, farRun, growth, width, vainRounds] = [32, 64, 1024, 8, 8, 4, 2]
const [thin, enoughLists, enoughMost] = [0.25, 1.5, 24]
const [nearer, floatMax] = [1 / 1024, 2 ** 128 - 2 ** 104]

/**
 * The nodes of the pool with visible rows, in order; `compared` if every allowed row is compared instead, because the filter is against the query and
 * allows at most `compared` rows; undefined if the walk through hidden rows is chosen, which this does not cover.
 */
export function walkAllowed(
  graph: FilteredGraph,
  { k, ef, compared }: { readonly k: number; readonly ef: number; readonly compared: number },
): readonly number[] | 'compared' | undefined {
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
  const near = countVisible()
  const expected = f(share * f(pool.length))
  const isExcluded = expected >= expectedMin && near === 0
  const isThin = expected >= expectedMin && near < f(expected * thin)
  const average = f(f(enoughLists * share) * f(2 * M))
  const enough = isThin ? Math.max(enoughMin, Math.min(enoughMost, Math.floor(average))) : enoughMin
  const neighborhood = pool.length < starts || isIp ? Number.POSITIVE_INFINITY : (pool[starts - 1] as Entry).key
  const seen = new Set<number>()
  const entryOf = (row: number): Entry => ({ row, key: key(row), hidden: isHidden(row), expanded: false })
  const areFew = allowed.length <= compared
  let isFar = isExcluded
  if (isFar && areFew) return 'compared'
  const farWidth = Math.max(width, Math.floor(ef / 2))
  /** Rows that the pool keeps after `rounds` of a walk against the query. */
  const keptAfter = (rounds: number) => Math.min(ef + (rounds + 1) * farWidth, ef * growth)
  let most = isFar ? keptAfter(0) : ef
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
  const listSeeds = (): number[] => {
    const [places, run] = isFar ? [Math.min(farPlacesMax, Math.max(farPlacesMin, ef)), farRun] : [seeds, 1]
    const step = Math.max(1, Math.floor(allowed.length / places))
    const chosen = allowed.filter((_, rank) => rank >= step >> 1 && (rank - (step >> 1)) % step < run)
    const nodes = chosen.map(graph.nodeOf).filter((node) => node !== undefined)
    return nodes.filter((node) => !isHidden(node) && !seen.has(node) && seen.add(node))
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

  /** Expands the best `count` entries from `from` on. Returns the first position that changed, or undefined if there were none. */
  const expandBest = (from: number, count: number): number | undefined => {
    const taken = pool.slice(from).filter((entry) => !entry.expanded)
    taken.splice(count)
    for (const entry of taken) entry.expanded = true
    expanded += taken.length
    if (isFar) most = keptAfter(++rounds)
    return taken.length === 0 ? undefined : insert(taken.flatMap(({ row }) => listAround(row)))
  }

  cut()
  insert(listSeeds())
  let isChecked = isFar
  let [current, expanded, rounds, useful] = [0, 0, 0, 0]
  while (!isFar && current < pool.length) {
    if (pool[current]?.expanded) {
      current++
      continue
    }
    if (!isChecked && expanded >= checkAfter) {
      isChecked = true
      isFar = excludesNeighborhood()
      if (isFar && areFew) return 'compared'
      if (isFar) break
    }
    const first = expandBest(current, width) ?? pool.length
    current = first <= current ? first : current + 1
  }
  if (isFar && expanded > 0) {
    most = keptAfter(0)
    insert(listSeeds())
  }
  while (isFar && rounds - useful < Math.max(vainRounds, useful)) {
    const last = pool.filter(({ hidden }) => !hidden)[k - 1]?.key ?? floatMax
    const first = expandBest(0, farWidth)
    if (first === undefined) break
    if ((pool[first]?.key ?? floatMax) < f(last - f(nearer * Math.abs(last)))) useful = rounds
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
