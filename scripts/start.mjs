// `npm start`: installs what is missing, builds what changed, and serves. Takes its settings from the environment
// (NDD_SERVER_PORT, NDD_DATA_DIR, ...) and ends with the server's exit code.
import path from 'node:path'
import { ensureInstalled, node, root, run, runMain, turbo } from './setup.mjs'

runMain(async (args) => {
  await ensureInstalled()
  await turbo('build')
  // V8 and the allocator have the limits that `annal serve` gives them (packages/cli/src/young-generation.ts).
  const server = [path.join(root, 'packages', 'server', 'dist', 'main.js'), ...args]
  const env = { MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '131072', ...process.env }
  return run(node, ['--max-semi-space-size=8', ...server], { env })
})
