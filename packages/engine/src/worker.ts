// The entry of a worker thread: connects the loop of threads/ with the fields that it serves.
import { workerData } from 'node:worker_threads'
import { attachMemory } from './vector/attach.ts'
import type { ServeTask, WorkerData } from './vector/threads/messages.ts'
import { WorkerLoop } from './vector/threads/worker-loop.ts'

/** The pool calls this function once in the life of a worker. */
export function serve({ number }: ServeTask): void {
  const data = ownData(workerData)
  new WorkerLoop(data, number, (handle) => attachMemory(handle, data.module, number)).run()
}

/** Piscina passes its own data next to ours. */
function ownData(raw: unknown): WorkerData {
  // A message between threads loses its type. Both ends are in this package, and the pool sends exactly this type.
  return (Array.isArray(raw) ? raw[1] : raw) as WorkerData
}
