// The TypeScript files of a folder, with their texts and the modules they import.
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const houseDir = fileURLToPath(new URL('../../', import.meta.url))

export interface SourceFile {
  /** From the top of the house, with forward slashes. */
  readonly path: string
  readonly text: string
  readonly imports: readonly { readonly specifier: string; readonly typeOnly: boolean }[]
}

export async function sourceFiles(dir: string): Promise<SourceFile[]> {
  const names = await readdir(path.join(houseDir, dir), { recursive: true }).catch(() => [])
  const paths = names
    .filter((name) => /\.(ts|tsx)$/.test(name))
    .map((name) => path.posix.join(dir, name.split(path.sep).join('/')))
  return Promise.all(
    paths.sort().map(async (file) => {
      const text = await readFile(path.join(houseDir, file), 'utf8')
      return { path: file, text, imports: importsOf(text) }
    }),
  )
}

function importsOf(text: string): SourceFile['imports'] {
  const statement = /^\s*(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm
  const dynamic = /import\(\s*'([^']+)'\s*\)/g
  const found = [...text.matchAll(statement)].map((match) => ({
    specifier: match[2] as string,
    typeOnly: match[1] !== undefined,
  }))
  return [...found, ...[...text.matchAll(dynamic)].map((match) => ({ specifier: match[1] as string, typeOnly: true }))]
}
