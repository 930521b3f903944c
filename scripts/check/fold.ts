// The same records must build the same bytes, so no code in the folders of the fold reads a clock, draws a random number or sets a timer.
// Times are in the events, and the random seed is in the record that creates a collection.
import { type SourceFile, sourceFiles } from './source-files.ts'

const rooms = ['memory', 'filter', 'vector', 'replica', 'events']
const nondeterministic =
  /\b(Date\.now|new Date\(\)|Math\.random|performance\.now|hrtime|randomBytes|randomUUID|getRandomValues)\b/

/** Files in those folders that read a clock, and why the state does not depend on it. */
const excused: { readonly [file: string]: string } = {
  'packages/engine/src/replica/write-gate.ts': 'measures how long a writer waits for its turn',
  'packages/engine/src/vector/threads/pace.ts':
    'measures when a worker pauses, which nothing that it builds depends on',
}

export async function foldFaults(): Promise<string[]> {
  const files = await Promise.all(rooms.map((room) => sourceFiles(`packages/engine/src/${room}`)))
  return files.flat().flatMap(faultsOf)
}

function faultsOf({ path, text }: SourceFile): string[] {
  if (excused[path] !== undefined) return []
  return text.split('\n').flatMap((line, index) => {
    const isComment = line.trimStart().startsWith('//') || line.trimStart().startsWith('*')
    const source = isComment ? null : nondeterministic.exec(line)
    return source === null ? [] : [`${path}:${index + 1}: ${source[1]} in the fold; the value must be in the event`]
  })
}
