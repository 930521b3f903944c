// A thread outside the worker pool: attaches one memory and answers the queries that it receives.
import { parentPort, workerData } from 'node:worker_threads'
import { attachMemory } from '../../src/vector/attach.ts'
import { answerIn, type MemoryHandle, type Query } from '../../src/vector/pool.ts'

const { handle, module, thread } = workerData as { handle: MemoryHandle; module: WebAssembly.Module; thread: number }
const attached = attachMemory(handle, module, thread)
parentPort?.on('message', (query: Query) => parentPort?.postMessage(answerIn(attached, query)))
