// `npm start`: installs what is missing, builds what changed, and serves. Takes its settings from the environment
// (NDD_SERVER_PORT, NDD_DATA_DIR, ...) and ends with the server's exit code.
import path from 'node:path'
import { ensureInstalled, node, root, run, runMain, turbo } from './setup.mjs'

runMain(async (args) => {
  await ensureInstalled()
  await turbo('build')
  // As much of V8's heap for new objects as `annal serve` gives it (packages/cli/src/young-generation.ts).
  return run(node, ['--max-semi-space-size=8', path.join(root, 'packages', 'server', 'dist', 'main.js'), ...args])
})
