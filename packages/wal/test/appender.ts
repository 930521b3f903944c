// A process that appends to a log and prints what was acknowledged. Tests trace it or make its system calls fail.
// Arguments: directory, number of records, number of parallel appends.
import { writeSync } from 'node:fs'
import { openFileLog, WalError } from '../src/index.ts'

const [dir = '', count = '0', width = '1'] = process.argv.slice(2)

function say(text: string): void {
  writeSync(1, `${text}\n`)
}

/** Every acknowledgment leaves the process before anything else happens. */
function stop(error: unknown): never {
  const isExpected = error instanceof WalError
  say(`stopped ${isExpected ? error.code : String(error)}`)
  process.exit(isExpected ? (error.exitCode ?? 1) : 1)
}

try {
  const log = await openFileLog({ dir, segmentBytesMax: 4096, freeBytesHard: 0, onFailed: stop })
  say('open')
  let next = 0
  const work = async () => {
    while (next < Number(count)) {
      const name = `rec-${String(next++).padStart(6, '0')}`
      const { lsn } = await log.append({ type: 16, version: 1, payload: Buffer.from(name.padEnd(100, '.')) })
      say(`ack ${name} ${lsn}`)
    }
  }
  await Promise.all(Array.from({ length: Number(width) }, work))
  await log.close()
  say('closed')
} catch (error) {
  stop(error)
}
