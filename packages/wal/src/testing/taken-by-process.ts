// System resources of a process, as the system counts them.
import { readdirSync, readFileSync } from 'node:fs'
import { errnoOf } from '../errors.ts'

/** Resources of a process. */
export interface Taken {
  /** Reservations of a WebAssembly memory's address space. */
  readonly memories: number
  readonly mappings: number
  readonly descriptors: number
  readonly rssBytes: number
}

/** Only a WebAssembly memory reserves more than this at once. */
const reservationMin = 2 ** 32

/** Undefined where the system has no /proc, or the process is gone. */
export function takenByProcess(pid: number | 'self' = 'self'): Taken | undefined {
  try {
    const sizes = readFileSync(`/proc/${pid}/maps`, 'latin1').trimEnd().split('\n').map(sizeOf)
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1])
    return {
      memories: sizes.filter((size) => size >= reservationMin).length,
      mappings: sizes.length,
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      rssBytes: pages * pageBytes,
    }
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return undefined
  }
}

const pageBytes = 4096

/** Size of a mapping, from a line such as `7f0c4000-7f0c8000 rw-p ...`. */
function sizeOf(line: string): number {
  const [from = '0', to = '0'] = (line.split(' ')[0] ?? '').split('-')
  return Number.parseInt(to, 16) - Number.parseInt(from, 16)
}
