// Loaded with --import: reports each module that a thread loads as a line on stderr, and whether Node.js has loaded its implementation of fetch
// by then.
import { writeSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { isMainThread } from 'node:worker_threads'

// Not in the types: the modules of Node.js that this thread has loaded.
const { moduleLoadList } = process as unknown as { readonly moduleLoadList: readonly string[] }

registerHooks({
  load(url, context, nextLoad) {
    const thread = isMainThread ? 'main' : 'worker'
    writeSync(2, `loaded ${thread} ${url}\n`)
    if (moduleLoadList.includes('NativeModule internal/deps/undici/undici')) writeSync(2, `loaded ${thread} fetch\n`)
    return nextLoad(url, context)
  },
})
