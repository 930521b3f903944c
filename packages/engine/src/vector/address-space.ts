// How many memories of fields a process can hold. V8 reserves as much address space for each as its code can reach without a
// check, whatever the memory may grow to.
import { readFileSync } from 'node:fs'

/** Address space of one memory. */
export const memoryReservedBytes = 2 ** 33
/** What user programs have on x64 and, at least, elsewhere. */
const userSpaceBytes = 2 ** 47
/** Memories for which fields leave room: Node.js compiles and parses in WebAssembly, too, and fails where it cannot. */
const memoriesLeft = 4
const pageBytes = 4096
/** Mappings of one memory: what is reserved, and what may be used of it. */
const mappingsOfMemory = 2

let found: number | undefined

/**
 * Fields that can hold data in this process, about: by its address space, its limits and those of the system.
 *
 * @example
 * ```ts
 * console.log(fieldsWithDataMax())
 * ```
 */
export function memoriesMax(): number {
  found ??= Math.floor(
    Math.min(
      addressSpaceBytes() / memoryReservedBytes,
      numberIn('/proc/sys/vm/max_map_count', /(\d+)/) / mappingsOfMemory,
    ),
  )
  return found
}

/** Whether a field may make another memory: what is left then is enough for what else the process does. True where the system does not tell. */
export function hasRoomForMemory(): boolean {
  const taken = numberIn('/proc/self/statm', /^(\d+)/) * pageBytes
  return taken === Number.POSITIVE_INFINITY || taken + (1 + memoriesLeft) * memoryReservedBytes <= addressSpaceBytes()
}

const claims = new Set<() => void>()

/** Calls `claim` whenever a memory is refused, which may release some; returns the function that ends this. */
export function onMemoryRefused(claim: () => void): () => void {
  claims.add(claim)
  return () => claims.delete(claim)
}

/** As hasRoomForMemory, for a field that makes one now: where there is no room, those who can release memories are called. */
export function claimRoomForMemory(): boolean {
  if (hasRoomForMemory()) return true
  for (const claim of claims) claim()
  return false
}

let limit: number | undefined

function addressSpaceBytes(): number {
  limit ??= Math.min(userSpaceBytes, numberIn('/proc/self/limits', /^Max address space\s+(\d+)/m))
  return limit
}

/** Infinity where the system sets no limit or does not tell. */
function numberIn(path: string, pattern: RegExp): number {
  try {
    return Number(pattern.exec(readFileSync(path, 'latin1'))?.[1] ?? Number.POSITIVE_INFINITY)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
