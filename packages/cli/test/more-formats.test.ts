// Files of other programs: HDF5, NPY of half precision and in Fortran order, and Arrow; and what damaged ones report.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { ObjectInput } from '@annal/client'
import {
  Field,
  FixedSizeList,
  Float16,
  Float32,
  Float64,
  Int64,
  List,
  Struct,
  Table,
  TimestampMillisecond,
  tableToIPC,
  Uint32,
  Utf8,
  vectorFromArray,
} from 'apache-arrow'
import tap, { test } from 'tap'
import { fromHalf } from '../src/formats/half.ts'
import { fromLz4Frame } from '../src/formats/lz4-frame.ts'
import { type FileOptions, openFile } from '../src/sources/file-source.ts'
import { freshDir } from './command.ts'

tap.setTimeout(300_000)

const python = pythonWith('h5py', 'numpy')

/** The Python of Debian, which has the packages of Debian. */
function pythonWith(...modules: readonly string[]): string | undefined {
  return ['/usr/bin/python3', 'python3'].find((name) => {
    try {
      execFileSync(name, ['-c', `import ${modules.join(', ')}`], { stdio: 'ignore' })
      return true
    } catch {
      return false
    }
  })
}

/** The objects of a file from a row on. */
async function objectsOf(
  file: string,
  options: Partial<FileOptions> = {},
  from = 0,
  most = Number.POSITIVE_INFINITY,
): Promise<ObjectInput[]> {
  const source = await openFile(file, { field: 'v', renames: new Map(), texts: new Set(), ...options })
  const objects: ObjectInput[] = []
  try {
    for await (const piece of source.pieces(from)) {
      objects.push(...piece.objects)
      if (objects.length > most) break
    }
  } finally {
    await source.close?.()
  }
  return objects
}

async function vectorsOf(file: string, options?: Partial<FileOptions>, from?: number) {
  return (await objectsOf(file, options, from)).map(({ fields }) => Array.from(fields.v as ArrayLike<number>))
}

test('NumPy writes what is read: every type, both orders', {
  skip: python === undefined && 'needs python3-h5py',
}, async (t) => {
  const dir = freshDir(t)
  const program = `
import numpy, sys
m = numpy.array([[1.5, -2, 65504], [0.25, 6e-8, 3]])
for kind in ['<f2', '>f2', '<f4', '>f4', '<f8', '>f8']:
  for order in 'CF':
    numpy.save(f'{sys.argv[1]}/{kind[1:]}-{"b" if kind[0] == ">" else "l"}-{order}.npy', numpy.array(m, dtype=kind, order=order))
numpy.save(f'{sys.argv[1]}/big.npy', numpy.asfortranarray(numpy.arange(40000 * 300, dtype='<f4').reshape(40000, 300)))
`
  execFileSync(python as string, ['-c', program, dir])
  for (const type of ['f2', 'f4', 'f8']) {
    for (const name of ['l-C', 'l-F', 'b-C', 'b-F']) {
      const [first, second] = await vectorsOf(path.join(dir, `${type}-${name}.npy`))
      t.strictSame(first, [1.5, -2, 65_504], `${type}-${name}`)
      t.ok(Math.abs((second?.[1] as number) - 6e-8) < 1e-9, 'a subnormal half')
    }
  }
  const rows = await vectorsOf(path.join(dir, 'big.npy'), {}, 39_998)
  t.strictSame(
    rows.map((row) => [row[0], row[299], row.length]),
    [
      [11_999_400, 11_999_699, 300],
      [11_999_700, 11_999_999, 300],
    ],
  )
  t.strictSame(
    (await vectorsOf(path.join(dir, 'big.npy'), {}, 13_980))[1]?.[0],
    13_981 * 300,
    'over the end of a block',
  )
})

test('halves of every kind', (t) => {
  const values = [0x0000, 0x8000, 0x3c00, 0xc000, 0x0001, 0x03ff, 0x0400, 0x7bff, 0x7c00, 0xfc00, 0x7e00].map(fromHalf)
  t.strictSame(values, [
    0,
    -0,
    1,
    -2,
    2 ** -24,
    1023 * 2 ** -24,
    2 ** -14,
    65_504,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    Number.NaN,
  ])
  t.end()
})

