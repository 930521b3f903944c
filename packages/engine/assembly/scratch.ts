// The private memory of one thread inside an arena: what it is searching for, what it has seen and what it found.
import { scratchOf } from './layout'

/** One byte per ordinal: the number of the walk that saw it last. */
export let visited: usize = 0
let visitedBytes: usize = 0
/** Sorted candidates, u64 each. */
export let pool: usize = 0
export let poolMax: i32 = 0
/** Ordinals whose keys are wanted, and the keys. */
export let ids: usize = 0
export let keys: usize = 0
/** The query: float32 as given, float32 centred, 7-bit-and-sign code, and what that code left over. */
export let query: usize = 0
export let queryCentred: usize = 0
export let queryCode: usize = 0
export let queryRest: usize = 0
/** A row in query form. */
export let rowCode: usize = 0
/** Rows as queries among which others are to be near none: see distance/among. */
export let among: usize = 0
/** Ordinals chosen by the pruning rule. */
export let chosen: usize = 0
/** Sorted candidates of a pruning, u64 each. */
export let ranked: usize = 0
/** Answers: ordinals, then similarities. */
export let answers: usize = 0
export let similarities: usize = 0
/** A word that changes as long as this thread gets on with its work, for the owner to look at. */
let pulse: usize = 0
let walk: u32 = 0
let known: usize = 0

export function attachScratch(thread: i32): void {
  const s = scratchOf(thread)
  visited = load<u32>(s)
  // The length stands before the bytes, so that one load of the address finds both as they belong together.
  visitedBytes = load<u32>(visited - 16)
  among = load<u32>(s, 4)
  pool = load<u32>(s, 8)
  poolMax = load<i32>(s, 12)
  ids = load<u32>(s, 16)
  keys = load<u32>(s, 20)
  query = load<u32>(s, 24)
  queryCentred = load<u32>(s, 28)
  queryCode = load<u32>(s, 32)
  queryRest = load<u32>(s, 36)
  rowCode = load<u32>(s, 40)
  chosen = load<u32>(s, 44)
  ranked = load<u32>(s, 48)
  answers = load<u32>(s, 52)
  similarities = load<u32>(s, 56)
  pulse = s + 60
  // Another thread may have used these bytes before this instance: it numbered its walks from 1 as well.
  if (visited != known) {
    memory.fill(visited, 0, visitedBytes)
    known = visited
    walk = 0
  }
}

/** Shows that the thread gets on. Called wherever work of no fixed bound takes a step. */
@inline
export function beat(): void {
  store<u32>(pulse, load<u32>(pulse) + 1)
}

/** Nothing is visited: for those who put other marks there than walks do. */
export function clearVisited(): void {
  memory.fill(visited, 0, visitedBytes)
}

/** Begins a walk: the number that marks what it has seen. */
export function nextWalk(): u32 {
  walk++
  if (walk == 256) {
    walk = 1
    memory.fill(visited, 0, visitedBytes)
  }
  return walk
}
