// The child process that deletes nine of ten objects, vacuums, and prints the remaining bytes that it counts and its own size. Changes the
// directory. Arguments: directory.
import { readFileSync } from 'node:fs'
import { openEngine } from '@annal/engine'
import { measureTime } from './load.ts'
import { groups } from './objects.ts'

const [, , dataDir = ''] = process.argv
const engine = await openEngine({ dataDir })
const collection = engine.database().collection('objects')

function sizes(): { readonly objects: number; readonly bytes: number; readonly rssBytes: number } {
  const status = readFileSync('/proc/self/status', 'utf8')
  const { objects, memory } = collection.describe()
  return {
    objects,
    bytes: Object.values(memory).reduce((sum, part) => sum + part, 0),
    rssBytes: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024,
  }
}

const before = sizes()
const deleteMs = await measureTime(async () => {
  for (let group = groups / 10; group < groups; group++) await collection.deleteWhere([{ group: { $eq: group } }])
})
const vacuumMs = await measureTime(() => collection.vacuum())
process.stdout.write(`${JSON.stringify({ before, after: sizes(), deleteMs, vacuumMs })}\n`)
// The parent kills this process, so that nothing is written at the end.
setInterval(() => undefined, 1_000)
