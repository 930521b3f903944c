// The program of a worker thread: connects the loop of threads/ with the fields that it serves. It runs as long as the pool.
import { workerData } from 'node:worker_threads'
import { attachMemory } from './vector/attach.ts'
import type { WorkerData } from './vector/threads/messages.ts'
import { WorkerLoop } from './vector/threads/worker-loop.ts'

// A message between threads loses its type. Both ends are in this package, and the pool sends exactly this type.
const data = workerData as WorkerData
new WorkerLoop(data, (handle) => attachMemory(handle, data.module, data.number)).run()
