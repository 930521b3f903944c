// The pages of docs/guide as the module `virtual:sample`: texts of our own, under the license of the repository, that the dashboard loads
// as its sample. They are as current as the build.
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vite'

const folder = fileURLToPath(new URL('../../../docs/guide/', import.meta.url))
const moduleId = 'virtual:sample'
const resolvedId = `\0${moduleId}`

export interface SampleDocument {
  readonly document: string
  readonly title: string
  readonly text: string
}

export function sample(): Plugin {
  return {
    name: 'annal-sample',
    resolveId: (id) => (id === moduleId ? resolvedId : undefined),
    async load(id) {
      if (id !== resolvedId) return undefined
      this.addWatchFile(folder)
      return `export const documents = ${JSON.stringify(await sampleDocuments())}`
    },
  }
}

export async function sampleDocuments(): Promise<readonly SampleDocument[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.md')).sort()
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(path.join(folder, name), 'utf8')
      const document = name.slice(0, -'.md'.length)
      return { document, title: /^# (.+)$/m.exec(text)?.[1] ?? document, text }
    }),
  )
}
