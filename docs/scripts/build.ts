// `npm run docs`: generates pages from code and results, builds the site into docs/.vitepress/dist, and checks every
// link. `npm run docs -- --serve` shows it at http://127.0.0.1:5173 and follows changes.
import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, createServer } from 'vitepress'
import { benchmarksPage } from './benchmarks-page.ts'
import { httpPage } from './http-page.ts'
import { writeLibraryPages } from './library-pages.ts'
import { lookAtSite } from './site-links.ts'

const docs = fileURLToPath(new URL('..', import.meta.url))
const house = path.join(docs, '..')
const results = path.join(house, 'benchmarks', 'results')
const libraries = ['packages/client/src/index.ts', 'packages/engine/src/index.ts']

writeFileSync(path.join(docs, 'reference', 'http-api.md'), await httpPage())
writeFileSync(path.join(docs, 'benchmarks.md'), benchmarksPage(results))
// The site serves these files unchanged.
rmSync(path.join(docs, 'public'), { recursive: true, force: true })
for (const name of readdirSync(results).filter((file) => file.endsWith('.html')))
  cpSync(path.join(results, name), path.join(docs, 'public', name))
await writeLibraryPages(libraries, house, path.join(docs, 'reference', 'libraries'))
if (process.argv.includes('--serve')) {
  const server = await createServer(docs, { host: '127.0.0.1' })
  await server.listen()
  server.printUrls()
} else {
  await build(docs)
  const { pages, links, faults } = lookAtSite(path.join(docs, '.vitepress', 'dist'))
  for (const fault of faults) console.error(fault)
  console.log(`docs: ${pages} pages, ${links} links, ${faults.length} faults`)
  process.exitCode = faults.length === 0 ? 0 : 1
}
