// The entry of a worker thread. vector/threads/serve.ts does its work.
import { workerData } from 'node:worker_threads'
import type { ServeTask, WorkerData } from './vector/threads/messages.ts'
import { Server } from './vector/threads/serve.ts'

/** The function that the pool calls once in the life of a worker. */
export function serve({ number }: ServeTask): void {
  new Server(ownData(workerData), number).run()
}

/** Piscina passes its own data next to ours. */
function ownData(raw: unknown): WorkerData {
  // Messages between threads lose their types; both ends are in this package, and the pool sends exactly this type.
  return (Array.isArray(raw) ? raw[1] : raw) as WorkerData
}
