// Chunks of texts: the vectors that both clients run, what holds for every text, and the client for Python on random texts.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { type Chunk, type ChunkBy, type ChunkOptions, chunkText } from '@annal/client'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import { pythonEnvironment, pythonHome, pythonWith } from '../../../client-python/test/python.ts'
import { sentencesOf } from '../../src/chunking/sentences.ts'

interface Vector {
  readonly name: string
  readonly text: string
  readonly options: ChunkOptions
  readonly chunks: readonly Chunk[]
}

const seed = chosenSeed()
const kinds: readonly ChunkBy[] = ['sentences', 'tokens', 'markdown', 'code']
// The file is ours.
const vectors = JSON.parse(
  readFileSync(path.join(pythonHome, 'tests', 'chunking_vectors.json'), 'utf8'),
) as readonly Vector[]

for (const { name, text, options, chunks } of vectors) {
  test(`vector: ${name}`, (t) => {
    t.strictSame(chunkText(text, options), chunks)
    t.end()
  })
}

test('sentences end where readers end them', (t) => {
  const sentences: readonly (readonly [string, readonly string[]])[] = [
    ['One two. Three four.', ['One two.', 'Three four.']],
    ['Buy:\n- milk\n- eggs. Go on', ['Buy:', '- milk', '- eggs.', 'Go on']],
    ['1. Pay. 2. Run... and rest. vitamin C. End', ['1. Pay.', '2.', 'Run... and rest. vitamin C. End']],
    ['Dr. No met J. S. Bach at 5 p.m. today.', ['Dr. No met J. S. Bach at 5 p.m. today.']],
    ['It costs 3.50 now. Buy it.', ['It costs 3.50 now.', 'Buy it.']],
    ['He said "Go!" Then he left.', ['He said "Go!"', 'Then he left.']],
    ['A title\n\nA paragraph', ['A title', 'A paragraph']],
    ['行く。来る。', ['行く。', '来る。']],
  ]
  for (const [text, expected] of sentences) {
    t.strictSame(
      sentencesOf(text, 0, text.length).map(({ start, end }) => text.slice(start, end)),
      expected,
    )
  }
  t.end()
})

const pieces = [
  ...[
    '# ',
    '## ',
    '```\n',
    '~~~\n',
    '---\n',
    '===\n',
    '- ',
    '1. ',
    '| ',
    '\n',
    '\n\n',
    '\r\n',
    ' ',
    '    ',
    '\t',
    '. ',
    '! ',
    '?',
    '...',
  ],
  ...[
    '“',
    '”',
    ')',
    '}',
    '. ',
    '。',
    '!',
    'Dr',
    'word',
    'Longer',
    'U.S.',
    'x'.repeat(30),
    '日本',
    'สวัสดี',
    'e\u0301',
    '👍',
    '👍🏽',
    '𠮷',
  ],
  ...[
    '\ud800',
    '\udc00',
    '\u00a0',
    '\u2028',
    '\u3000',
    '\ufeff',
    '\u0301',
    'ß',
    '12',
    '3.5',
    'def f():',
    'return',
    '#',
    '—',
  ],
]

function randomText(random: Random): string {
  return Array.from({ length: random.below(60) }, () => pieces[random.below(pieces.length)] as string).join('')
}

function randomOptions(random: Random): ChunkOptions & { readonly size: number; readonly overlap: number } {
  const size = 1 + random.below(30)
  const by = kinds[random.below(kinds.length)] as ChunkBy
  return { by, size, overlap: random.below(size), ...(random.chance(0.3) && { parent: 'doc' }) }
}

const blank = /^[\t-\r \x85\xa0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]*$/u

test(`chunks of random texts cover them in order and keep their limits, seed ${seed}`, (t) => {
  const random = seededRandom(seed)
  for (let round = 0; round < 3_000; round++) {
    const text = randomText(random)
    const options = randomOptions(random)
    const chunks = chunkText(text, options)
    const about = () => JSON.stringify({ round, text, options, chunks })
    let covered = 0
    for (const [index, chunk] of chunks.entries()) {
      const before = chunks[index - 1]
      const exact =
        chunk.text === text.slice(chunk.start, chunk.end) && chunk.index === index && chunk.parent === options.parent
      const sized = chunk.tokens >= 1 && chunk.tokens <= options.size
      const ahead = before === undefined || (chunk.start > before.start && chunk.end > before.end)
      const between = text.slice(covered, Math.max(covered, chunk.start))
      if (!exact || !sized || !ahead || !blank.test(between)) t.fail(about())
      if (before !== undefined && chunk.start < before.end) {
        const repeated = chunkText(text.slice(chunk.start, before.end), { by: 'tokens', size: 10_000 })[0]?.tokens ?? 0
        if (repeated > options.overlap) t.fail(`repeats ${repeated} tokens: ${about()}`)
      }
      covered = chunk.end
    }
    if (!blank.test(text.slice(covered))) t.fail(about())
  }
  t.pass('3,000 texts')
  t.end()
})

