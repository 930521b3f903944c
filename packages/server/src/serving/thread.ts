// The program of a serving thread.
import { runServingThread } from './run-thread.ts'
import { openThreadParts, type PartsValue } from './thread-parts.ts'

runServingThread((value) => openThreadParts(value as PartsValue))
