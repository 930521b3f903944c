// tap as one file, because its 300 modules are a third of the time of a small test file.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from '../setup.mjs'

/** tap leaves files below such a folder out of the traces of failures. */
const folder = path.join(root, 'node_modules', '.cache', 'annal', 'node_modules', '@tapjs')

let made

/** Resolves to the file. It contains `test-domains.mjs` in place of tap's domains. */
export function tapBundle() {
  made ??= bundle()
  return made
}

async function bundle() {
  // Not before dependencies are installed.
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    // Not resolved here, where it may be such a bundle already.
    entryPoints: ['tap'],
    absWorkingDir: root,
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    legalComments: 'none',
    alias: { 'async-hook-domain': fileURLToPath(new URL('test-domains.mjs', import.meta.url)) },
    // Modules of the older kind call it for those of Node.js.
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
  })
  const file = path.join(folder, 'tap.mjs')
  mkdirSync(folder, { recursive: true })
  // Whole, next to another run.
  writeFileSync(`${file}.${process.pid}`, outputFiles[0].contents)
  renameSync(`${file}.${process.pid}`, file)
  return file
}
