// Damaged files: reading any of them ends with objects or with an error that names the file, in limited time and memory.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { StoredObject } from '@annal/client'
import { tableFromIPC, tableToIPC } from 'apache-arrow'
import hdf5 from 'h5wasm/node'
import tap, { type Test, test } from 'tap'
import type { CommandEnd } from '../src/exit-code.ts'
import { linesOf } from '../src/formats/lines.ts'
import { writeParquet } from '../src/formats/parquet.ts'
import { openRows } from '../src/sources/file-rows.ts'
import { openFile } from '../src/sources/file-source.ts'
import type { GuardLimits } from '../src/sources/guarded-file.ts'
import { freshDir } from './command.ts'
import { damaged, randomOf } from './damage.ts'

tap.setTimeout(600_000)

const golden = (name: string) => fileURLToPath(new URL(`golden/${name}`, import.meta.url))
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)

/** A damaged number of rows may be any. */
const rowsMax = 5_000

const options = { field: 'v', renames: new Map<string, string>(), texts: new Set(['title']) }

async function rowsOf(file: string, limits?: Partial<GuardLimits>): Promise<number> {
  const source = await openFile(file, options, limits)
  let rows = 0
  try {
    for await (const { objects } of source.pieces(0)) {
      rows += objects.length
      if (rows > rowsMax) break
    }
  } finally {
    await source.close?.()
  }
  return rows
}

/** Without a thread, because damage of Arrow files is found before the library reads them. */
async function rowsOfArrow(file: string): Promise<number> {
  const { rows } = await openRows(file, { ...options, format: 'arrow' })
  let number = 0
  for await (const _ of rows(0)) {
    number += 1
    if (number > rowsMax) break
  }
  return number
}

test('an Arrow file with a list of metadata that has 3 billion entries is refused before the library reads it', async (t) => {
  const bytes = readFileSync(golden('films.arrow'))
  bytes[239] = 178
  bytes[2891] = 123
  const file = path.join(freshDir(t), 'endless.arrow')
  writeFileSync(file, bytes)
  await t.rejects(rowsOf(file), {
    exitCode: 65,
    message: `${file}: not readable as Arrow: its metadata points outside itself`,
  })
})

test('a file on which a library loops ends after its CPU time', async (t) => {
  const file = golden('endless.parquet')
  await t.rejects(rowsOf(file, { cpuMs: 200 }), {
    exitCode: 65,
    message: /endless\.parquet: the file is damaged: no object in [0-9.]+ s of CPU time$/,
  })
})

test('a file that takes more memory than its limit ends', async (t) => {
  await t.rejects(rowsOf(golden('films.arrow'), { bytes: 4 * 1024 * 1024 }), {
    exitCode: 65,
    message: /films\.arrow: the file is damaged: its next part takes more than 4\.0 MiB of memory$/,
  })
})

test('JSON that nests too deeply, values without end, and too many columns are refused', async (t) => {
  const dir = freshDir(t)
  const lists = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
  const object = (meta: string) => `{"id":"a","fields":{"v":[1,2]},"meta":{"a":${meta}}}`
  const wrong: readonly [string, string, RegExp][] = [
    ['deep.jsonl', `${object('1')}\n${object(lists(500_000))}\n`, /deep\.jsonl, line 2: nested deeper than 64$/],
    ['deep.json', `[${object('"\\"["')},\n${object(lists(70))}]`, /deep\.json, line 2: nested deeper than 64$/],
    ['deep.csv', `id,fields.v,meta\na,[1 2],"{""a"":${lists(500_000)}}"`, /row 1, column meta: not a JSON object: /],
    ['vector.csv', `id,fields.v\na,"${lists(500_000)}"`, /row 1, column fields\.v: not a vector such as/],
    ['zeros.json', '0'.repeat(2_000_000), /zeros\.json, line 1: not a JSON object$/],
    ['wide.csv', `id,fields.v${',c'.repeat(20_000)}\n`, /wide\.csv has 20002 columns; the limit is 10000$/],
  ]
  for (const [name, text, message] of wrong) {
    const file = path.join(dir, name)
    writeFileSync(file, text)
    await t.rejects(rowsOf(file), { exitCode: 65, message }, name)
  }
  const marked = path.join(dir, 'marked.jsonl')
  writeFileSync(marked, `\ufeff${object(lists(30))}\n`)
  t.equal(await rowsOf(marked), 1, 'a mark of the encoding is no part of the text')
})

test('a text file whose line does not end has a limit', async (t) => {
  const file = path.join(freshDir(t), 'long.jsonl')
  writeFileSync(file, `a\r\nb\n\n${'x'.repeat(3_000_000)}`)
  const lines: string[] = []
  const reading = async () => {
    for await (const line of linesOf(file, 1_000_000)) lines.push(line)
  }
  await t.rejects(reading(), { exitCode: 65, message: `${file}, line 4: a line has more than 1000000 characters` })
  t.strictSame(lines, ['a', 'b', ''])
})

