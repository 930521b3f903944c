// Parses objects from text, splits them into batches that the server accepts, and generates examples.
import { type Field, hasGraph, isText } from '../../api/collections.ts'

const batchObjectsMax = 500
/** Far below the limit of an upsert, so that progress is visible. */
const batchCharactersMax = 4_000_000

/** Parses objects from JSON or JSON Lines; an error names the line. */
export function objectsIn(text: string): readonly object[] {
  const whole = parseJson(text)
  if (whole !== undefined) return listOf(whole)
  const lines = text.split('\n')
  const objects = lines.flatMap((line, i) => {
    if (line.trim() === '') return []
    const object = parseJson(line)
    if (object === undefined) throw new Error(`line ${i + 1} is not JSON: ${line.slice(0, 60)}`)
    return listOf(object)
  })
  return objects
}

function listOf(value: unknown): readonly object[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  const isObject = (item: unknown): item is object => typeof item === 'object' && item !== null && !Array.isArray(item)
  if (list.every(isObject)) return list.flatMap((item) => ('objects' in item ? listOf(item.objects) : [item]))
  throw new Error('expected objects, such as {"id": "a", "fields": {"vector": [0.1, 0.2]}}')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function* batchesOf(objects: readonly object[]): Generator<readonly object[]> {
  let batch: object[] = []
  let characters = 0
  for (const object of objects) {
    const size = JSON.stringify(object).length
    if (batch.length === batchObjectsMax || (batch.length > 0 && characters + size > batchCharactersMax)) {
      yield batch
      batch = []
      characters = 0
    }
    batch.push(object)
    characters += size
  }
  if (batch.length > 0) yield batch
}

/** Random objects that the collection accepts, one per line. */
export function exampleObjects(fields: readonly Field[], number: number): string {
  const colors = ['red', 'green', 'blue']
  const round = (value: number) => Math.round(value * 1_000) / 1_000
  const exampleOf = (field: Field, i: number) => {
    if (isText(field)) return exampleText(i)
    if (hasGraph(field)) {
      const one = () => Array.from({ length: field.params.dimension }, () => round(Math.random() * 2 - 1))
      return field.type === 'vector' ? one() : { vectors: [one(), one()] }
    }
    const indices = [...new Set(Array.from({ length: 8 }, () => Math.floor(Math.random() * 1_000)))].sort(
      (a, b) => a - b,
    )
    return { indices, values: indices.map(() => round(Math.random() + 0.1)) }
  }
  const lines = Array.from({ length: number }, (_, i) =>
    JSON.stringify({
      id: `example-${i + 1}`,
      meta: { title: `Example ${i + 1}` },
      filter: { color: colors[i % colors.length], number: i + 1 },
      fields: Object.fromEntries(fields.map((field) => [field.name, exampleOf(field, i)])),
    }),
  )
  return lines.join('\n')
}

const animals = ['fox', 'heron', 'badger', 'owl', 'otter', 'hare', 'lynx']
const actions = ['crosses', 'watches', 'circles', 'avoids', 'remembers']
const places = ['the frozen river', 'an old orchard', 'the quiet harbor', 'a field of barley']

/** A sentence that shares words with others. */
function exampleText(i: number): string {
  const [animal, action, place] = [animals, actions, places].map((words) => words[i % words.length])
  return `The ${animal} ${action} ${place}.`
}