/** Python writes it, so that another library than ours made it. */
const hdf5 = `
import h5py, numpy, sys
with h5py.File(sys.argv[1], 'w') as f:
  f['train'] = numpy.arange(3000, dtype='<f4').reshape(1000, 3)
  f['test'] = numpy.ones((2, 3), dtype='<f4')
  f['neighbors'] = numpy.zeros((2, 5), dtype='<i4')
  f.create_dataset('packed', data=numpy.arange(6, dtype='>f8').reshape(2, 3), compression='gzip')
  f.create_group('deep')['bytes'] = numpy.array([[0, 255]], dtype='u1')
  f['deep/long'] = numpy.array([[1, 2]], dtype='<i8')
  f['one'] = numpy.arange(3)
  f['names'] = numpy.array([[b'a', b'b']])
  f['none'] = numpy.zeros((3, 0))
  f.attrs['distance'] = 'euclidean'
with h5py.File(sys.argv[2], 'w') as f:
  f['only'] = numpy.ones((1, 2))
`

test('HDF5 of h5py is read by blocks, and damaged files are reported', {
  skip: python === undefined && 'needs python3-h5py',
}, async (t) => {
  const dir = freshDir(t)
  const [file, single] = [path.join(dir, 'a.hdf5'), path.join(dir, 'single.h5')]
  execFileSync(python as string, ['-c', hdf5, file, single])
  const all = await objectsOf(file)
  t.equal(all.length, 1_000)
  t.strictSame(all[999], { id: '999', fields: { v: Float32Array.of(2_997, 2_998, 2_999) } })
  t.strictSame(await vectorsOf(file, {}, 998), [
    [2_994, 2_995, 2_996],
    [2_997, 2_998, 2_999],
  ])
  t.strictSame(await vectorsOf(file, { dataset: 'packed' }), [
    [0, 1, 2],
    [3, 4, 5],
  ])
  t.strictSame(await vectorsOf(file, { dataset: 'deep/bytes' }), [[0, 255]])
  t.strictSame(await vectorsOf(file, { dataset: 'deep/long' }), [[1, 2]])
  t.strictSame(await vectorsOf(single), [[1, 1]], 'the only matrix')
  const bad = path.join(dir, 'bad.hdf5')
  const wrong: readonly [string, Partial<FileOptions>, RegExp, number?][] = [
    [file, { dataset: 'one' }, /a\.hdf5 has no matrix "one"; choose one with --dataset: .*train, deep\/bytes/],
    [file, { dataset: 'names' }, /the dataset names has no numbers/],
    [file, { dataset: 'none' }, /the dataset none has vectors of 0 numbers; the limits are 1 and 10000/],
    [bad, {}, /bad\.hdf5: not readable as HDF5: Not an HDF5 file/, 65],
    [dir, { format: 'hdf5' }, /it is not a file/],
  ]
  writeFileSync(bad, 'hello')
  for (const [name, options, message, exitCode = 64] of wrong)
    await t.rejects(objectsOf(name, options), { exitCode, message })
  writeFileSync(bad, readFileSync(file).subarray(0, 3_000))
  await t.rejects(objectsOf(bad), { exitCode: 65, message: /bad\.hdf5: not readable as HDF5: File has been truncated/ })
})

/** Columns of every kind that an import uses. */
function table(): Table {
  const floats = (values: readonly (readonly number[])[], type: Float16 | Float32 | Float64) =>
    vectorFromArray(values, new FixedSizeList(2, new Field('item', type)))
  const terms = new Struct([
    new Field('indices', new List(new Field('item', new Uint32()))),
    new Field('values', new List(new Field('item', new Float32()))),
  ])
  return new Table({
    id: vectorFromArray(['a', 'b', 'c'], new Utf8()),
    'fields.half': floats(
      [
        [1, 0.5],
        [2, 4],
        [6, 8],
      ],
      new Float16(),
    ),
    'fields.float': floats(
      [
        [1, 2],
        [3, 4],
        [5, 6],
      ],
      new Float32(),
    ),
    'fields.double': vectorFromArray([[1, 2], [3], null], new List(new Field('item', new Float64()))),
    'fields.terms': vectorFromArray(
      [{ indices: [7], values: [0.5] }, null, { indices: [1, 2], values: [1, 2] }],
      terms,
    ),
    'fields.pages': vectorFromArray(
      [
        [
          [1, 2],
          [3, 4],
        ],
        null,
        null,
      ],
      new List(new Field('item', new List(new Field('item', new Float32())))),
    ),
    'filter.year': vectorFromArray([1979n, null, 2n ** 60n], new Int64()),
    expires_at: vectorFromArray([Date.parse('2999-01-01T00:00:00Z'), null, null], new TimestampMillisecond()),
    // The same text again and again is stored once.
    title: vectorFromArray(['x', 'y', 'x']),
  })
}

