// How many memories of fields a process can hold. V8 reserves as much address space for each as its code can reach without a
// check, whatever the memory may grow to.
import { readFileSync } from 'node:fs'

/** Address space of one memory. */
export const memoryReservedBytes = 2 ** 33
/** What user programs have on x64 and, at least, elsewhere. */
const userSpaceBytes = 2 ** 47
/** Mappings of one memory: what is reserved, and what may be used of it. */
const mappingsOfMemory = 2

let found: number | undefined

/** Fields that can hold data in this process, about: by its address space, its limits and those of the system. */
export function memoriesMax(): number {
  found ??= Math.floor(
    Math.min(
      userSpaceBytes / memoryReservedBytes,
      numberIn('/proc/self/limits', /^Max address space\s+(\d+)/m) / memoryReservedBytes,
      numberIn('/proc/sys/vm/max_map_count', /(\d+)/) / mappingsOfMemory,
    ),
  )
  return found
}

/** Infinity where the system sets no limit or does not tell. */
function numberIn(path: string, pattern: RegExp): number {
  try {
    return Number(pattern.exec(readFileSync(path, 'latin1'))?.[1] ?? Number.POSITIVE_INFINITY)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
