// Serializes the keys of a filter index as sections: names and runs as JSON, the runs' directories as numbers.
import { numbersPart, type Section, type SectionBody, type SectionReader, sectionOf } from '../memory/sections.ts'
import { type KeyIndex, runNames } from './key-index.ts'
import type { RunDirectory } from './value-run.ts'

interface KeysHead {
  readonly nextKey: number
  /** Name, id, and the number of pages of each run in the order of `runNames`. */
  readonly keys: readonly (readonly [name: string, id: number, pages: readonly number[]])[]
}

export function dumpKeys(name: string, keys: ReadonlyMap<string, KeyIndex>, nextKey: number): Section[] {
  const directories = [...keys.values()].map((index) => runNames.map((run) => index.run(run)?.directory))
  const head: KeysHead = {
    nextKey,
    keys: [...keys].map(([key, { id }], i) => [key, id, (directories[i] ?? []).map((run) => run?.pages.length ?? 0)]),
  }
  const parts = directories.flat().flatMap((run) => (run === undefined ? [] : [run.pages, run.values, run.blocks]))
  return [
    sectionOf(`${name}.names`, new TextEncoder().encode(JSON.stringify(head))),
    sectionOf(`${name}.directories`, ...parts.map(numbersPart)),
  ]
}

export async function loadKeys(
  reader: SectionReader,
  name: string,
  options: { readonly make: (id: number) => KeyIndex; readonly ordinalEnd: number },
): Promise<{ readonly keys: Map<string, KeyIndex>; readonly nextKey: number }> {
  const names = await reader.open(`${name}.names`)
  const head = headOf(await names.take(names.length), names)
  await names.end()
  const body = await reader.open(`${name}.directories`)
  const keys = new Map<string, KeyIndex>()
  for (const [key, id, counts] of head.keys) {
    if (keys.has(key)) throw names.damaged(`key ${JSON.stringify(key)} occurs twice`)
    const index = options.make(id)
    for (const [position, count] of counts.entries()) {
      const run = runNames[position]
      if (run === undefined || count === 0) continue
      const fault = index.restore(run, await directoryOf(body, count)).fault(options.ordinalEnd)
      if (fault !== undefined) throw body.damaged(`key ${JSON.stringify(key)}: ${fault}`)
    }
    keys.set(key, index)
  }
  await body.end()
  return { keys, nextKey: head.nextKey }
}

async function directoryOf(body: SectionBody, count: number): Promise<RunDirectory> {
  return {
    pages: await body.takeNumbers(count),
    values: await body.takeNumbers(count),
    blocks: await body.takeNumbers(count),
  }
}

function headOf(bytes: Uint8Array, body: SectionBody): KeysHead {
  const head = parseJson(bytes, body)
  const isCount = (it: unknown): it is number => typeof it === 'number' && Number.isSafeInteger(it) && it >= 0
  const isKey = (it: unknown): it is KeysHead['keys'][number] =>
    Array.isArray(it) &&
    typeof it[0] === 'string' &&
    isCount(it[1]) &&
    Array.isArray(it[2]) &&
    it[2].length === runNames.length &&
    it[2].every(isCount)
  if (typeof head !== 'object' || head === null || !('keys' in head) || !('nextKey' in head))
    throw body.damaged('it lists no keys')
  const { keys, nextKey } = head
  if (!Array.isArray(keys) || !keys.every(isKey) || !isCount(nextKey))
    throw body.damaged('its list of keys is malformed')
  if (keys.some(([, id]) => id >= nextKey)) throw body.damaged('a key has a number that was never assigned')
  return { keys, nextKey }
}

function parseJson(bytes: Uint8Array, body: SectionBody): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    throw body.damaged('its list of keys is not JSON')
  }
}