const plain = (objects: readonly ObjectInput[]) =>
  JSON.parse(JSON.stringify(objects, (_, value) => (value instanceof Float32Array ? Array.from(value) : value)))

const read = [
  {
    id: 'a',
    fields: {
      half: [1, 0.5],
      float: [1, 2],
      double: [1, 2],
      terms: { indices: [7], values: [0.5] },
      pages: [
        [1, 2],
        [3, 4],
      ],
    },
    meta: { title: 'x' },
    filter: { year: 1979 },
    expiresAt: '2999-01-01T00:00:00.000Z',
  },
  { id: 'b', fields: { half: [2, 4], float: [3, 4], double: [3] }, meta: { title: 'y' } },
  {
    id: 'c',
    fields: { half: [6, 8], float: [5, 6], terms: { indices: [1, 2], values: [1, 2] } },
    meta: { title: 'x' },
    filter: { year: '1152921504606846976' },
  },
]

test('Arrow files and streams are read batch by batch, and damaged ones are reported', async (t) => {
  const dir = freshDir(t)
  for (const [name, kind] of [
    ['a.arrow', 'file'],
    ['a.feather', 'file'],
    ['a.arrows', 'stream'],
  ] as const) {
    const file = path.join(dir, name)
    writeFileSync(file, tableToIPC(table(), kind))
    t.strictSame(plain(await objectsOf(file)), read, name)
    t.strictSame(plain(await objectsOf(file, {}, 2)), read.slice(2), `${name} from a row on`)
  }
  const bad = path.join(dir, 'bad.arrow')
  const good = Buffer.from(tableToIPC(table(), 'file'))
  const wrong: readonly [Uint8Array, RegExp][] = [
    [Buffer.from(''), /bad\.arrow is empty/],
    [
      Buffer.from('hello, this is not a file of columns'),
      /bad\.arrow.*not readable as Arrow|bad\.arrow has no vector column/,
    ],
    [good.subarray(0, 400), /bad\.arrow.*: not readable as Arrow/],
  ]
  for (const [bytes, message] of wrong) {
    writeFileSync(bad, bytes)
    await t.rejects(objectsOf(bad), { exitCode: 65, message })
  }
})

test('a golden file of an Arrow file, written once, is read the same in every version', async (t) => {
  const golden = new URL('golden/films.arrow', import.meta.url)
  t.equal(
    createHash('sha256').update(readFileSync(golden)).digest('hex'),
    '8356c3a31ebebd19f5461af37e5a3b887d36df431e0210785c8c28381ba28cc3',
  )
  t.strictSame(plain(await objectsOf(golden.pathname)), read)
})

test('compressed Arrow files are read as the same file without compression', async (t) => {
  for (const name of ['films-zstd.arrow', 'films-lz4.arrow']) {
    const golden = new URL(`golden/${name}`, import.meta.url)
    t.strictSame(plain(await objectsOf(golden.pathname)), read, name)
  }
})

test('LZ4 frames: literals, matches that overlap, blocks that are stored, and every cut', (t) => {
  // "abcabcabcabc" as a literal abc and a match of 9 at 3; then "xyz" as a stored block.
  const frame = Buffer.from([
    ...[0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82],
    ...[6, 0, 0, 0, 0x35, 0x61, 0x62, 0x63, 3, 0],
    ...[3, 0, 0, 0x80, 0x78, 0x79, 0x7a],
    ...[0, 0, 0, 0],
  ])
  t.equal(Buffer.from(fromLz4Frame(frame)).toString(), 'abcabcabcabcxyz')
  for (let length = 0; length < frame.length; length++)
    t.throws(() => fromLz4Frame(frame.subarray(0, length)), `${length} bytes`)
  const before = Buffer.from(frame)
  before[15] = 9
  t.throws(() => fromLz4Frame(before), /begins before the content/)
  t.end()
})
