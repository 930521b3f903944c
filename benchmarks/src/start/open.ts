// The child process that starts: opens the directory, runs one query with a known answer, and prints the time of each step since the start
// of the process, and its size. Arguments: directory, number of the object.
import { readFileSync } from 'node:fs'
import { openEngine } from '@annal/engine'
import { checkFound } from './objects.ts'

const [, , dataDir = '', probe] = process.argv
const importedMs = performance.now()
const cpuFrom = process.cpuUsage()
const engine = await openEngine({ dataDir })
const openedMs = performance.now()
const collection = engine.database().collection('objects')
await checkFound((request) => collection.search(request), Number(probe))
const answeredMs = performance.now()
const cpu = process.cpuUsage(cpuFrom)
const { memory, objects, lsnApplied, lsnCheckpoint } = engine.stats()
const status = readFileSync('/proc/self/status', 'utf8')
const kibibytes = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0)
process.stdout.write(
  `${JSON.stringify({
    importedMs,
    openedMs,
    answeredMs,
    cpuMs: (cpu.user + cpu.system) / 1_000,
    objects,
    replayed: lsnApplied - lsnCheckpoint,
    memory,
    rssBytes: kibibytes('VmRSS') * 1024,
    rssPeakBytes: kibibytes('VmHWM') * 1024,
  })}\n`,
)
// The parent kills this process, so that nothing is written at the end.
setInterval(() => undefined, 1_000)
