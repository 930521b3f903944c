// Serves a changed source in the place of one file, in every process and thread of a test. Loaded with --import; ANNAL_MUTANT
// names a JSON file { url, source }. Without it nothing changes.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

if (process.env.ANNAL_MUTANT !== undefined) {
  const { url: target, source } = JSON.parse(readFileSync(process.env.ANNAL_MUTANT, 'utf8'))
  registerHooks({
    load(url, context, next) {
      return url === target ? { format: 'module-typescript', source, shortCircuit: true } : next(url, context)
    },
  })
}
