// Loaded before a test file: tap then finds the test of an uncaught error without following every promise, and modules are found in less
// time.
//
// tap finds the test with `async-hook-domain`, whose hooks run for each promise that is created and collected. Code with many promises takes
// up to three times as long with them. ANNAL_TAP names a bundle of tap that has the replacement.
import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import { isMainThread } from 'node:worker_threads'

const sourceFile = /^\.{1,2}\/.*\.ts$/
const { ANNAL_TAP } = process.env
const replacements = new Map([['async-hook-domain', new URL('test-domains.mjs', import.meta.url).href]])
if (ANNAL_TAP !== undefined) replacements.set('tap', pathToFileURL(ANNAL_TAP).href)

// Threads of a test have the options of the process.
if (isMainThread) {
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const url = replacements.get(specifier)
      if (url !== undefined) return { url, format: 'module', shortCircuit: true }
      // A file of the sources is where its import says; Node.js would look for its real path and for the type of its package.
      if (sourceFile.test(specifier) && context.conditions.includes('import'))
        return { url: new URL(specifier, context.parentURL).href, format: 'module-typescript', shortCircuit: true }
      return nextResolve(specifier, context)
    },
  })
}
