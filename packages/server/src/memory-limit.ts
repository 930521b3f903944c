// How much memory this process may use.
import { memoryLimit as limitOfSystem } from '@annal/engine'

/** That of the control groups, the memory of the machine, or the setting in MiB, whichever is least, in bytes. */
export function memoryLimit(megabytesMax: number | undefined): number {
  return limitOfSystem(megabytesMax === undefined ? {} : { bytesMax: megabytesMax * 2 ** 20 })
}

/** A server with less memory than this cannot even process one request of each kind next to its own program. */
export const memoryLimitMin = 256 * 2 ** 20
