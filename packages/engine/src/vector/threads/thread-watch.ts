// The watch over threads for other owners of threads: what the server needs to replace a serving thread that makes no progress.
export { ownThread, type ThreadState, threadState } from './thread-state.ts'
export { type Picture, Watchdog, type Watched } from './watchdog.ts'