/** A valid file of each format by its ending. */
async function goodFiles(dir: string): Promise<readonly string[]> {
  const named = (name: string) => path.join(dir, name)
  const rows = Array.from({ length: 40 }, (_, i) => ({ id: `id-${i}`, year: 1950 + i, vector: [i, i / 3, -1] }))
  const table = tableFromIPC(readFileSync(golden('films.arrow')))
  writeFileSync(named('file.arrow'), tableToIPC(table, 'file'))
  writeFileSync(named('stream.arrows'), tableToIPC(table, 'stream'))
  writeFileSync(named('file-zstd.arrow'), readFileSync(golden('films-zstd.arrow')))
  writeFileSync(named('file-lz4.arrow'), readFileSync(golden('films-lz4.arrow')))
  const objects = rows.map(({ id, year, vector }) => ({ id, filter: { year }, fields: { v: vector } }))
  writeFileSync(named('lines.jsonl'), objects.map((object) => `${JSON.stringify(object)}\n`).join(''))
  writeFileSync(named('list.json'), JSON.stringify(objects))
  const cells = rows.map(({ id, year, vector }) => `${id},"${JSON.stringify(vector)}",${year}`)
  writeFileSync(named('rows.csv'), ['id,fields.v,filter.year', ...cells].join('\n'))
  const numbers = Buffer.from(Float32Array.from(rows.flatMap(({ vector }) => vector)).buffer)
  for (const [name, order] of [
    ['rows.npy', 'False'],
    ['columns.npy', 'True'],
  ] as const) {
    const header = `{'descr': '<f4', 'fortran_order': ${order}, 'shape': (40, 3), }`.padEnd(117)
    writeFileSync(named(name), Buffer.concat([Buffer.from(`\x93NUMPY\x01\x00v\x00${header}\n`, 'latin1'), numbers]))
  }
  const dimension = Buffer.from(Int32Array.of(3).buffer)
  const vectors = rows.flatMap((_, i) => [dimension, numbers.subarray(i * 12, i * 12 + 12)])
  writeFileSync(named('rows.fvecs'), Buffer.concat(vectors))
  await writeParquet(
    named('rows.parquet'),
    [
      { name: 'v', type: 'vector', params: { dimension: 3, spaceType: 'l2', precision: 'float32' } },
    ] as unknown as Parameters<typeof writeParquet>[1],
    storedObjects(rows),
  )
  await hdf5.ready
  const packed = new hdf5.File(named('rows.hdf5'), 'w')
  packed.create_dataset({ name: 'train', data: Float32Array.from({ length: 120 }, (_, i) => i), shape: [40, 3] })
  packed.create_dataset({
    ...{ name: 'packed', data: Float64Array.from({ length: 120 }, (_, i) => i), shape: [40, 3] },
    ...{ chunks: [10, 3], compression: 'gzip' },
  })
  packed.close()
  return readdirSync(dir).map(named)
}

async function* storedObjects(rows: readonly { readonly id: string; readonly vector: readonly number[] }[]) {
  for (const { id, vector } of rows) {
    const dense = { v: { vector: Float32Array.from(vector) } }
    yield { id, meta: { a: 1 }, filter: {}, dense, sparse: {}, multi: {}, texts: {} } as unknown as StoredObject
  }
}

test('whatever is changed in a file, reading it ends with objects or with an error that names the file', async (t) => {
  t.comment(`SEED=${seed}`)
  const [dir, work] = [freshDir(t), freshDir(t)]
  for (const good of await goodFiles(dir)) {
    const name = path.basename(good)
    t.equal(await rowsOf(good), name.startsWith('file') || name.startsWith('stream') ? 3 : 40, name)
    const isThread = /parquet|hdf5/.test(name)
    const rounds = (isThread ? 8 : 300) * (process.env.ANNAL_LONG ? 40 : 1)
    await fuzz(t, { good, file: path.join(work, name), rounds })
  }
})

interface Fuzz {
  readonly good: string
  readonly file: string
  readonly rounds: number
}

async function fuzz(t: Test, { good, file, rounds }: Fuzz): Promise<void> {
  const random = randomOf(seed)
  const bytes = readFileSync(good)
  let refused = 0
  for (let round = 0; round < rounds; round += 1) {
    writeFileSync(file, damaged(bytes, random))
    try {
      if (file.includes('.arrow')) await rowsOfArrow(file)
      else await rowsOf(file, { cpuMs: 1_000 })
    } catch (error) {
      refused += 1
      const { exitCode = 0, message, stack } = error as CommandEnd
      if (![64, 65].includes(exitCode) || !message.includes(file))
        t.fail(`round ${round} of SEED=${seed}, ${path.basename(file)}: ${stack}`)
    }
  }
  t.ok(refused > 0, `${path.basename(file)}: ${refused} of ${rounds} were refused`)
}
