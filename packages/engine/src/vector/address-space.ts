// The number of memories that a process can hold. V8 reserves as much address space for each memory as its code can reach without a check,
// regardless of its maximum size.
import { readFileSync } from 'node:fs'

/** Address space of one memory. */
const memoryReservedBytes = 2 ** 33
/** Address space of user programs on x64, and at least elsewhere. */
const userSpaceBytes = 2 ** 47
/** Memories that fields leave free: Node.js compiles and parses with WebAssembly, too, and fails without them. */
const memoriesLeft = 4
const pageBytes = 4096
/** Mappings of one memory: the reserved part, and the usable part. */
const mappingsOfMemory = 2

let found: number | undefined

/**
 * Estimated number of fields that can hold data in this process, from its address space, its limits, and those of the system.
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

/** Whether a field may create another memory, so that enough remains for the rest of the process. True if the system does not report it. */
export function hasRoomForMemory(): boolean {
  const taken = numberIn('/proc/self/statm', /^(\d+)/) * pageBytes
  return taken === Number.POSITIVE_INFINITY || taken + (1 + memoriesLeft) * memoryReservedBytes <= addressSpaceBytes()
}

const claims = new Set<() => void>()

/** Calls `claim` whenever a memory is refused; it may release some. Returns the function that ends this. */
export function onMemoryRefused(claim: () => void): () => void {
  claims.add(claim)
  return () => claims.delete(claim)
}

/** Like hasRoomForMemory for a field that creates a memory now. Without space, it calls the functions that can release memories. */
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

/** Infinity if the system sets no limit or does not report it. */
function numberIn(path: string, pattern: RegExp): number {
  try {
    return Number(pattern.exec(readFileSync(path, 'latin1'))?.[1] ?? Number.POSITIVE_INFINITY)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
