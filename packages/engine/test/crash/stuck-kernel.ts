// Loaded first (`--import`, which worker threads inherit): once the file named by STUCK_FROM exists, the kernel of a worker loops forever
// in its jobs.
import { existsSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

function stuck(work: (kind: number) => void): (kind: number) => void {
  return (kind) => {
    while (existsSync(process.env.STUCK_FROM as string));
    work(kind)
  }
}

const StuckInstance = new Proxy(WebAssembly.Instance, {
  construct(Instance, args: ConstructorParameters<typeof WebAssembly.Instance>) {
    const exports: Record<string, unknown> = { ...new Instance(...args).exports }
    // The kernel of sparse fields has no jobs.
    if (typeof exports.work !== 'function') return { exports }
    return { exports: { ...exports, work: stuck(exports.work as (kind: number) => void) } }
  },
})

if (!isMainThread) Object.defineProperty(WebAssembly, 'Instance', { value: StuckInstance })
