// Every kernel exports the number of its interface. The host checks it before it uses a kernel.
import { EngineError } from '../errors.ts'

/** Throws `kernel_stale` if a kernel was compiled before the last change of its interface: it would read and write other bytes than the host expects. */
export function refuseStale(abi: WebAssembly.Global | undefined, needed: number): void {
  if (abi?.value === needed) return
  const found = abi === undefined ? 'has no number' : `is number ${abi.value}`
  throw new EngineError(
    'kernel_stale',
    `the compiled kernel ${found} but this program needs ${needed}; build it with \`npm run kernel -w packages/engine\``,
    { field: 'abi', value: abi?.value, limit: needed },
  )
}
