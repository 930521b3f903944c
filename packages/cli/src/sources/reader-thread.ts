// The program of the thread that reads a file with a library of others. It answers one request after another; see reader-messages.ts.
import { parentPort, workerData } from 'node:worker_threads'
import type { ObjectInput } from '@annal/client'
import { ownThread } from '@annal/engine/thread-watch'
import { CommandEnd } from '../exit-code.ts'
import { type Opened, openRows } from './file-rows.ts'
import type { FromReader, ReaderFailure, ReaderSettings, ToReader } from './reader-messages.ts'

const objectsOfAnswer = 500
/** An error that the library did not wait for ends the request, if another one does not. */
const leftErrorMs = 1_000

const { file, options } = workerData as ReaderSettings
/** More are added before rows are read. */
const texts = new Set<string>(options.texts)
let opened: Opened | undefined
let rows: AsyncIterator<ObjectInput> | undefined

process.on('unhandledRejection', (error) => setTimeout(() => fail(error), leftErrorMs))
parentPort?.on('message', (message: ToReader) => {
  // A thread that waits for nothing ends, also if a promise of the library never settles.
  parentPort?.unref()
  next(message).then(answer, fail)
})
answer({ kind: 'started', thread: ownThread() })

function answer(message: FromReader): void {
  parentPort?.ref()
  parentPort?.postMessage(message)
}

function fail(error: unknown): void {
  answer({ kind: 'failed', failure: failureOf(error) })
}

async function next(message: ToReader): Promise<FromReader> {
  if (message.kind === 'open') {
    opened = await openRows(file, { ...options, texts })
    return { kind: 'opened', total: opened.total }
  }
  if (message.kind === 'rows') {
    for (const name of message.texts) texts.add(name)
    await rows?.return?.()
    rows = opened?.rows(message.first)[Symbol.asyncIterator]()
  }
  const objects: ObjectInput[] = []
  while (rows !== undefined && objects.length < objectsOfAnswer) {
    const { done, value } = await rows.next()
    if (done) return { kind: 'objects', objects, isLast: true }
    objects.push(value)
  }
  return { kind: 'objects', objects, isLast: false }
}

function failureOf(error: unknown): ReaderFailure {
  if (error instanceof CommandEnd) return { kind: 'end', exitCode: error.exitCode, message: error.message }
  if (error instanceof Error && 'syscall' in error) {
    const { message, code, syscall, path } = error as NodeJS.ErrnoException
    return { kind: 'system', message, code, syscall, path }
  }
  return { kind: 'other', message: error instanceof Error ? error.message : String(error) }
}
