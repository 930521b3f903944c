// The entry point of the process.
import { writeSync } from 'node:fs'
import { refuseOldNode } from '@annal/engine/node-version'
import { pauseOptimizing } from './optimizing.ts'
import { handleEarlySignals } from './signals.ts'

// Before anything that would print a line of its own, or fail on an old version.
try {
  refuseOldNode()
} catch (error) {
  const { exitOf } = await import('./exit.ts')
  const { code, lines } = exitOf(error)
  for (const line of lines) writeSync(2, `annal: ${line}\n`)
  process.exit(code)
}
// Modules of a static import would be loaded before this.
handleEarlySignals()
pauseOptimizing()
await import('./server-process.ts')
