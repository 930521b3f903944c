// The private memory of one thread in an arena: its query, visited marks, candidates, and results. The host allocates it
// (src/vector/dense/scratch.ts).
import { scratchOf } from './layout'

/** One byte per ordinal: the number of the last walk that visited it. */
export let visited: usize = 0
let visitedBytes: usize = 0
/** The sorted candidates of a walk, u64 each (hnsw/pool.ts), after 64 bytes of zeros, and their maximum number. */
export let pool: usize = 0
export let poolMax: i32 = 0
/** A list of ordinals (u32), and their keys (f32). */
export let ids: usize = 0
export let keys: usize = 0
/** The query: f32 as given, f32 minus the center, its code, and the rounding residual of the code. */
export let query: usize = 0
export let queryCentered: usize = 0
export let queryCode: usize = 0
export let queryResidual: usize = 0
/** A stored row in the form of a query code. */
export let rowCode: usize = 0
/** The selected neighbors in the form of query codes: see distance/selected.ts. */
export let selected: usize = 0
/** Ordinals that the neighbor selection chose, u32. */
export let chosen: usize = 0
/** Sorted candidates of a neighbor selection, u64 each; other parts of the kernel use it as temporary space. */
export let ranked: usize = 0
/** The results: ordinals (u32), and similarities (f32). */
export let answers: usize = 0
export let similarities: usize = 0
/** The components of a query or of a row along a projection, f32, and those of a query in query form (heads/head.ts). */
export let headValues: usize = 0
export let headForm: usize = 0
/** Address of a word that changes while this thread makes progress. The watchdog of the host reads it. */
let pulse: usize = 0
let walk: u32 = 0
let attachedVisited: usize = 0

/** Reads the scratch addresses of `thread` into the globals of this instance. */
export function attachScratch(thread: i32): void {
  const s = scratchOf(thread)
  visited = load<u32>(s)
  // The length is stored before the bytes, so one load of the address returns a matching pair.
  visitedBytes = load<u32>(visited - 16)
  selected = load<u32>(s, 4)
  pool = load<u32>(s, 8)
  poolMax = load<i32>(s, 12)
  ids = load<u32>(s, 16)
  keys = load<u32>(s, 20)
  query = load<u32>(s, 24)
  queryCentered = load<u32>(s, 28)
  queryCode = load<u32>(s, 32)
  queryResidual = load<u32>(s, 36)
  rowCode = load<u32>(s, 40)
  chosen = load<u32>(s, 44)
  ranked = load<u32>(s, 48)
  answers = load<u32>(s, 52)
  similarities = load<u32>(s, 56)
  pulse = s + 60
  headValues = load<u32>(s, 64)
  headForm = load<u32>(s, 68)
  // Another instance may have used these bytes. Its walks were also numbered from 1.
  if (visited != attachedVisited) {
    memory.fill(visited, 0, visitedBytes)
    attachedVisited = visited
    walk = 0
  }
}

/** Reports progress to the watchdog. Every loop without a fixed bound calls it in each step. */
@inline
export function reportProgress(): void {
  store<u32>(pulse, load<u32>(pulse) + 1)
}

/** Clears all visited marks, after another use of the bytes. */
export function clearVisited(): void {
  memory.fill(visited, 0, visitedBytes)
}

/** Starts a walk. Returns the number, 1 to 255, that marks the ordinals it visits. */
export function nextWalk(): u32 {
  walk++
  if (walk == 256) {
    walk = 1
    memory.fill(visited, 0, visitedBytes)
  }
  return walk
}
