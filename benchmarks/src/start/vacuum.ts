// The child that deletes nine objects of ten and vacuums, and says what is left of the bytes it counts and of its own size. Takes a
// directory that it may spoil. Arguments: directory.
import { readFileSync } from 'node:fs'
import { openEngine } from '@annal/engine'
import { timed } from './load.ts'
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
const deleteMs = await timed(async () => {
  for (let group = groups / 10; group < groups; group++) await collection.deleteWhere([{ group: { $eq: group } }])
})
const vacuumMs = await timed(() => collection.vacuum())
process.stdout.write(`${JSON.stringify({ before, after: sizes(), deleteMs, vacuumMs })}\n`)
// Ended from outside, so that nothing is written on the way out.
setInterval(() => undefined, 1_000)
