// The site: its title, its mark, its version, its navigation, and a search that uses no other host.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { defaultClientConditions } from 'vite'
import { type DefaultTheme, defineConfigWithTheme } from 'vitepress'
import { linksOutOfTheSite } from './repository-links.ts'

const docs = fileURLToPath(new URL('..', import.meta.url))

const { version } = JSON.parse(readFileSync(path.join(docs, '..', 'package.json'), 'utf8')) as {
  readonly version: string
}

export default defineConfigWithTheme<DefaultTheme.Config & { readonly version: string }>({
  title: 'Annal',
  description: 'A vector database that you run yourself, as a server and as a library',
  lang: 'en',
  srcExclude: ['node_modules/**'],
  transformHead: ({ siteData }) => [['link', { rel: 'icon', type: 'image/svg+xml', href: `${siteData.base}mark.svg` }]],
  // Programs of docs/try.md use the sources of the client.
  vite: {
    resolve: { conditions: ['annal-source', ...defaultClientConditions] },
    // The esbuild of Vite does not know the target of this repository.
    esbuild: { tsconfigRaw: { compilerOptions: { target: 'es2022' } } },
  },
  outDir: '.vitepress/dist',
  // A link without a target fails the build.
  ignoreDeadLinks: false,
  markdown: { config: (markdown) => markdown.use(linksOutOfTheSite, docs) },
  themeConfig: {
    version,
    logo: '/mark.svg',
    search: { provider: 'local', options: { _render: textForSearch } },
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/guide/quick-start' },
      { text: 'Guides', link: '/guide/' },
      { text: 'Guarantees', link: '/guarantees' },
      { text: 'Reference', link: '/reference/' },
      { text: 'Benchmarks', link: '/benchmarks' },
      { text: 'Try it', link: '/try' },
    ],
    sidebar: [
      section('Start', ['guide/quick-start', 'try', 'guide/install', 'guide/index']),
      section('Use', [
        'guide/search-and-filters',
        'guide/text',
        'guide/hybrid',
        'guide/embedding',
        'guide/chunking',
        'guide/judging',
        'guide/collections',
        'guide/conditional-writes',
        'guide/expiry',
        'guide/typescript',
        'guide/python',
        'guide/embedded',
        'guide/agents',
        'guide/command-line',
        'guide/import-and-migrate',
      ]),
      section('Time', ['guide/time', 'guide/history', 'guide/changes', 'guide/aliases-and-branches', 'guide/replay']),
      section('Run', [
        'guide/operate',
        'guide/runbooks',
        'guide/kubernetes',
        'guide/tuning',
        'guide/cluster',
        'guide/backup-and-restore',
        'guide/archive-to-a-bucket',
        'guide/tokens',
        'guide/dashboard',
      ]),
      section('Judge', ['guarantees', 'guide/trade-offs', 'comparison', 'benchmarks']),
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

type RenderForSearch = NonNullable<DefaultTheme.LocalSearchOptions['_render']>

/** A page for the index of the search, which has the words of its code and not their colors. */
function textForSearch(...[source, env, markdown]: Parameters<RenderForSearch>): string {
  const { highlight } = markdown.options
  markdown.set({ highlight: null })
  const html = markdown.render(source, env)
  markdown.set({ highlight: highlight ?? null })
  return env.frontmatter?.search === false ? '' : html
}

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
