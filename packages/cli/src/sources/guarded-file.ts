// Reads a file with a library of others in a thread of its own. A damaged file makes a library loop, or take all memory; such a thread is
// stopped, and the command ends with an error that names the file. CPU time is the criterion, not elapsed time: a slow disk and a busy machine
// use none.
import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { getHeapStatistics } from 'node:v8'
import { Worker } from 'node:worker_threads'
import type { ObjectInput } from '@annal/client'
import { threadState } from '@annal/engine/thread-watch'
import { bytesText } from '../amounts.ts'
import { CommandEnd, dataError } from '../exit-code.ts'
import type { Opened, RowOptions } from './file-rows.ts'
import type { FromReader, ReaderFailure, ToReader } from './reader-messages.ts'

export interface GuardLimits {
  /** CPU time for one answer. */
  readonly cpuMs: number
  /** Memory for one answer. */
  readonly bytes: number
}

const mib = 1024 * 1024

/** A reader may need a whole part of a file before its first row, compressed. Far above what the slowest one needs for that. */
function usualLimits(fileBytes: number): GuardLimits {
  return { cpuMs: 10_000 + 1_000 * (fileBytes / mib), bytes: 1024 * mib + 16 * fileBytes }
}

export async function openGuarded(
  file: string,
  options: RowOptions,
  limits: Partial<GuardLimits> = {},
): Promise<Opened> {
  const { size } = await stat(file)
  const reader = new Reader(file, options, { ...usualLimits(size), ...limits })
  try {
    const { total } = await reader.request({ kind: 'open' }, 'opened')
    return {
      total,
      async *rows(firstRow): AsyncGenerator<ObjectInput> {
        let answer = await reader.request({ kind: 'rows', first: firstRow, texts: [...options.texts] }, 'objects')
        for (;;) {
          // The next objects are read while these are stored.
          const next = answer.isLast ? undefined : reader.request({ kind: 'more' }, 'objects')
          next?.catch(() => undefined)
          yield* answer.objects
          if (next === undefined) return
          answer = await next
        }
      },
      close: () => reader.end(),
    }
  } catch (error) {
    await reader.end()
    throw error
  }
}

const lookEveryMs = 100

type Kind = FromReader['kind']
type Answer<K extends Kind> = Extract<FromReader, { readonly kind: K }>

class Reader {
  readonly #file: string
  readonly #limits: GuardLimits
  readonly #worker: Worker
  #waiting: { answer(message: FromReader): void; fail(error: Error): void } | undefined
  #failure: Error | undefined
  #thread = 0
  /** Settles with the request before. */
  #before: Promise<unknown>

  constructor(file: string, options: RowOptions, limits: GuardLimits) {
    this.#file = file
    this.#limits = limits
    const heapMax = getHeapStatistics().heap_size_limit
    this.#worker = new Worker(programFile(), {
      workerData: { file, options },
      resourceLimits: { maxOldGenerationSizeMb: Math.ceil(Math.min(heapMax, limits.bytes) / mib) },
      name: 'annal-reader',
    })
    this.#worker.on('message', (message: FromReader) => this.#receive(message))
    this.#worker.on('error', (error) => this.#fail(this.#meaningOf(error as Error)))
    this.#worker.on('exit', () => this.#fail(this.#damaged('the reader ended before the file did')))
    this.#before = this.#answerOf('started').then(({ thread }) => {
      this.#thread = thread
    })
  }

  request<K extends Kind>(message: ToReader, kind: K): Promise<Answer<K>> {
    const answer = this.#before.then(() => this.#requestNow(message, kind))
    this.#before = answer
    return answer
  }

  async #requestNow<K extends Kind>(message: ToReader, kind: K): Promise<Answer<K>> {
    const answer = this.#answerOf(kind)
    this.#worker.ref()
    this.#worker.postMessage(message)
    const watch = this.#watch()
    try {
      return await answer
    } finally {
      clearInterval(watch)
      // A source that nobody reads does not keep the process.
      this.#worker.unref()
    }
  }

  async end(): Promise<void> {
    this.#worker.removeAllListeners('exit')
    await this.#worker.terminate()
  }

  #answerOf<K extends Kind>(kind: K): Promise<Answer<K>> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure)
      this.#waiting = {
        answer: (message) => (message.kind === kind ? resolve(message as Answer<K>) : reject(new Error(message.kind))),
        fail: reject,
      }
    })
  }

  #receive(message: FromReader): void {
    if (message.kind === 'failed') {
      this.#fail(this.#errorOf(message.failure))
      return
    }
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.answer(message)
  }

  #fail(error: Error): void {
    this.#failure ??= error
    this.#waiting?.fail(this.#failure)
    this.#waiting = undefined
  }

  /** Stops a thread that uses more than the limits before it answers. */
  #watch(): NodeJS.Timeout {
    const cpuBefore = this.#cpuMs()
    const bytesBefore = process.memoryUsage.rss()
    return setInterval(() => {
      const cpuMs = this.#cpuMs() - cpuBefore
      const used = process.memoryUsage.rss() - bytesBefore
      if (cpuMs <= this.#limits.cpuMs && used <= this.#limits.bytes) return
      this.#fail(
        cpuMs > this.#limits.cpuMs
          ? this.#damaged(`no object in ${Math.round(cpuMs / 1_000)} s of CPU time`)
          : this.#tooLarge(),
      )
      void this.#worker.terminate()
    }, lookEveryMs)
  }

  /** That of the process where threads have none: the others wait meanwhile. */
  #cpuMs(): number {
    const { user, system } = process.cpuUsage()
    return threadState(this.#thread)?.cpuMs ?? (user + system) / 1_000
  }

  #errorOf(failure: ReaderFailure): Error {
    if (failure.kind === 'end') return new CommandEnd(failure.exitCode, failure.message)
    if (failure.kind === 'other') return this.#damaged(failure.message)
    const { message, code, syscall, path } = failure
    return Object.assign(new Error(message), { code, syscall, ...(path !== undefined && { path }) })
  }

  #meaningOf(error: NodeJS.ErrnoException): Error {
    return error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? this.#tooLarge() : this.#damaged(error.message)
  }

  #tooLarge(): CommandEnd {
    return this.#damaged(`its next part takes more than ${bytesText(this.#limits.bytes)} of memory`)
  }

  #damaged(why: string): CommandEnd {
    return dataError(`${this.#file}: the file is damaged: ${why.split('\n', 1)[0]}`)
  }
}

/** Next to the built command, or to this source. */
function programFile(): string {
  const built = fileURLToPath(new URL('reader-thread.js', import.meta.url))
  return existsSync(built) ? built : fileURLToPath(new URL('reader-thread.ts', import.meta.url))
}
