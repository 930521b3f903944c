// The process of failpoints.test.ts: a life with writes, checkpoints, and a rebuild that kills itself at a named point of its disk calls.
// Arguments: directory, point (or `none`), number of times the point is passed before, number of the life. Prints a line before each write,
// and another one when it was acknowledged.
import { writeSync } from 'node:fs'
import { type Engine, openEngine } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import { eagerDeltas } from '../snapshot/eager-deltas.ts'
import { failpoints } from './failpoints.ts'
import { watchedVfs } from './watched-vfs.ts'

function objects(life: number, batch: number) {
  return Array.from({ length: 20 }, (_, i) => ({
    id: `${i % 2 === 0 ? life : 0}-${batch % 5}-${i}`,
    meta: { life, batch },
    fields: { v: Array.from({ length: 8 }, (__, index) => Math.sin((life * 100 + batch * 20 + i) * (index + 1))) },
  }))
}

async function runLife(engine: Engine, life: number): Promise<void> {
  const name = 'c'
  const params = { dimension: 8, space_type: 'l2', precision: 'int8', M: 4, ef_con: 16 } as const
  const database = engine.database()
  if (database.collections().length === 0)
    await database.createCollection({ name, fields: [{ name: 'v', type: 'vector', params }] })
  const collection = database.collection(name)
  for (let batch = 0; batch < 24; batch++) {
    printLine({ begins: [life, batch] })
    await collection.upsert(objects(life, batch))
    printLine({ stored: [life, batch] })
    if (batch % 6 === 3) await engine.checkpoint()
    if (batch === 13) await collection.rebuild()
  }
}

/** In one synchronous call, so that the line is written before the process ends. */
function printLine(line: unknown): void {
  writeSync(1, `${JSON.stringify(line)}\n`)
}

const [, , dataDir = '', point = 'none', passes = '0', life = '0'] = process.argv
let left = Number(passes)
const matches = failpoints[point] ?? (() => false)
const vfs = watchedVfs(async (call) => {
  if (matches(call) && left-- === 0) process.kill(process.pid, 'SIGKILL')
})
const pool = await openWorkerPool({ threads: 1 })
const engine = await openEngine({ dataDir }, { vfs, pool, deltas: eagerDeltas })
await runLife(engine, Number(life))
await engine.close()
await pool.close()
printLine({ closed: true })
