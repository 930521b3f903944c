// Every command and program in docs/guide/quick-start.md does what the text says.
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test } from 'tap'
import { realServer } from './real-server.ts'

const run = promisify(execFile)
const house = fileURLToPath(new URL('../../../', import.meta.url))
const written = 'http://127.0.0.1:8080'

/** The code blocks of one language, in order. */
function blocks(file: string, language: string): string[] {
  const text = readFileSync(path.join(house, file), 'utf8')
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'gm'))].map(([, code]) => code ?? '')
}

test('the commands work one after the other, and the programs after them', async (t) => {
  const url = await realServer(t)
  const folder = t.testdir()
  const shell = async (script: string) => {
    const strict = script.replaceAll(written, url).replaceAll('curl -sS', 'curl -sS --fail-with-body')
    return (await run('bash', ['-euo', 'pipefail', '-c', strict])).stdout
  }
  const program = async (code: string) => {
    const file = path.join(folder, 'program.ts')
    writeFileSync(file, code.replaceAll(written, url))
    return (await run(process.execPath, ['--conditions=annal-source', file], { cwd: folder })).stdout
  }

  const commands = blocks('docs/guide/quick-start.md', 'sh')
  const guide = await shell(commands.join('\necho; echo -- step --\n'))
  const [words, clauses] = [...guide.matchAll(/\{"complete".*?\}\]\}\}/gs)]
    .slice(0, 2)
    .map(([reply]) => JSON.parse(reply))
  const idsOf = (reply: { results: { text: { id: string }[] } }) => reply.results.text.map(({ id }) => id)
  t.same(idsOf(words), ['mon', 'tue'])
  const { fragment, ranges } = words.results.text[0].highlight
  t.same(
    ranges.map(([start, end]: [number, number]) => fragment.slice(start, end)),
    ['walked', 'rained'],
  )
  t.same(idsOf(clauses), ['wed'])
  const found = guide.split('-- step --')[commands.findIndex((block) => block.includes('/films/search'))] ?? ''
  t.match(found, /"alien".*"solaris"/s)
  t.notMatch(found, 'paterson')
  t.match(guide, /"horror".*"drama".*1 vectors deleted/s)
  const [failing] = blocks('docs/guide/quick-start.md', 'ts')
  t.match(await program(failing ?? ''), 'collection_not_found 404 false')
})
