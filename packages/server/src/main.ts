// The entry point of the process.
import { pauseOptimizing } from './optimizing.ts'

// Modules of a static import would be loaded before this.
pauseOptimizing()
await import('./server-process.ts')
