// Keeps V8 from optimizing functions while modules are loaded. Each of them runs once, and what loads them, the path functions of Node.js above
// all, becomes hot just before it is not needed any more. Compiling it takes CPU time of a start and the code of three compilers into memory:
// 10 MB that an idle server never needs. Flags are those of the whole process, so threads that start meanwhile do the same.
import { setFlagsFromString } from 'node:v8'

const compilers = ['sparkplug', 'maglev', 'turbofan'] as const

/** Functions that are called from now on stay interpreted. WebAssembly is compiled as usual. */
export function pauseOptimizing(): void {
  for (const compiler of compilers) setFlagsFromString(`--no-${compiler}`)
}

/** Functions become hot and are compiled from now on. */
export function resumeOptimizing(): void {
  for (const compiler of compilers) setFlagsFromString(`--${compiler}`)
}
