// `annal upsert`: stores the objects of a file, of standard input, or of the argument itself.
import { createReadStream } from 'node:fs'
import type { ObjectInput } from '@annal/client'
import { objectsText } from '../amounts.ts'
import { checkBatch } from '../check-batch.ts'
import { type ConnectionOptions, withClient } from '../connection.ts'
import { exitCode, usageError } from '../exit-code.ts'
import { objectsOfText } from '../formats/json-values.ts'
import { sessionNow } from '../session.ts'
import type { Terminal } from '../terminal.ts'

export interface UpsertOptions extends ConnectionOptions {
  readonly batch: number
  readonly json?: boolean
}

/** An object or a list as the argument; otherwise it names a file, and `-` is standard input. */
const inlineJson = /^\s*[[{]/

export function upsertObjects(collection: string, from: string, options: UpsertOptions, terminal: Terminal) {
  return withClient(options, async (client) => {
    let stored = 0
    await checkBatch(client, options)
    try {
      await client.collection(collection).load(objectsOf(from, terminal), {
        batchSize: options.batch,
        concurrency: 1,
        onProgress: (progress) => {
          stored = progress.stored
          terminal.bar.show(`storing in ${collection}`, stored, undefined)
        },
      })
    } catch (error) {
      terminal.bar.clear()
      if (stored > 0) terminal.say(`${objectsText(stored)} are stored`)
      throw error
    }
    terminal.line(options.json ? JSON.stringify({ collection, stored }) : `${objectsText(stored)} stored`)
    return exitCode.good
  })
}

function objectsOf(from: string, terminal: Terminal): AsyncIterable<ObjectInput> {
  if (inlineJson.test(from)) return objectsOfText(once(from), 'the argument')
  if (from !== '-') return objectsOfText(createReadStream(from, 'utf8'), from)
  if (sessionNow() !== undefined) throw usageError('upsert in the shell needs an object such as {"id": ...}, or a file')
  if (process.stdin.isTTY) terminal.say('reading objects as JSON from the terminal; Ctrl-D ends')
  return objectsOfText(process.stdin.setEncoding('utf8'), 'standard input')
}

async function* once(text: string): AsyncGenerator<string> {
  yield text
}
