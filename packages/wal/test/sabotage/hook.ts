// Plants one bug while modules are loaded: replaces text of a source file, as ANNAL_SABOTAGE says. Part of the tests
// only; the built package does not contain it. When a text does not occur exactly once, the process ends, so that no
// bug goes unplanted.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

interface Edit {
  readonly file: string
  readonly find: string
  readonly put: string
}

// Written by the runner next to this file; a wrong shape would fail immediately below.
const edits: readonly Edit[] = JSON.parse(process.env.ANNAL_SABOTAGE ?? '[]')

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    const here = edits.filter(({ file }) => url.endsWith(`/packages/wal/src/${file}`))
    if (here.length === 0) return loaded
    let source = readFileSync(fileURLToPath(url), 'utf8')
    for (const { file, find, put } of here) {
      if (source.split(find).length !== 2) {
        process.stderr.write(
          `sabotage does not apply: ${file} has this ${source.split(find).length - 1} times: ${find}\n`,
        )
        process.exit(99)
      }
      source = source.replace(find, () => put)
    }
    return { ...loaded, source }
  },
})
