// The entry of a worker thread. All it does is in vector/serve.ts.
import { workerData } from 'node:worker_threads'
import type { ServeTask, WorkerData } from './vector/threads/messages.ts'
import { Server } from './vector/threads/serve.ts'

/** The function the pool calls, once in the life of a worker. */
export function serve({ number }: ServeTask): void {
  new Server(ownData(workerData), number).run()
}

/** Piscina hands its own data over beside ours. */
function ownData(raw: unknown): WorkerData {
  // What crosses threads loses its type; both ends are in this package and the pool sends exactly this.
  return (Array.isArray(raw) ? raw[1] : raw) as WorkerData
}
