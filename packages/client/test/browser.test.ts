// The main entry runs in a browser: it imports no Node.js modules and no other package of this repository.
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'tap'

const source = new URL('../src/', import.meta.url)

/** The embedded client is for Node.js and has its own entry. */
function ofMainEntry(file: string): boolean {
  return file.endsWith('.ts') && !file.startsWith('embedded/')
}

/** Without comments, whose examples may use anything. */
function codeOf(file: string): string {
  return readFileSync(new URL(file, source), 'utf8').replaceAll(/\/\*\*[\s\S]*?\*\/|\/\/.*/g, '')
}

test('the sources import only each other and a library that browsers can run', async (t) => {
  const imported = new Set<string>()
  for (const file of readdirSync(source, { recursive: true, encoding: 'utf8' })) {
    if (!ofMainEntry(file)) continue
    const code = codeOf(file)
    for (const [, name] of code.matchAll(/(?:from\s|import\()\s*'([^']+)'/g))
      if (!name?.startsWith('.') || name.includes('/embedded/')) imported.add(name ?? '')
  }
  t.strictSame([...imported].sort(), ['fflate'])
})

test('the sources use no global that only Node.js has', async (t) => {
  for (const file of readdirSync(source, { recursive: true, encoding: 'utf8' })) {
    if (!ofMainEntry(file)) continue
    t.notMatch(codeOf(file), /\b(Buffer|process|require|__dirname|setImmediate)\b/, file)
  }
})
