// `npm run docs`: generates pages from code and results, builds the site into docs/.vitepress/dist, and checks every
// link. `npm run docs -- --serve` shows it at http://127.0.0.1:5173 and follows changes. `npm run docs -- --versioned [--out DIR]` builds it
// into a folder named by its version, next to those of other versions, with the list of all of them above.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build, createServer } from 'vitepress'
import { benchmarksPage } from './benchmarks-page.ts'
import { httpPage } from './http-page.ts'
import { writeLibraryPages } from './library-pages.ts'
import { lookAtSite } from './site-links.ts'
import { listVersions } from './versions.ts'

const docs = fileURLToPath(new URL('..', import.meta.url))
const house = path.join(docs, '..')
const results = path.join(house, 'benchmarks', 'results')
const { values } = parseArgs({
  options: {
    serve: { type: 'boolean', default: false },
    versioned: { type: 'boolean', default: false },
    out: { type: 'string', default: path.join(docs, '.vitepress', 'dist') },
  },
})
const libraries = ['packages/client/src/index.ts', 'packages/engine/src/index.ts']

writeFileSync(path.join(docs, 'reference', 'http-api.md'), await httpPage())
writeFileSync(path.join(docs, 'benchmarks.md'), benchmarksPage(results))
// The site serves these files unchanged.
const served = path.join(docs, 'public')
rmSync(served, { recursive: true, force: true })
mkdirSync(served)
for (const name of readdirSync(results).filter((file) => file.endsWith('.html')))
  cpSync(path.join(results, name), path.join(served, name))
cpSync(path.join(docs, 'site', 'log.svg'), path.join(served, 'log.svg'))
cpSync(path.join(house, 'packages', 'dashboard', 'src', 'mark.svg'), path.join(served, 'mark.svg'))
await writeLibraryPages(libraries, house, path.join(docs, 'reference', 'libraries'))
if (values.serve) {
  const server = await createServer(docs, { host: '127.0.0.1' })
  await server.listen()
  server.printUrls()
} else {
  const out = path.resolve(values.out)
  const { version } = JSON.parse(readFileSync(path.join(house, 'package.json'), 'utf8')) as { readonly version: string }
  const base = values.versioned ? `/${version}/` : '/'
  const site = path.join(out, base)
  await build(docs, { base, outDir: site })
  if (values.versioned) listVersions(out)
  const { pages, links, faults } = lookAtSite(site, base)
  for (const fault of faults) console.error(fault)
  console.log(`docs: ${pages} pages, ${links} links, ${faults.length} faults`)
  process.exitCode = faults.length === 0 ? 0 : 1
}
