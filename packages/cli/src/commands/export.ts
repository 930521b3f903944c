// `annal export`: a collection becomes a file of JSON lines, which `annal import` takes.
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Collection, Filter } from '@annal/client'
import { type ConnectionOptions, withClient } from '../connection.ts'
import { exitCode, usageError } from '../exit-code.ts'
import { jsonLine } from '../formats/jsonl.ts'
import { amount, type Terminal } from '../terminal.ts'

export interface ExportOptions extends ConnectionOptions {
  readonly output?: string
  readonly filter?: string
  readonly json?: boolean
}

/** The file appears whole or not at all; without one the lines go to standard output. */
export function exportCollection(name: string, options: ExportOptions, terminal: Terminal) {
  const filter = conditionsOf(options.filter)
  return withClient(options, async (client) => {
    const collection = client.collection(name)
    const { output } = options
    if (output === undefined) {
      for await (const line of linesOf(collection, filter, () => undefined)) terminal.line(line.trimEnd())
      return exitCode.good
    }
    const total = await collection.count(filter)
    let written = 0
    const lines = linesOf(collection, filter, () => {
      written += 1
      terminal.bar.show(`exporting ${name}`, written, total)
    })
    const part = `${output}.part`
    try {
      await pipeline(Readable.from(lines), createWriteStream(part, { flush: true }))
    } catch (error) {
      await rm(part, { force: true })
      throw error
    }
    await rename(part, output)
    terminal.line(
      options.json ? JSON.stringify({ file: output, objects: written }) : `${amount(written)} objects in ${output}`,
    )
    return exitCode.good
  })
}

async function* linesOf(
  collection: Collection,
  filter: Filter | undefined,
  onLine: () => void,
): AsyncGenerator<string> {
  for await (const object of collection.objects({ filter, limit: 500 })) {
    onLine()
    yield jsonLine(object)
  }
}

function conditionsOf(text: string | undefined): Filter | undefined {
  if (text === undefined) return undefined
  try {
    const filter: unknown = JSON.parse(text)
    // What the conditions say is the server's to judge.
    if (Array.isArray(filter)) return filter
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw usageError(`--filter must be a JSON list of conditions such as '[{"year":{"$eq":1979}}]'`)
}
