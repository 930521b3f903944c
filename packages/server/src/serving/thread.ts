// The program of a serving thread.
import { runServingThread } from './run-thread.ts'

runServingThread(async () => {
  throw new Error('no parts')
})
