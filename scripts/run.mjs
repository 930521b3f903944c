// `node scripts/run.mjs FILE [ARGUMENTS]`: runs one TypeScript file of this repository from source, with everything it
// needs installed and the kernel built.
import { ensureInstalled, node, run, runMain, SetupError, turbo } from './setup.mjs'

runMain(async ([file, ...args]) => {
  if (file === undefined) throw new SetupError('usage: node scripts/run.mjs FILE [ARGUMENTS]')
  await ensureInstalled()
  await turbo('kernel')
  return run(node, ['--conditions=annal-source', file, ...args])
})
