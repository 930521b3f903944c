// The causes and fixes of docs/reference/errors.md as the module `virtual:cures`, so that the dashboard shows the same text.
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vite'

const page = fileURLToPath(new URL('../../../docs/reference/errors.md', import.meta.url))
const moduleId = 'virtual:cures'
const resolvedId = `\0${moduleId}`

export interface Cure {
  readonly cause: string
  readonly cure: string
}

export function cures(): Plugin {
  return {
    name: 'annal-cures',
    resolveId: (id) => (id === moduleId ? resolvedId : undefined),
    async load(id) {
      if (id !== resolvedId) return undefined
      this.addWatchFile(page)
      return `export const cures = ${JSON.stringify(curesIn(await readFile(page, 'utf8')))}`
    },
  }
}

/** Rows `| code | ... | cause | fix |` of every table on the page. */
export function curesIn(markdown: string): { [code: string]: Cure } {
  const rows = [...markdown.matchAll(/^\| `(\w+)` \|(.+)\|$/gm)]
  return Object.fromEntries(
    rows.flatMap(([, code, rest]) => {
      const cells = rest!.split(' | ').map(plain)
      const [cause, cure] = cells.slice(-2)
      return cause === undefined || cure === undefined ? [] : [[code, { cause, cure }]]
    }),
  )
}

/** Removes Markdown marks, which the dashboard does not render. */
function plain(cell: string): string {
  return cell
    .trim()
    .replaceAll('`', '')
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')
}
