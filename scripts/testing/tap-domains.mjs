// Loaded before a test file: tap then finds the test of an uncaught error without following every promise.
//
// tap finds it with `async-hook-domain`, whose hooks run for each promise that is created and collected. Code with many promises takes up
// to three times as long with them.
import { registerHooks } from 'node:module'
import { isMainThread } from 'node:worker_threads'

const domains = new URL('test-domains.mjs', import.meta.url).href

// Threads of a test have the options of the process.
if (isMainThread) {
  registerHooks({
    resolve(specifier, context, nextResolve) {
      if (specifier === 'async-hook-domain') return { url: domains, format: 'module', shortCircuit: true }
      return nextResolve(specifier, context)
    },
  })
}
