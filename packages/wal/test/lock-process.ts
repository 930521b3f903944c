// A process that takes and releases locks on command: one line in, one JSON line out.
import { createInterface } from 'node:readline'
import { acquireLock, type DirectoryLock, WalError } from '../src/index.ts'

let lock: DirectoryLock | undefined

for await (const line of createInterface({ input: process.stdin })) {
  const [command, dir = ''] = line.split(' ')
  if (command === 'take') {
    try {
      lock = await acquireLock(dir)
      answer('won')
    } catch (error) {
      if (!(error instanceof WalError)) throw error
      answer(`${error.code} ${error.exitCode}`)
    }
  } else if (command === 'release') {
    await lock?.release()
    answer('released')
  }
}

function answer(text: string): void {
  process.stdout.write(`${text}\n`)
}
