// `node scripts/run.mjs [--built] FILE [ARGUMENTS]`: runs one TypeScript file of this repository with everything it needs
// installed; against the sources with only the kernel built, or with `--built` against the packages as they are published.
import { ensureInstalled, node, run, runMain, SetupError, turbo } from './setup.mjs'

runMain(async (args) => {
  const built = args[0] === '--built'
  const [file, ...rest] = built ? args.slice(1) : args
  if (file === undefined) throw new SetupError('usage: node scripts/run.mjs [--built] FILE [ARGUMENTS]')
  await ensureInstalled()
  await turbo(built ? 'build' : 'kernel')
  return run(node, [...(built ? [] : ['--conditions=annal-source']), file, ...rest])
})
