// Loaded before anything else (`--import`, which worker threads inherit): in a worker the kernel stops getting on with the
// jobs it works on as soon as the file named by STUCK_FROM is there, and loops for ever.
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
