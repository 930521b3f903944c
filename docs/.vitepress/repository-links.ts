// Pages also link to files of the repository that are not pages. The site has no such files and shows the path instead. A link to a
// missing file fails the build.
import { existsSync } from 'node:fs'
import path from 'node:path'
import type { MarkdownRenderer } from 'vitepress'

export function linksOutOfTheSite(markdown: MarkdownRenderer, docs: string): void {
  const house = path.join(docs, '..')
  markdown.core.ruler.push('repository-links', (state) => {
    const folder = path.dirname(state.env.path ?? docs)
    for (const { children } of state.tokens) {
      let open = false
      for (const token of children ?? []) {
        if (token.type === 'link_open') {
          const href = token.attrGet('href') ?? ''
          const file = path.resolve(folder, href.replace(/#.*/, ''))
          if (!href.startsWith('.') || file.startsWith(path.resolve(docs))) continue
          if (!existsSync(file)) throw new Error(`${state.env.relativePath}: there is no ${file}`)
          token.tag = 'span'
          token.attrs = [['title', `${path.relative(house, file)} in the repository`]]
          open = true
        } else if (token.type === 'link_close' && open) {
          token.tag = 'span'
          open = false
        }
      }
    }
  })
}
