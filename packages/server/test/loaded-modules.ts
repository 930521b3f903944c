// Loaded with --import: reports each module that a thread loads as a line on stderr.
import { writeSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { isMainThread } from 'node:worker_threads'

registerHooks({
  load(url, context, nextLoad) {
    writeSync(2, `loaded ${isMainThread ? 'main' : 'worker'} ${url}\n`)
    return nextLoad(url, context)
  },
})
