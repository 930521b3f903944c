// The growth of a process for each collection without objects.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openEngine } from '@annal/engine'
import { readOptions } from '../options.ts'
import { printFigures } from './figure.ts'
import { residentBytes } from './resident.ts'

const values = readOptions({ collections: 500 })
const { collections: count } = values
const dataDir = await mkdtemp(path.join(tmpdir(), 'annal-empty-'))
const engine = await openEngine({ dataDir, threads: 2, fsync: 'none' })
try {
  const params = { dimension: 768, spaceType: 'cosine', precision: 'int8', M: 16, efConstruction: 128 } as const
  const create = async (from: number, to: number) => {
    for (let i = from; i < to; i++)
      await engine.database().createCollection({ name: `empty-${i}`, fields: [{ name: 'v', type: 'vector', params }] })
  }
  await create(0, 50)
  const before = await residentBytes()
  await create(50, 50 + count)
  const grown = (await residentBytes()) - before
  printFigures([{ name: 'an empty collection', value: grown / count / 1024, unit: 'KiB', more: 'worse', limit: 100 }])
} finally {
  await engine.close()
  await rm(dataDir, { recursive: true })
}
