// `npm run bench:text`: searches of a text field next to those of libraries in one process, and next to PostgreSQL over TCP, by turns. The texts are
// seeded, with the frequencies of words, or those of a file. Ids of queries for all words are compared first. Exits with code 1 if they differ.
//
//   npm run bench:text -- [--rows 60000] [--docs FILE] [--libraries minisearch,flexsearch,orama] [--peers postgres] [--callers 8]
//                         [--rounds 5] [--queries 50] [--turn 200] [--clock wall|cpu] [--vocabulary 200000] [--seed 1] [--out FILE]
//
// --libraries '' leaves libraries out. `npm run bench:text-debian -- FILE` makes a file for --docs.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { listOf, readOptions } from '../options.ts'
import { compileCaller } from './callers.ts'
import { type Having, type QueryClass, queryClasses, rowsHaving } from './classes.ts'
import { megabytes, openers, type TextIndex } from './libraries.ts'
import { postgresFolder } from './postgres.ts'
import { seededTexts, type Texts, textsOf } from './texts.ts'
import { cellsOf, measureByTurns, type Turns } from './turns.ts'
import { compareOverWire, type WireResult } from './wire.ts'

const values = readOptions({
  rows: 60_000,
  docs: String,
  vocabulary: 200_000,
  libraries: 'minisearch,flexsearch,orama',
  peers: '',
  callers: 8,
  rounds: 5,
  queries: 50,
  turn: 200,
  clock: 'wall',
  seed: 1,
  out: String,
})
const { rows, vocabulary, seed } = values
const { clock } = values
if (clock !== 'wall' && clock !== 'cpu') throw new Error(`--clock is wall or cpu, not ${clock}`)
const turns: Turns = { rounds: values.rounds, turnMs: values.turn, clock }
const k = 10

const texts = values.docs === undefined ? seededTexts({ rows, vocabulary, seed }) : textsOf(values.docs, rows)
const classes = queryClasses(texts, values.queries, seed)
const having = rowsHaving(texts, classes)
const libraries = listOf(values.libraries)
const parts = [...(await overWire()), ...(libraries.length > 0 ? [await inProcess(texts, classes, having)] : [])]
const page = ['# Text search', '', ...parts.map(({ page }) => page), machine(), ''].join('\n')
console.log(page)
if (values.out !== undefined) writeFileSync(values.out, page)
process.exitCode = parts.some(({ differences }) => differences > 0) ? 1 : 0

async function overWire(): Promise<readonly WireResult[]> {
  const peers = listOf(values.peers)
  const unknown = peers.find((name) => name !== 'postgres')
  if (unknown !== undefined) throw new Error(`no peer ${unknown}`)
  if (peers.length === 0) return []
  const programs = postgresFolder()
  if (programs === undefined) {
    console.error('postgres: skipped, because PostgreSQL is not installed')
    return []
  }
  const folder = mkdtempSync(path.join(os.tmpdir(), 'annal-caller-'))
  try {
    const caller = compileCaller(folder)
    if (caller === undefined) {
      console.error('postgres: skipped, because there is no C compiler for the callers')
      return []
    }
    const { callers } = values
    return [await compareOverWire(texts, classes, having, { ...turns, clock: 'wall', callers, programs, caller })]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function inProcess(texts: Texts, classes: readonly QueryClass[], having: Having): Promise<WireResult> {
  const indexes: TextIndex[] = []
  for (const name of ['annal', ...libraries]) {
    const open = openers[name]
    if (open === undefined) throw new Error(`no library ${name}`)
    const index = await open(texts)
    indexes.push(index)
    console.error(`${name}: indexed in ${index.seconds.toFixed(1)} s, ${megabytes(index.bytes)} ${index.kept}`)
  }
  const differences = await compareIds(indexes, classes, having)
  const lines: string[] = []
  for (const { name, combine, queries } of classes) {
    const wanted = queries.map((words) => words.join(' '))
    const measured = await measureByTurns(turns, indexes.length, async (at) => {
      const { search } = indexes[at] as TextIndex
      for (const query of wanted) await search(query, combine, k)
      return { queries: wanted.length }
    })
    lines.push(`| ${name} | ${combine} | ${cellsOf(measured)} |`)
  }
  for (const index of indexes) await index.close()
  const compared = classes.filter(({ combine }) => combine === 'all').flatMap(({ queries }) => queries).length
  const page = [
    `${texts.description} Microseconds${clock === 'cpu' ? ' of CPU time of all threads' : ''} for each query of the ${k} best, by turns in one process. Brackets have the ratio to Annal, the median of`,
    `all rounds. Every library found the ids of all texts with all words of ${compared} queries (${differences} differences). minisearch ranks by`,
    'BM25+, orama by BM25, flexsearch by the position of words.',
    `Median of ${turns.rounds} rounds, turns of at least ${turns.turnMs} ms.`,
    '',
    `| query | words | ${indexes.map(({ name }) => name).join(' | ')} |`,
    `|---|---|${indexes.map(() => '---|').join('')}`,
    ...lines,
    '',
    ...indexes.map(
      ({ name, bytes, kept, seconds }) => `- ${name}: ${megabytes(bytes)} ${kept}; filled in ${seconds.toFixed(0)} s.`,
    ),
    '',
  ].join('\n')
  return { page, differences }
}

/** Number of queries for all words whose ids differ in an index. */
async function compareIds(
  indexes: readonly TextIndex[],
  classes: readonly QueryClass[],
  having: Having,
): Promise<number> {
  let different = 0
  for (const { combine, queries } of classes) {
    if (combine !== 'all') continue
    for (const words of queries) {
      const expected = new Set(having(words))
      for (const { name, search, limitMax } of indexes) {
        const found = await search(words.join(' '), combine, limitMax)
        const size = Math.min(limitMax, expected.size)
        const isSame = found.length === size && new Set(found).size === size && found.every((id) => expected.has(id))
        if (isSame) continue
        different++
        console.error(`${name}: ${found.length} ids for ${words.join(' ')}, not ${size}`)
      }
    }
  }
  return different
}

function machine(): string {
  const arguments_ = process.argv.slice(2).map((one) => (one === '' ? `''` : one))
  return [
    `${os.cpus()[0]?.model ?? 'unknown processor'}, ${os.availableParallelism()} cores, Node ${process.version}, load ${os.loadavg()[0]?.toFixed(1)} at the end.`,
    `Command: \`npm run bench:text -- ${arguments_.join(' ')}\``,
  ].join('\n')
}
