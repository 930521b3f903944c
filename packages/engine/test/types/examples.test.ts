// Every public call has an example; examples, and the programs of README and guides, compile; and an editor completes the fields that
// README's programs define.
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { Compiled } from './compiler.ts'
import { Editor } from './completions.ts'
import { doors, examplesOf, withoutExample } from './examples.ts'
import { pagePrograms } from './pages.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const imports = doors.map(({ module }) => `import '${module}'\n`).join('')
const compiled = new Compiled([{ file: path.join(folder, 'doors.ts'), text: imports }], 'sources')

test('every public call has an example', async (t) => {
  for (const door of doors) t.same([...withoutExample(door, compiled)].sort(), door.without, door.module)
})

test('the examples of doc comments and of pages compile', async (t) => {
  const examples = doors.flatMap((door) => examplesOf(door, compiled, folder))
  const pages = pagePrograms(folder)
  t.ok(examples.length > 100, `${examples.length} examples`)
  t.ok(pages.length >= 8, `${pages.length} programs`)
  const all = new Compiled([...examples, ...pages], 'sources')
  for (const { call, file, text } of examples) t.same(all.faultsIn(file), [], call, { text })
  for (const { page, file, text } of pages) t.same(all.faultsIn(file), [], page, { text })
})

test("an editor completes the fields of README's programs", async (t) => {
  const programs = pagePrograms(folder).filter(({ page }) => page === 'README.md')
  const [client, engine] = programs
  t.equal(programs.length, 2)
  if (client === undefined || engine === undefined) return
  const editor = new Editor(programs)
  t.same(editor.proposals(client, 'fields: { ', 'sound: [0.2, 0.9, 0.1]'), ['sound'])
  t.same(editor.proposals(client, 'songs.search({ fields: { ', 'sound: { query: [0.3, 1, 0], limit: 1 }'), ['sound'])
  t.same(editor.proposals(client, 'results.', 'sound'), ['sound'])
  t.same(editor.proposals(engine, "'William Blake' }, fields: { ", 'text: [0.1, 0.9, 0.4]'), ['text'])
  t.same(editor.proposals(engine, 'poems.search({ fields: { ', 'text: { query: [0, 1, 0.5], limit: 3 }'), ['text'])
  t.same(editor.proposals(engine, 'results.', 'text'), ['text'])
  t.same([...editor.proposals(engine, 'query: [0, 1, 0.5], ', 'limit: 3')].sort(), [
    'ef',
    'limit',
    'recall',
    'scoreThreshold',
  ])
  for (const program of programs)
    t.ok(editor.proposals(program, 'dimension: 3, ', "spaceType: 'cosine'").includes('spaceType'))
})
