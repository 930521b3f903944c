// Sections written by a fixed sequence of calls, byte for byte: snapshots of one version are read by the next.
// ANNAL_GOLDEN=write rewrites the file, which is a change of format and needs a new version of the snapshot file.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { FilterIndex } from '../../src/filter/filter-index.ts'
import { parseFilter } from '../../src/filter/parse-filter.ts'
import { Column } from '../../src/memory/column.ts'
import { IdTable } from '../../src/memory/id-table.ts'
import { hashSeed, readerOf, sectionBytes } from './rig.ts'

const file = fileURLToPath(new URL('../golden/sections-1.bin', import.meta.url))

function build(): { ids: IdTable; filters: FilterIndex; column: Column } {
  const ids = new IdTable(hashSeed)
  const filters = new FilterIndex(hashSeed)
  const column = new Column('f32')
  const values = (index: number): { [key: string]: string | number | boolean | null | (string | number)[] } => ({
    group: `g${index % 3}`,
    size: index % 5 === 0 ? index / 4 : index,
    even: index % 2 === 0,
    when: `2024-01-${String((index % 28) + 1).padStart(2, '0')}`,
    ...(index % 7 === 0 ? { tags: ['é', index] } : {}),
    ...(index === 9 ? { nothing: null } : {}),
  })
  for (let index = 0; index < 120; index++) {
    ids.insert(`id-${index}`, index)
    filters.set(index, values(index))
    column.set(index, index / 8)
  }
  for (let index = 0; index < 120; index += 11) {
    filters.remove(index, values(index))
    ids.release(ids.remove(`id-${index}`))
  }
  return { ids, filters, column }
}

test('sections have unchanged bytes', (t) => {
  const { ids, filters, column } = build()
  const bytes = sectionBytes(...ids.dump('ids'), ...filters.dump('filters'), column.dump('column', 120))
  if (process.env.ANNAL_GOLDEN === 'write') writeFileSync(file, bytes)
  t.ok(readFileSync(file).equals(bytes))
  t.end()
})

test('sections written by an older version are read', async (t) => {
  const reader = readerOf(readFileSync(file))
  const ids = await IdTable.load(reader, 'ids')
  const filters = await FilterIndex.load(reader, 'filters')
  const column = await Column.load(reader, 'column', 'f32', 120)
  t.same([ids.count, ids.find('id-1'), ids.find('id-11'), ids.idAt(119)], [109, 1, -1, 'id-119'])
  t.same(
    [...filters.evaluate(parseFilter([{ tags: { $eq: 'é' } }, { size: { $lt: 30 } }])).bitmap.toOrdinals()],
    [7, 14, 21, 28, 35, 70, 105],
  )
  t.equal(column.get(100), 12.5)
})
