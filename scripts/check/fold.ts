// The same records must build the same bytes, so nothing in the rooms of the fold asks a clock or chance, or waits for a
// timer. Time comes in through the event, and randomness through the record that creates a collection.
import { type SourceFile, sourceFiles } from './source-files.ts'

const rooms = ['memory', 'filter', 'vector', 'replica', 'events']
const askers =
  /\b(Date\.now|new Date\(\)|Math\.random|performance\.now|hrtime|randomBytes|randomUUID|getRandomValues)\b/

/** Files in those rooms that ask, and why the answer does not get into the state. */
const excused: { readonly [file: string]: string } = {
  'packages/engine/src/replica/write-gate.ts': 'how long a writer waits for its turn',
}

export async function foldFaults(): Promise<string[]> {
  const files = await Promise.all(rooms.map((room) => sourceFiles(`packages/engine/src/${room}`)))
  return files.flat().flatMap(faultsOf)
}

function faultsOf({ path, text }: SourceFile): string[] {
  if (excused[path] !== undefined) return []
  return text.split('\n').flatMap((line, at) => {
    const asked = line.trimStart().startsWith('//') || line.trimStart().startsWith('*') ? null : askers.exec(line)
    return asked === null
      ? []
      : [`${path}:${at + 1}: ${asked[1]} in the fold; what it says must come in through the event`]
  })
}