const python = pythonWith('requests', 'msgpack')

test(`the client for Python makes the same chunks of random texts, seed ${seed}`, {
  skip: python === undefined ? 'needs python3-requests python3-msgpack' : false,
}, async (t) => {
  const random = seededRandom(seed + 1)
  const cases = Array.from({ length: 1_000 }, () => [randomText(random), randomOptions(random)] as const)
  const child = spawn(python ?? '', [path.join(pythonHome, 'tests', 'chunk_lines.py')], {
    env: pythonEnvironment,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(JSON.stringify(cases))
  const found = JSON.parse(await textOf(child.stdout)) as readonly (readonly Chunk[])[]
  t.equal(found.length, cases.length)
  for (const [at, [text, options]] of cases.entries()) {
    // Offsets of Python are code points.
    const points = [...text]
    const inUnits = (found[at] as readonly Chunk[]).map((chunk) => ({
      ...chunk,
      start: points.slice(0, chunk.start).join('').length,
      end: points.slice(0, chunk.end).join('').length,
    }))
    if (JSON.stringify(sorted(inUnits)) !== JSON.stringify(sorted(chunkText(text, options)))) {
      t.strictSame(inUnits, chunkText(text, options), JSON.stringify({ text, options }))
    }
  }
})

/** With the keys of each chunk in one order. */
function sorted(chunks: readonly Chunk[]): unknown {
  return chunks.map((chunk) => Object.entries(chunk).sort(([one], [other]) => (one < other ? -1 : 1)))
}

test('a long text of any kind is chunked to its end', (t) => {
  const units = [
    'word ',
    'x',
    '.',
    '. ',
    '\n',
    ' ',
    '# ',
    '\n# ',
    '```\n',
    '\n\n',
    '- ',
    '日',
    '\u0301',
    '👍',
    ')',
    '\t#',
    '\n    a',
  ]
  for (const unit of units) {
    const text = `${unit.repeat(100_000 / unit.length)}\n\nend`
    for (const by of kinds) {
      const last = chunkText(text, { by, size: 100, overlap: 10 }).at(-1)
      t.equal(last?.end, text.length, `${by} of ${JSON.stringify(unit)}`)
    }
  }
  t.end()
})

test('wrong options are rejected by name, value, and limit', (t) => {
  const wrong: readonly (readonly [object, string, string, unknown])[] = [
    [{ by: 'pages' }, 'by', 'by must be sentences, tokens, markdown, or code, not pages', kinds],
    [{ size: 0 }, 'size', 'size must be a whole number from 1 to 10000, not 0', 10_000],
    [{ size: 10_001 }, 'size', 'size must be a whole number from 1 to 10000, not 10001', 10_000],
    [{ size: 2.5 }, 'size', 'size must be a whole number from 1 to 10000, not 2.5', 10_000],
    [{ size: 10, overlap: 10 }, 'overlap', 'overlap must be a whole number from 0 to 9, not 10', 9],
    [{ overlap: -1 }, 'overlap', 'overlap must be a whole number from 0 to 199, not -1', 199],
    [{ parent: '' }, 'parent', 'parent must be a non-empty string', undefined],
    [{ parent: 7 }, 'parent', 'parent must be a non-empty string', undefined],
  ]
  for (const [options, field, message, limit] of wrong) {
    const expected = { name: 'AnnalError', code: 'invalid_argument', field, message, limit }
    // The types forbid some of these, and JavaScript does not know them.
    t.throws(() => chunkText('text', options as ChunkOptions), expected, JSON.stringify(options))
  }
  t.throws(() => chunkText(7 as unknown as string), { code: 'invalid_argument', field: 'text' })
  t.end()
})
