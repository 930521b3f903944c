// The collection that is asked: filled now, or by an earlier run that was given the same directory. A run that ends before it is
// full, in whatever way, has filled a part, and the next goes on behind it.
import type { Collection, Engine } from '@annal/engine'
import { definitionOf, insert } from './load.ts'
import type { Things } from './things.ts'

/** Rows between two looks at the clock. */
const piece = 10_000

/** Undefined where the minutes were over before all things were in. */
export async function filledCollection(
  engine: Engine,
  things: Things,
  { precision, minutes }: { readonly precision: string; readonly minutes: number },
): Promise<Collection | undefined> {
  const definition = definitionOf(things, precision)
  const database = engine.database()
  const known = database.collections().some(({ name }) => name === definition.name)
  const collection = known ? database.collection(definition.name) : await database.createCollection(definition)
  const end = performance.now() + minutes * 60_000
  let rows = collection.count().count
  for (; rows < things.rows && performance.now() < end; rows = collection.count().count) {
    const length = Math.min(piece, things.rows - rows)
    const from = rows
    await insert(
      collection,
      things,
      Array.from({ length }, (_, i) => from + i),
    )
    if (Math.floor(rows / 100_000) !== Math.floor((rows + length) / 100_000)) console.error(`${rows + length} rows`)
  }
  if (rows > things.rows) throw new Error(`${rows} rows are there, more than the ${things.rows} asked for`)
  return rows < things.rows ? undefined : collection
}
