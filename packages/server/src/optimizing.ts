// Keeps V8 from optimizing functions while modules are loaded. Each module runs once, and the functions that load modules, above all the path
// functions of Node.js, become hot just before they are no longer needed. Compiling them takes CPU time and loads the code of three compilers:
// 10 MB that an idle server never needs. The flags apply to the whole process, so they affect threads that start meanwhile, too.
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
