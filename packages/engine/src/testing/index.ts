// What tests of other packages may use besides the public door.
export type { EngineParts } from '../engine.ts'
export { openWorkerPool, type WorkerPool } from '../vector/worker-pool.ts'
