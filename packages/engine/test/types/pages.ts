// The TypeScript programs of README, guides, and packages' pages.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { root, type Source } from './compiler.ts'

const pages = [
  'README.md',
  'docs/guide/embedded.md',
  'docs/guide/hybrid.md',
  'docs/guide/quick-start.md',
  'docs/guide/typescript.md',
  'packages/client/README.md',
  'packages/engine/README.md',
]

export interface PageProgram extends Source {
  readonly page: string
}

/** `folder` is where their imports are resolved. */
export function pagePrograms(folder: string): readonly PageProgram[] {
  return pages.flatMap((page) => {
    const blocks = [...readFileSync(path.join(root, page), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```/gm)]
    return blocks.map(([, text = ''], i) => ({
      page,
      file: path.join(folder, `${page.replace(/\W/g, '-')}-${i}.ts`),
      text,
    }))
  })
}
