// The site: its title, its navigation, and a search that uses no other host.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { linksOutOfTheSite } from './repository-links.ts'

const docs = fileURLToPath(new URL('..', import.meta.url))

export default defineConfig({
  title: 'Annal',
  description: 'A vector database that you run yourself, as a server and as a library',
  lang: 'en',
  srcExclude: ['node_modules/**'],
  outDir: '.vitepress/dist',
  // A link without a target fails the build.
  ignoreDeadLinks: false,
  markdown: { config: (markdown) => markdown.use(linksOutOfTheSite, docs) },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/guide/quick-start' },
      { text: 'Guides', link: '/guide/' },
      { text: 'Guarantees', link: '/guarantees' },
      { text: 'Reference', link: '/reference/' },
      { text: 'Benchmarks', link: '/benchmarks' },
    ],
    sidebar: [
      section('Start', ['guide/quick-start', 'guide/install', 'guide/index']),
      section('Use', [
        'guide/search-and-filters',
        'guide/conditional-writes',
        'guide/text',
        'guide/hybrid',
        'guide/judging',
        'guide/collections',
        'guide/chunking',
        'guide/typescript',
        'guide/python',
        'guide/embedded',
        'guide/agents',
        'guide/import-and-migrate',
      ]),
      section('Run', [
        'guide/operate',
        'guide/tuning',
        'guide/backup-and-restore',
        'guide/history',
        'guide/tokens',
        'guide/dashboard',
        'guide/replay',
      ]),
      section('Judge', ['guarantees', 'guide/trade-offs', 'benchmarks']),
      section('Reference', [
        'reference/index',
        'reference/http',
        'reference/http-api',
        'reference/libraries/client',
        'reference/libraries/engine',
        'reference/vectors',
        'reference/search',
        'reference/filters',
        'reference/errors',
        'reference/configuration',
        'reference/cli',
        'reference/metrics',
        'reference/enterprise',
        'reference/security',
        'reference/spec-coverage',
      ]),
      section('Inside', [
        'architecture',
        'contributing',
        'changelog',
        'glossary',
        'durability',
        'reliability',
        'kernel',
        'shared-memory',
        ...pagesOf('formats'),
      ]),
      section('Decisions', pagesOf('decisions')),
      section('Lab notes', ['lab/index', ...pagesOf('lab').filter((page) => page !== 'lab/index')]),
    ],
  },
})

function section(text: string, pages: readonly string[]) {
  const items = pages.map((page) => ({ text: headingOf(page), link: `/${page.replace(/index$/, '')}` }))
  return { text, items, collapsed: ['Inside', 'Decisions', 'Lab notes'].includes(text) }
}

function pagesOf(folder: string): string[] {
  const names = readdirSync(path.join(docs, folder)).filter((name) => name.endsWith('.md'))
  return names.sort().map((name) => `${folder}/${name.slice(0, -3)}`)
}

function headingOf(page: string): string {
  const [, heading] = /^# (.+)$/m.exec(readFileSync(path.join(docs, `${page}.md`), 'utf8')) ?? []
  if (heading === undefined) throw new Error(`docs/${page}.md has no heading`)
  return heading.replaceAll('`', '')
}
