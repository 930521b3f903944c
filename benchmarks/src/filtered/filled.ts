// Fills the collection that is searched, or opens one that an earlier run filled in the same directory. A run that ends early leaves a
// part, and the next run continues after it.
import type { Collection, Engine } from '@annal/engine'
import { definitionOf, insert } from './load.ts'
import type { Things } from './things.ts'

/** Rows between two checks of the clock. */
const piece = 10_000

/** Returns undefined if the time is over before everything is loaded. */
export async function fillOrOpen(
  engine: Engine,
  things: Things,
  { precision, minutes }: { readonly precision: string; readonly minutes: number },
): Promise<Collection | undefined> {
  const definition = definitionOf(things, precision)
  const database = engine.database()
  const existing = database.collections().some(({ name }) => name === definition.name)
  const collection = existing ? database.collection(definition.name) : await database.createCollection(definition)
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
  if (rows > things.rows) throw new Error(`the collection has ${rows} rows, more than the ${things.rows} requested`)
  return rows < things.rows ? undefined : collection
}
