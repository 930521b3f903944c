// Messages and pages name commands for readers to type: each must exist.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { run } from '../src/program.ts'

const house = fileURLToPath(new URL('../../../', import.meta.url))

/** The commands that the help of a command, or of the program, lists. */
async function listed(...command: string[]): Promise<Set<string>> {
  let help = ''
  const bar = { show: () => undefined, clear: () => undefined, done: () => undefined }
  await run([...command, '--help'], { line: (text) => (help += text), say: () => undefined, bar })
  const groups = help.split(/^(?=\S.*:$)/m).filter((group) => !/^(Usage|Options|Arguments|Examples?)\b/.test(group))
  return new Set(groups.flatMap((group) => [...group.matchAll(/^ {2}([a-z][a-z-]*)\b/gm)].map(([, name = '']) => name)))
}

test('every command that a message or a page names exists', async (t) => {
  const commands = await listed()
  t.ok(commands.has('verify') && commands.has('backup'), 'the help lists the commands')
  const patterns = ['packages/*/src/*.ts', 'packages/*/src/*.tsx', 'docs/*.md', 'README.md', 'packages/*/README.md']
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--', ...patterns], {
    cwd: house,
    encoding: 'utf8',
  })
    .trim()
    .split('\n')
    // Notes, decisions, and the changelog may name commands of their day.
    .filter((file) => !/^docs\/(lab\/|decisions\/|changelog\.md)/.test(file) && existsSync(path.join(house, file)))
  const below = new Map<string, Set<string>>()
  for (const file of files) {
    const text = readFileSync(path.join(house, file), 'utf8')
    for (const [span, name = '', next] of text.matchAll(/`annal ([a-z][a-z-]*)(?: ([a-z][a-z-]+)\b)?/g)) {
      if (!commands.has(name)) t.fail(`${file}: ${span} is no command`)
      const parts = below.get(name) ?? (await listed(name))
      below.set(name, parts)
      if (next !== undefined && parts.size > 0 && !parts.has(next)) t.fail(`${file}: ${span} is no command`)
    }
  }
  t.ok(below.size > 20, `${below.size} commands are named`)
})
