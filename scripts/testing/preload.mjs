// Loaded before a test file, for its main thread: threads of a test have the options of the process, and many start.
import { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  await import('./tap-domains.mjs')
  await import('./time-limits.mjs')
}
