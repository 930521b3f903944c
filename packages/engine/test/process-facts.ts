// What this process takes of the system, as the system counts it.
import { readdirSync, readFileSync } from 'node:fs'

export interface Taken {
  /** Reservations of a WebAssembly memory's address space. */
  readonly memories: number
  readonly mappings: number
  readonly descriptors: number
  readonly rssBytes: number
}

/** More than anything but a WebAssembly memory reserves at once. */
const reservationMin = 2 ** 32

/** Undefined where the system has no /proc. */
export function takenByProcess(): Taken | undefined {
  const maps = readOrNothing('/proc/self/maps')
  if (maps === undefined) return undefined
  const sizes = maps
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [from = '0', to = '0'] = (line.split(' ')[0] ?? '').split('-')
      return Number.parseInt(to, 16) - Number.parseInt(from, 16)
    })
  return {
    memories: sizes.filter((size) => size >= reservationMin).length,
    mappings: sizes.length,
    descriptors: readdirSync('/proc/self/fd').length,
    rssBytes: process.memoryUsage.rss(),
  }
}

function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return undefined
  }
}
